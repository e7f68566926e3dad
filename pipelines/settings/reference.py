"""base.toml and the page of all settings, made from the records that declare them."""

import dataclasses
import json
import textwrap
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from .keys import REQUIRED
from .records import Settings
from .secret_references import SecretReference

_BASE_HEAD = """\
# Every key, with its meaning and default. Made by `./spark-submit.sh reference`; not to
# be edited. What differs stands in an environment's file (local.toml, cluster.toml,
# databricks.toml), in a file of your own (--config), in variables
# KAFKA_CLIENTELE_SECTION__KEY, or behind
# --set. The same keys as a page: docs/reference/settings.md.
"""
_PAGE_HEAD = """\
# Settings

Made by `./spark-submit.sh reference` from the code that checks them; not to be edited.

Later ones win: `conf/base.toml`, the file of `--env` in `conf/`, a file of your own \
(`--config FILE`), environment variables, each `--set section.key=value`.
The variable of `bridge.listen_port` is `KAFKA_CLIENTELE_BRIDGE__LISTEN_PORT`, that of \
`listeners` is `KAFKA_CLIENTELE_LISTENERS`.
Texts stand there as they are, everything else as TOML has it.
An unknown key is refused by name, wherever it stands.

Secrets are references, never values: `env:NAME`, `file:PATH` or `scope/key` of a \
Databricks secret scope.

Relative paths (`root_path`, `…_location`, `file:PATH`) start from the checkout; \
those of a file of your own from its folder, those of variables and `--set` from \
the current folder.
"""
_OWN_FILE = "sensitive_keys"
"""The section that has a file of conf/ for itself."""
_COMMENT_WIDTH = 86
_LONG_NUMBER = 100_000
"""From here on digits are grouped."""


def format_base() -> str:
    """Return conf/base.toml."""
    hints = typing.get_type_hints(Settings)
    above, below = [_BASE_HEAD], []
    for one in dataclasses.fields(Settings):
        if one.name == _OWN_FILE:
            continue
        if not _is_list_of_tables(hints[one.name]):
            below.append("\n".join(_format_table(one.name, hints[one.name])))
        elif one.metadata["default"]:
            below.append("\n".join(_format_list(one, hints[one.name])))
        else:
            above.append("\n".join([*_format_comment(one, None), f"{one.name} = []\n"]))
    return "\n".join([*above, *below])


def _format_table(name: str, record: Any) -> Iterator[str]:
    yield from _wrap(_summary_of(record))
    yield f"[{name}]"
    hints = typing.get_type_hints(record)
    for one in dataclasses.fields(record):
        yield from _format_comment(one, hints[one.name])
        yield f"{one.name} = {_to_toml(one.metadata['default'])}"
    yield ""


def _format_list(one: dataclasses.Field[Any], hint: Any) -> Iterator[str]:
    record = typing.get_args(hint)[0]
    hints = typing.get_type_hints(record)
    yield from _wrap(_summary_of(record))
    for table in one.metadata["default"]:
        yield f"[[{one.name}]]"
        for inner in dataclasses.fields(record):
            yield from _format_comment(inner, hints[inner.name])
            yield f"{inner.name} = {_to_toml(table[inner.name])}"
        yield ""


def _summary_of(record: Any) -> str:
    return " ".join((record.__doc__ or "").split())


def _format_comment(one: dataclasses.Field[Any], hint: Any) -> Iterator[str]:
    yield from _wrap(one.metadata["meaning"])
    allowed = _list_allowed(hint, one.metadata)
    facts = [one.metadata["unit"], allowed if hint is int else ""]
    if one.metadata["choices"]:
        facts.append(f"one of {allowed}")
    if any(facts):
        yield from _wrap(f"({', '.join(fact for fact in facts if fact)})")


def _wrap(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, _COMMENT_WIDTH, break_on_hyphens=False):
        yield f"# {line}"


def _to_toml(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}" if value >= _LONG_NUMBER else str(value)
    # Lists, texts without control characters, true, false and {} are written alike.
    return json.dumps(value, ensure_ascii=False)


def format_reference() -> str:
    """Return the page as Markdown."""
    hints = typing.get_type_hints(Settings)
    sections = [_PAGE_HEAD]
    for one in dataclasses.fields(Settings):
        sections += [
            "\n".join(_format_section(title, record))
            for title, record in _list_sections(one.name, hints[one.name])
        ]
    return "\n".join(sections)


def _list_sections(title: str, record: Any) -> Iterator[tuple[str, Any]]:
    """Yield a section, then those of the lists of tables in it."""
    if typing.get_origin(record) is tuple:
        yield f"[{title}]", typing.get_args(record)[0]
        return
    yield title, record
    for name, hint in typing.get_type_hints(record).items():
        if _is_list_of_tables(hint):
            yield from _list_sections(f"{title}.{name}", hint)


def _is_list_of_tables(hint: Any) -> bool:
    is_tuple = typing.get_origin(hint) is tuple
    return is_tuple and dataclasses.is_dataclass(typing.get_args(hint)[0])


def _format_section(title: str, record: Any) -> Iterator[str]:
    yield f"## [{title}]\n\n{_summary_of(record)}\n"
    yield "| key | default | unit | range | meaning |"
    yield "|---|---|---|---|---|"
    hints = typing.get_type_hints(record)
    for one in dataclasses.fields(record):
        rule = one.metadata
        if _is_list_of_tables(hints[one.name]):
            default = "tables, see below"
        else:
            default = _format_default(rule["default"])
        allowed = _list_allowed(hints[one.name], rule, mark="`")
        yield (
            f"| `{one.name}` | {default} | {rule['unit']} | {allowed} "
            f"| {rule['meaning']} |"
        )
    yield ""


def _format_default(default: object) -> str:
    if default is REQUIRED:
        return "required"
    return _format_value(tuple(default) if isinstance(default, list) else default)


def _format_value(value: object) -> str:
    if value is None or value in ("", (), {}):
        return "empty"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Mapping):
        items = ", ".join(f'{name} = "{text}"' for name, text in value.items())
        return f"`{{{items}}}`"
    if isinstance(value, tuple):
        items = ", ".join(f'"{item}"' for item in value)
        return f"`[{items}]`"
    return f"`{value}`"


def _list_allowed(hint: Any, rule: Mapping[str, Any], *, mark: str = "") -> str:
    if rule["choices"]:
        return ", ".join(f"{mark}{one}{mark}" for one in rule["choices"] if one)
    if hint is int:
        low = 0 if rule["low"] is None else rule["low"]
        return f"{low} to {rule['high']}" if rule["high"] else f"from {low}"
    return "secret reference" if hint == SecretReference | None else ""


def format_settings(settings: Settings) -> str:
    """Return every key with the value in force, one a line; no secret is read."""
    return "\n".join(_format_keys("", settings))


def _format_keys(prefix: str, record: Any) -> Iterator[str]:
    for one in dataclasses.fields(record):
        value, name = getattr(record, one.name), f"{prefix}{one.name}"
        if dataclasses.is_dataclass(value) and not isinstance(value, SecretReference):
            yield from _format_keys(f"{name}.", value)
        elif value and isinstance(value, tuple) and dataclasses.is_dataclass(value[0]):
            for index, item in enumerate(value):
                yield from _format_keys(f"{name}[{index}].", item)
        else:
            yield f"{name} = {_format_value(value).strip('`')}"
