"""Settings files, variables and --set to frozen records.

Order: base.toml, the environment's file, the file of --config, variables of the
environment, then --set in the order given. A list of tables replaces the one before
it; everything else is replaced key by key. sensitive_keys.toml is the section
sensitive_keys, before all of them.
"""

import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pipelines.errors import InvalidSetting
from udfs.cluster.broker_catalog import BrokerCatalog

from .config_catalogs import (
    Catalogs,
    keys_by_client_type,
    parse_broker_configs,
    parse_catalogs,
)
from .keys import SET_ORIGIN
from .paths import resolve_paths
from .places import CONF_PATH, ROOT_PATH
from .records import Settings
from .secret_references import SecretReference
from .values import KIND_NAMES, check_keys, to_record

BASE_NAME, LOCAL_NAME = "base", "local"
RULES_NAME = "sensitive_keys"
DYNAMIC_KEYS_NAME = "dynamic_client_configs"
RETENTION_NAME = "retention"
FINDINGS_NAME = "findings"
CATALOG_FOLDER = "config_catalog"
BROKER_FOLDER = "broker_configs"
CONFIG_OPTION = "--config"
VARIABLE_PREFIX = "KAFKA_CLIENTELE_"
KEY_MARK = "__"
"""Between section and key in the name of a variable."""
_TOML_EXAMPLES = {True: '["one", "two"]', False: '{ name = "text" }'}


def list_environments(conf_path: Path = CONF_PATH) -> list[str]:
    """Return the names that --env takes: the files of conf/ beside base.toml."""
    names = {path.stem for path in conf_path.glob("*.toml")}
    others = {BASE_NAME, RULES_NAME, DYNAMIC_KEYS_NAME, RETENTION_NAME, FINDINGS_NAME}
    return sorted(names - others)


def choose_env(own_file: str | None) -> str:
    """Return the environment that settings start from if none is named.

    A settings file is of a deployment, whose clients must not push as often as the
    environment of one machine subscribes to.
    """
    return BASE_NAME if own_file else LOCAL_NAME


def load_settings(
    env: str,
    overrides: Sequence[str] = (),
    conf_path: Path = CONF_PATH,
    *,
    own_file: str | None = None,
    environ: Mapping[str, str] = MappingProxyType({}),
) -> Settings:
    """Read the settings of one environment; their paths are absolute.

    Args:
        env: Name of an environment's file in conf/, without its ending; empty: the
            default, as choose_env returns it.
        overrides: `section.key=value` texts as given to --set.
        conf_path: Folder of the files.
        own_file: Path of a file beside conf/, as given to --config.
        environ: Variables, of which those named KAFKA_CLIENTELE_SECTION__KEY count.
    Raises: InvalidSetting, naming the file (or --set, or the variable) and the key.
    """
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for path in _list_files(env or choose_env(own_file), conf_path):
        layer = load_toml(path, f"conf/{path.name}")
        if path.stem == RULES_NAME:
            layer = {RULES_NAME: layer}
        _merge_file(merged, origins, layer, f"conf/{path.name}")
    starts = {}
    if own_file is not None:
        _merge_file(merged, origins, load_toml(Path(own_file), own_file), own_file)
        starts[own_file] = Path(own_file).absolute().parent
    for name, text in _list_variables(environ):
        _merge(merged, origins, _parse_variable(name, text), name)
        starts[name] = Path.cwd()
    for override in overrides:
        _merge(merged, origins, _parse_override(override), SET_ORIGIN)
        starts[SET_ORIGIN] = Path.cwd()
    settings = to_record(Settings, merged, "", origins)
    root = ROOT_PATH if conf_path == CONF_PATH else conf_path.resolve().parent
    resolved: Settings = resolve_paths(settings, "", origins, starts, root=root)
    return resolved


def _merge_file(
    merged: dict[str, Any],
    origins: dict[str, str],
    layer: Mapping[str, Any],
    origin: str,
) -> None:
    check_keys(Settings, layer, "", origin)
    _merge(merged, origins, layer, origin)


