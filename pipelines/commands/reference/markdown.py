"""Pages in Markdown: a head that says who made them, tables."""

from collections.abc import Iterable, Iterator, Sequence

MADE = "Made by `./spark-submit.sh reference` from the code; not to be edited."


def format_page(title: str, *blocks: str) -> str:
    """Return a page; blocks are parted by an empty line."""
    return "\n\n".join([f"# {title}", MADE, *blocks]) + "\n"


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a pipe within a cell stays one."""
    return "\n".join(_format_lines(head, rows))


def _format_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _format_row(head)
    yield _format_row(["---"] * len(head)).replace(" ", "")
    for row in rows:
        yield _format_row([cell.replace("|", "\\|") for cell in row])


def _format_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def format_commands(title: str, lines: Iterable[str]) -> str:
    """Return a block of commands, which a test finds by its title."""
    return "\n".join([f"```bash title={title}", *lines, "```"])


def code(text: str) -> str:
    """Return a text as code, or nothing of an empty one."""
    return f"`{text}`" if text else ""
