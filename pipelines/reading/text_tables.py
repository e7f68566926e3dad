"""Tables as text, for people at a terminal."""

from collections.abc import Sequence

_NULL = "-"
MAX_WIDTH = 60
"""Longest cell at a terminal."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Number(str):
    """A number as its digits, which stand to the right."""

    __slots__ = ()


def format_table(
    names: Sequence[str], rows: Sequence[Sequence[object]], *, max_width: int = 0
) -> str:
    """Lay rows out in columns; numbers to the right, text to the left.

    Args:
        names: Column names, printed as the first line.
        rows: Values; None is printed as "-".
        max_width: Longest cell before it is cut with "…"; 0: none is cut.
    """
    cells = [[_format_cell(value, max_width) for value in row] for row in rows]
    widths = [
        max([len(name), *(len(row[index]) for row in cells)])
        for index, name in enumerate(names)
    ]
    is_number = [
        bool(rows)
        and all(isinstance(row[index], int | float | Number | None) for row in rows)
        for index in range(len(names))
    ]
    lines = [_join(list(names), widths, is_number)]
    lines.append("  ".join("-" * width for width in widths))
    lines += [_join(row, widths, is_number) for row in cells]
    return "\n".join(lines)


def _format_cell(value: object, limit: int) -> str:
    if value is None:
        return _NULL
    text = make_printable(str(value))
    return text if not limit or len(text) <= limit else f"{text[: limit - 1]}…"


def make_printable(text: str) -> str:
    """Return a text in one line, without what moves the cursor or hides another.

    Clients choose the texts that are printed.
    """
    return "".join(
        character if character.isprintable() else _REPLACEMENT
        for character in text.replace("\n", " ")
    )


def _join(cells: list[str], widths: list[int], is_number: list[bool]) -> str:
    aligned = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, is_number, strict=True)
    ]
    return "  ".join(aligned).rstrip()