def list_overrides(environ: Mapping[str, str]) -> list[str]:
    """Return what variables say as texts for --set, for who has no environment."""
    return [
        f"{_name_key(name).replace(KEY_MARK, '.', 1)}={text}"
        for name, text in _list_variables(environ)
    ]


def _name_key(variable: str) -> str:
    return variable.removeprefix(VARIABLE_PREFIX).lower()


def _list_variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that name keys; others of our prefix mean something else."""
    hints = typing.get_type_hints(Settings)
    lists = {name for name, kind in hints.items() if typing.get_origin(kind) is tuple}
    for name in sorted(environ):
        is_ours = KEY_MARK in name or _name_key(name) in lists
        if name.startswith(VARIABLE_PREFIX) and is_ours:
            yield name, environ[name]


def _parse_variable(name: str, text: str) -> dict[str, Any]:
    section, _, leaf = _name_key(name).partition(KEY_MARK)
    return _parse_key(section, leaf, text, name, place=name)


def load_config_catalogs(conf_path: Path = CONF_PATH) -> Catalogs:
    """Read the configuration keys that are known, by name of their catalog.

    Raises: InvalidSetting, naming the file.
    """
    clients = parse_catalogs(_read_catalog_files(conf_path))
    brokers = _read_catalog_files(conf_path, BROKER_FOLDER)
    return {**clients, **parse_catalogs(brokers, f"conf/{BROKER_FOLDER}")}


def load_broker_configs(conf_path: Path = CONF_PATH) -> BrokerCatalog:
    """Read what is known of a broker's configs.

    Raises: InvalidSetting, naming the file.
    """
    return parse_broker_configs(_read_catalog_files(conf_path, BROKER_FOLDER))


def load_broker_config_types(conf_path: Path = CONF_PATH) -> dict[str, str]:
    """Return the type of each config of a broker, by name; of several the first."""
    catalog = load_broker_configs(conf_path)
    return {name: min(one.type_names) for name, one in catalog.items()}


def load_client_type_keys(conf_path: Path = CONF_PATH) -> dict[str, frozenset[str]]:
    """Read the keys that each type of client knows.

    Raises: InvalidSetting, naming the file.
    """
    return keys_by_client_type(_read_catalog_files(conf_path))


def _read_catalog_files(
    conf_path: Path, folder: str = CATALOG_FOLDER
) -> dict[str, str]:
    paths = sorted((conf_path / folder).glob("*.csv"))
    return {path.stem: path.read_text("utf-8") for path in paths}


def _list_files(env: str, conf_path: Path) -> list[Path]:
    known = list_environments(conf_path)
    if env not in {*known, BASE_NAME}:
        raise InvalidSetting(
            f"--env {env}: there is no conf/{env}.toml; known are {', '.join(known)}"
        )
    names = dict.fromkeys([RULES_NAME, BASE_NAME, env])
    return [conf_path / f"{name}.toml" for name in names]


def load_toml(path: Path, name: str) -> dict[str, Any]:
    """Read a file of TOML.

    Args:
        name: Of the file, for messages.
    Raises: InvalidSetting.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{name}: is not TOML: {error}") from None
    except OSError as error:
        raise InvalidSetting(f"{name}: cannot be read ({error.strerror})") from None


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
    return _parse_key(section, leaf, text, SET_ORIGIN, place=f"{SET_ORIGIN} {name}")


def _parse_key(
    section: str, leaf: str, text: str, origin: str, *, place: str
) -> dict[str, Any]:
    check_keys(Settings, {section: {leaf: None} if leaf else []}, "", origin)
    kind = typing.get_type_hints(Settings)[section]
    if leaf:
        kind = typing.get_type_hints(kind)[leaf]
    is_text = kind is str or kind == SecretReference | None
    value = text if is_text else _parse_value(text, place, kind)
    return {section: {leaf: value}} if leaf else {section: value}


def _parse_value(text: str, place: str, kind: Any) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        expected = KIND_NAMES.get(kind)
        if expected is None:
            is_list = typing.get_origin(kind) is tuple
            expected = "a list" if is_list else "a table of texts"
            expected += f" as TOML has it: {_TOML_EXAMPLES[is_list]}"
        raise InvalidSetting(f"{place}: expects {expected}") from None
