"""Values of conf/ as records, each checked by what its field says."""

import dataclasses
import difflib
import types
import typing
from collections.abc import Mapping
from typing import Any

from pipelines.errors import InvalidSetting

from .keys import REQUIRED
from .secret_references import SecretReference, parse_secret_reference

KIND_NAMES = {str: "a text", int: "a whole number", bool: "true or false"}


def _fields(record: type) -> dict[str, dataclasses.Field[Any]]:
    return {one.name: one for one in dataclasses.fields(record)}


def check_keys(
    record: type, layer: Mapping[str, Any], prefix: str, origin: str
) -> None:
    """Refuse a key that no record has, before anything else looks at the layer.

    Args:
        record: Class of the record.
        layer: What one origin says.
        prefix: Of the names of keys, in messages.
        origin: File, or --set.
    Raises: InvalidSetting.
    """
    fields = _fields(record)
    for name, value in layer.items():
        if name not in fields:
            raise InvalidSetting(_unknown_key(f"{prefix}{name}", fields, origin))
        kind = typing.get_type_hints(record)[name]
        if dataclasses.is_dataclass(kind):
            if not isinstance(value, dict):
                raise InvalidSetting(f"{origin}: {prefix}{name}: is a table of keys")
            check_keys(typing.cast("type", kind), value, f"{name}.", origin)
        elif isinstance(value, dict) and typing.get_origin(kind) is tuple:
            place = f"{prefix}{name}"
            raise InvalidSetting(f"{origin}: {place}: expects a list of [[{place}]]")


def _unknown_key(name: str, fields: Mapping[str, Any], origin: str) -> str:
    near = difflib.get_close_matches(name.rpartition(".")[2], fields, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    kind = "key" if "." in name else "section"
    return f"{origin}: {name}: unknown {kind}{hint}"


def to_record(
    record: type, values: Any, prefix: str, origins: Mapping[str, str]
) -> Any:
    """Return a record of some values.

    Args:
        record: Its class; the metadata of its fields says what they take.
        values: Texts, numbers, lists and tables, as TOML has them.
        prefix: Of the names of keys, in messages.
        origins: Name of a key to the file, or --set, that it was read from.
    Raises: InvalidSetting, naming the origin and the key.
    """
    hints = typing.get_type_hints(record)
    made = {}
    for name, one in _fields(record).items():
        path = f"{prefix}{name}"
        origin = origins.get(path) or origins.get(path.partition(".")[0], "conf/")
        usual = {} if dataclasses.is_dataclass(hints[name]) else REQUIRED
        value = values.get(name, one.metadata.get("default", usual))
        if value is REQUIRED:
            raise InvalidSetting(f"{origin}: {path}: the key is missing")
        made[name] = _to_value(hints[name], value, path, origins, one, origin)
    return record(**made)


def _to_value(
    kind: Any,
    value: Any,
    path: str,
    origins: Mapping[str, str],
    one: dataclasses.Field[Any],
    origin: str,
) -> Any:
    if dataclasses.is_dataclass(kind) and kind is not SecretReference:
        return to_record(typing.cast("type", kind), value, f"{path}.", origins)
    if typing.get_origin(kind) is tuple:
        return _to_tuple(typing.get_args(kind)[0], value, path, origins, one, origin)
    if typing.get_origin(kind) is Mapping:
        return _to_texts(value, path, origin)
    try:
        return _check_value(kind, value, one.metadata)
    except ValueError as error:
        raise InvalidSetting(f"{origin}: {path}: {error}") from None


def _to_tuple(
    kind: Any,
    values: Any,
    path: str,
    origins: Mapping[str, str],
    one: dataclasses.Field[Any],
    origin: str,
) -> tuple[Any, ...]:
    if not isinstance(values, list):
        raise InvalidSetting(f"{origin}: {path}: expects a list")
    made = []
    for index, value in enumerate(values):
        place = f"{path}[{index}]"
        if dataclasses.is_dataclass(kind):
            if not isinstance(value, dict):
                raise InvalidSetting(f"{origin}: {place}: expects a table of keys")
            record = typing.cast("type", kind)
            check_keys(record, value, f"{place}.", origin)
            inner = {f"{place}.{name}": origin for name in value} | {place: origin}
            made.append(to_record(record, value, f"{place}.", {**origins, **inner}))
        else:
            made.append(_to_value(kind, value, place, origins, one, origin))
    return tuple(made)


def _to_texts(values: Any, path: str, origin: str) -> Mapping[str, str]:
    if not isinstance(values, dict):
        raise InvalidSetting(f"{origin}: {path}: expects a table of texts")
    for name, value in values.items():
        if not isinstance(value, str):
            raise InvalidSetting(f"{origin}: {path}.{name}: expects a text")
    return values


def _check_value(
    kind: Any,
    value: Any,
    rule: Mapping[str, Any],
) -> Any:
    if isinstance(kind, types.UnionType):
        if not isinstance(value, str):
            raise ValueError("expects a text")  # noqa: TRY004 - the user's value
        return parse_secret_reference(value) if value else None
    # bool is a kind of int to Python, and not to the user of a file.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"expects {KIND_NAMES[kind]}")
    if rule["choices"] and value not in rule["choices"]:
        known = ", ".join(choice or '""' for choice in rule["choices"])
        raise ValueError(f"must be one of {known}")
    if kind is int:
        low = 0 if rule["low"] is None else rule["low"]
        high = rule["high"]
        if value < low or (high is not None and value > high):
            upper = "" if high is None else f" and at most {high}"
            raise ValueError(f"must be at least {low}{upper}")
    return value
