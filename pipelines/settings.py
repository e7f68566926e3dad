"""conf/ and --set to frozen records; the only reader of conf/.

Order: base.toml, then the environment's file, then --set in the order given. A list
of tables replaces the one before it; everything else is replaced key by key.
sensitive_keys.toml is the section sensitive_keys, before all of them.
"""

# Longer than 250 lines: conf/ has one reader.

import dataclasses
import difflib
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .config_catalogs import Catalogs, keys_by_client_type, parse_catalogs
from .errors import InvalidSetting
from .secret_references import SecretReference, parse_secret_reference
from .setting_keys import REQUIRED
from .setting_records import Settings

CONF_PATH = Path(__file__).resolve().parent.parent / "conf"
BASE_NAME = "base"
RULES_NAME = "sensitive_keys"
CATALOG_FOLDER = "config_catalog"
_SET = "--set"


def list_environments(conf_path: Path = CONF_PATH) -> list[str]:
    """Return the names that --env takes: the files of conf/ beside base.toml."""
    names = {path.stem for path in conf_path.glob("*.toml")}
    return sorted(names - {BASE_NAME, RULES_NAME})


def load_settings(
    env: str, overrides: Sequence[str] = (), conf_path: Path = CONF_PATH
) -> Settings:
    """Read the settings of one environment.

    Args:
        env: Name of an environment's file in conf/, without its ending.
        overrides: `section.key=value` texts as given to --set.
        conf_path: Folder of the files.
    Raises: InvalidSetting, naming the file (or --set) and the key.
    """
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for path in _list_files(env, conf_path):
        layer = _load_toml(path)
        if path.stem == RULES_NAME:
            layer = {RULES_NAME: layer}
        _check_keys(Settings, layer, "", f"conf/{path.name}")
        _merge(merged, origins, layer, f"conf/{path.name}")
    for override in overrides:
        _merge(merged, origins, _parse_override(override), _SET)
    settings: Settings = _to_record(Settings, merged, "", origins)
    return settings


def load_config_catalogs(conf_path: Path = CONF_PATH) -> Catalogs:
    """Read the client configuration keys that are known, by name of their catalog.

    Raises: InvalidSetting, naming the file.
    """
    return parse_catalogs(_read_catalog_files(conf_path))


def load_client_type_keys(conf_path: Path = CONF_PATH) -> dict[str, frozenset[str]]:
    """Read the keys that each type of client knows.

    Raises: InvalidSetting, naming the file.
    """
    return keys_by_client_type(_read_catalog_files(conf_path))


def _read_catalog_files(conf_path: Path) -> dict[str, str]:
    paths = sorted((conf_path / CATALOG_FOLDER).glob("*.csv"))
    return {path.stem: path.read_text("utf-8") for path in paths}


def _list_files(env: str, conf_path: Path) -> list[Path]:
    known = list_environments(conf_path)
    if env not in {*known, BASE_NAME}:
        raise InvalidSetting(
            f"--env {env}: there is no conf/{env}.toml; known are {', '.join(known)}"
        )
    names = dict.fromkeys([RULES_NAME, BASE_NAME, env])
    return [conf_path / f"{name}.toml" for name in names]


def _load_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(f"conf/{path.name}: is not TOML: {error}") from None
    except OSError as error:
        raise InvalidSetting(
            f"conf/{path.name}: cannot be read ({error.strerror})"
        ) from None


def _fields(record: type) -> dict[str, dataclasses.Field[Any]]:
    return {one.name: one for one in dataclasses.fields(record)}


def _check_keys(
    record: type, layer: Mapping[str, Any], prefix: str, origin: str
) -> None:
    """Refuse a key that no record has, before anything else looks at the layer."""
    fields = _fields(record)
    for name, value in layer.items():
        if name not in fields:
            raise InvalidSetting(_unknown_key(f"{prefix}{name}", fields, origin))
        kind = typing.get_type_hints(record)[name]
        if dataclasses.is_dataclass(kind):
            if not isinstance(value, dict):
                raise InvalidSetting(f"{origin}: {prefix}{name}: is a table of keys")
            _check_keys(typing.cast("type", kind), value, f"{name}.", origin)
        elif isinstance(value, dict) and typing.get_origin(kind) is tuple:
            place = f"{prefix}{name}"
            raise InvalidSetting(f"{origin}: {place}: expects a list of [[{place}]]")


def _unknown_key(name: str, fields: Mapping[str, Any], origin: str) -> str:
    near = difflib.get_close_matches(name.rpartition(".")[2], fields, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{origin}: {name}: unknown key{hint}"


def _merge(
    merged: dict[str, Any],
    origins: dict[str, str],
    layer: Mapping[str, Any],
    origin: str,
) -> None:
    for section, value in layer.items():
        if not isinstance(value, dict):
            merged[section] = value
            origins[section] = origin
            continue
        merged.setdefault(section, {}).update(value)
        origins.update({f"{section}.{name}": origin for name in value})


def _parse_override(override: str) -> dict[str, Any]:
    """Read one `section.key=value`; text keys take the value as it stands."""
    name, separator, text = override.partition("=")
    section, _, leaf = name.strip().partition(".")
    if not separator or not section:
        raise InvalidSetting(f"{_SET} {name}: expects section.key=value")
    _check_keys(Settings, {section: {leaf: None} if leaf else []}, "", _SET)
    kind = typing.get_type_hints(Settings)[section]
    if leaf:
        kind = typing.get_type_hints(kind)[leaf]
    is_text = kind is str or kind == SecretReference | None
    value = text if is_text else _parse_value(text, name)
    return {section: {leaf: value}} if leaf else {section: value}


def _parse_value(text: str, name: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        raise InvalidSetting(f"{_SET} {name}: the value is not TOML") from None


def _to_record(
    record: type, values: Any, prefix: str, origins: Mapping[str, str]
) -> Any:
    hints = typing.get_type_hints(record)
    made = {}
    for name, one in _fields(record).items():
        path = f"{prefix}{name}"
        origin = origins.get(path) or origins.get(path.partition(".")[0], "conf/")
        value = values.get(name, one.metadata.get("default", REQUIRED))
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
        return _to_record(typing.cast("type", kind), value, f"{path}.", origins)
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
            _check_keys(record, value, f"{place}.", origin)
            inner = {f"{place}.{name}": origin for name in value} | {place: origin}
            made.append(_to_record(record, value, f"{place}.", {**origins, **inner}))
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
        raise ValueError(f"expects {_KIND_NAMES[kind]}")
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


_KIND_NAMES = {str: "a text", int: "a whole number", bool: "true or false"}
