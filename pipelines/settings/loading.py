"""conf/ and --set to frozen records; the only reader of conf/.

Order: base.toml, then the environment's file, then --set in the order given. A list
of tables replaces the one before it; everything else is replaced key by key.
sensitive_keys.toml is the section sensitive_keys, before all of them.
"""

import tomllib
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.errors import InvalidSetting

from .config_catalogs import Catalogs, keys_by_client_type, parse_catalogs
from .keys import SET_ORIGIN
from .paths import resolve_paths
from .records import Settings
from .secret_references import SecretReference
from .values import KIND_NAMES, check_keys, to_record

CONF_PATH = Path(__file__).resolve().parents[2] / "conf"
BASE_NAME = "base"
RULES_NAME = "sensitive_keys"
CATALOG_FOLDER = "config_catalog"
_TOML_EXAMPLES = {True: '["one", "two"]', False: '{ name = "text" }'}


def list_environments(conf_path: Path = CONF_PATH) -> list[str]:
    """Return the names that --env takes: the files of conf/ beside base.toml."""
    names = {path.stem for path in conf_path.glob("*.toml")}
    return sorted(names - {BASE_NAME, RULES_NAME})


def load_settings(
    env: str, overrides: Sequence[str] = (), conf_path: Path = CONF_PATH
) -> Settings:
    """Read the settings of one environment; their paths are absolute.

    Args:
        env: Name of an environment's file in conf/, without its ending.
        overrides: `section.key=value` texts as given to --set.
        conf_path: Folder of the files.
    Raises: InvalidSetting, naming the file (or --set) and the key.
    """
    settings, origins = _read_settings(env, overrides, conf_path)
    resolved: Settings = resolve_paths(
        settings, "", origins, root=conf_path.resolve().parent
    )
    return resolved


def load_defaults(conf_path: Path = CONF_PATH) -> Settings:
    """Read base.toml alone, with its paths as they stand there.

    Raises: InvalidSetting.
    """
    settings, _ = _read_settings(BASE_NAME, (), conf_path)
    return settings


def _read_settings(
    env: str, overrides: Sequence[str], conf_path: Path
) -> tuple[Settings, Mapping[str, str]]:
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for path in _list_files(env, conf_path):
        layer = _load_toml(path)
        if path.stem == RULES_NAME:
            layer = {RULES_NAME: layer}
        check_keys(Settings, layer, "", f"conf/{path.name}")
        _merge(merged, origins, layer, f"conf/{path.name}")
    for override in overrides:
        _merge(merged, origins, _parse_override(override), SET_ORIGIN)
    return to_record(Settings, merged, "", origins), origins


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
        raise InvalidSetting(f"{SET_ORIGIN} {name}: expects section.key=value")
    check_keys(Settings, {section: {leaf: None} if leaf else []}, "", SET_ORIGIN)
    kind = typing.get_type_hints(Settings)[section]
    if leaf:
        kind = typing.get_type_hints(kind)[leaf]
    is_text = kind is str or kind == SecretReference | None
    value = text if is_text else _parse_value(text, name, kind)
    return {section: {leaf: value}} if leaf else {section: value}


def _parse_value(text: str, name: str, kind: Any) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        expected = KIND_NAMES.get(kind)
        if expected is None:
            is_list = typing.get_origin(kind) is tuple
            expected = "a list" if is_list else "a table of texts"
            expected += f" as TOML has it: {_TOML_EXAMPLES[is_list]}"
        raise InvalidSetting(f"{SET_ORIGIN} {name}: expects {expected}") from None
