"""Rules of findings: conf/findings.toml and a site's own files, checked at the start.

Here stands what can be said of a rule without Spark; whether its SQL is SQL, and its
columns are there, `pipelines.findings` asks before it reads a row.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

from pipelines.errors import InvalidSetting
from udfs.sensitive.config_key_names import KEYS_SOFTWARE
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .loading import FINDINGS_NAME, load_toml
from .places import CONF_PATH

ERROR, WARNING, ADVICE = "error", "warning", "advice"
SEVERITIES = (ERROR, WARNING, ADVICE)
"""Most severe first."""
CLIENT_TYPES = ("producer", "consumer", "share_consumer", "admin", "streams")
IDENTITY_NAMES = (
    *("client_id", "principal", "group_id", "client_type"),
    *("software", "version", "instances"),
)
"""What a template may name beside the evidence of its rule."""
TIME_NAMES = ("now", "from", "window_seconds")
"""What SQL may name as `$name` beside the limits of its rule."""
ANY_RULE, EITHER = "*", "|"  # all rules; between metrics of which one is enough
SILENCE_KEYS = ("client_id", "principal", "group_id")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,79}")
_COLUMN = re.compile(r"_?[a-z][a-z0-9_]{0,59}")
_CONFIG_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""Of a key or a metric."""
_VERSION = re.compile(r"\d+(\.\d+){0,2}")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_PARAMETER = re.compile(r"\$(\w+)")

Limit = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRule:
    """One rule, as the head of conf/findings.toml describes it."""

    name: str
    severity: str
    sentence: str
    why: str
    source: str
    place: str
    """File and rule, for messages."""
    client_types: tuple[str, ...] = ()
    software: tuple[str, ...] = ()
    """Families, or names of software."""
    from_version: str = ""
    before_version: str = ""
    needs_config: tuple[str, ...] = ()
    uses_config: tuple[str, ...] = ()
    needs_metrics: tuple[str, ...] = ()
    uses_metrics: tuple[str, ...] = ()
    decides: tuple[str, ...] | None = None
    """Keys of which an inferred value lowers the severity; null: needs_config."""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    let: Mapping[str, str] = field(default_factory=dict)
    """Parts of SQL that the rule's SQL names as `$name`; they may name limits."""
    where: str = ""
    query: str = ""
    evidence: Mapping[str, str] = field(default_factory=dict)
    severity_when: Mapping[str, str] = field(default_factory=dict)
    setting: str = ""
    current: str = ""
    suggested: str = ""
    unless_found: tuple[str, ...] = ()
    """Rules that find the cause: their findings replace the finding of this rule."""

    @property
    def config_keys(self) -> tuple[str, ...]:
        """Keys that it reads."""
        return (*self.needs_config, *self.uses_config)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that it reads, without Kafka's prefix."""
        named = (*self.needs_metrics, *self.uses_metrics)
        return tuple(metric for one in named for metric in one.split(EITHER))

    @property
    def deciding_keys(self) -> tuple[str, ...]:
        """Keys of which an inferred value lowers the severity."""
        return self.needs_config if self.decides is None else self.decides

    def fill(self, sql: str, times: Mapping[str, str]) -> str:
        """Return SQL with limits, parts and times in the places of `$name`.

        Args:
            times: TIME_NAMES to SQL.
        """
        known = dict(times)
        known |= {name: _literal(value) for name, value in self.limits.items()}
        for name, part in self.let.items():
            known[name] = f"({_PARAMETER.sub(lambda found: known[found[1]], part)})"
        return _PARAMETER.sub(lambda found: known[found[1]], sql)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Whom a rule is not to tell of, why, and until when.

    A client has all that is said of it; in a text `*` stands for any text.
    """

    rule: str
    """Name of a rule, or `*`."""
    reason: str
    until: date
    """The last day."""
    client_id: str = ""
    principal: str = ""
    group_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRules:
    """All rules and silences of a site."""

    rules: tuple[FindingRule, ...]
    silences: tuple[Silence, ...] = ()


def load_finding_rules(
    location: str, sensitive: SensitiveKeyRules, software: Iterable[str]
) -> FindingRules:
    """Read conf/findings.toml, and the files of a site.

    Args:
        location: A file or a folder of files; empty for none.
        sensitive: What hides a key: a rule may read no hidden one.
        software: Names of clients that have catalogs.
    Raises: InvalidSetting, naming file and rule.
    """
    merged: dict[str, dict[str, Any]] = {}
    places: dict[str, str] = {}
    silences: list[tuple[str, Any]] = []
    for path, place in _list_files(location):
        content = load_toml(path, place)
        if unknown := sorted(content.keys() - {"rules", "silences"}):
            raise InvalidSetting(
                f"{place}: {unknown[0]}: unknown; known are [[rules]] and [[silences]]"
            )
        here: set[str] = set()
        for index, table in enumerate(_list_tables(content, "rules", place)):
            name = _read_name(table, f"{place}: rules[{index}]")
            if name in here:
                raise InvalidSetting(f"{place}: rule {name}: is there twice")
            here.add(name)
            merged[name] = _merge(merged.get(name, {}), table)
            places[name] = f"{place}: rule {name}"
        silences += [(place, one) for one in _list_tables(content, "silences", place)]
    known = tuple(software)
    return FindingRules(
        rules=tuple(
            _make_rule(table, places[name], sensitive, known, merged.keys())
            for name, table in merged.items()
        ),
        silences=tuple(
            _make_silence(table, f"{place}: silences", merged.keys())
            for place, table in silences
        ),
    )


def _list_files(location: str) -> list[tuple[Path, str]]:
    """Return paths and their names in messages, the product's own first."""
    own = CONF_PATH / f"{FINDINGS_NAME}.toml"
    files = [(own, f"conf/{own.name}")]
    if location:
        path = Path(location)
        paths = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        if not paths:
            raise InvalidSetting(
                f"findings.rules_location: {location} holds no file of rules (*.toml)"
            )
        files += [(one, str(one)) for one in paths]
    return files


def _list_tables(
    content: Mapping[str, Any], name: str, place: str
) -> list[dict[str, Any]]:
    tables = content.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise InvalidSetting(f"{place}: {name}: expects a list of [[{name}]]")
    return tables


def _read_name(table: Mapping[str, Any], place: str) -> str:
    name = table.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidSetting(
            f"{place}: name: expects a letter, then letters, digits and -, all small"
        )
    return name


def _merge(known: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """Return a rule as it was changed: limits and evidence one by one."""
    parts = {
        name: {**known[name], **table[name]}
        for name in ("limits", "let", "evidence")
        if isinstance(known.get(name), dict) and isinstance(table.get(name), dict)
    }
    # Of the two ways to ask, the newer one stands.
    others = {"where": "query", "query": "where"}
    kept = {
        name: value for name, value in known.items() if others.get(name) not in table
    }
    return {**kept, **table, **parts}


def _make_rule(
    table: dict[str, Any],
    place: str,
    sensitive: SensitiveKeyRules,
    software: Sequence[str],
    rules: Collection[str],
) -> FindingRule:
    try:
        rule = FindingRule(place=place, **_read_fields(table))
        _check_words(rule, rules)
        _check_texts(rule)
        _check_keys(rule, sensitive, software)
    except ValueError as error:
        raise InvalidSetting(f"{place}: {error}") from None
    return rule


def _read_fields(table: dict[str, Any]) -> dict[str, Any]:
    """Return what a table says, of the types of the fields. Raises: ValueError."""
    kinds = {one.name: one.type for one in fields(FindingRule) if one.name != "place"}
    if unknown := sorted(table.keys() - kinds.keys()):
        raise ValueError(f"{unknown[0]}: unknown; known are {', '.join(kinds)}")
    made: dict[str, Any] = {}
    for name, value in table.items():
        kind = str(kinds[name])
        if "tuple" in kind:
            if not isinstance(value, list) or not _are_texts(value):
                raise ValueError(f"{name}: expects a list of texts")
            made[name] = tuple(value)
        elif "Mapping" in kind:
            _check_table(name, value)
            made[name] = value
        elif isinstance(value, str):
            made[name] = value.strip()
        else:
            raise ValueError(f"{name}: expects a text")
    for name in ("severity", "sentence", "why", "source"):
        if not made.get(name):
            raise ValueError(f"{name}: is missing")
    return made


def _check_table(name: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: expects a table")  # noqa: TRY004 - told with its file
    for key, one in value.items():
        if name == "severity_when":
            is_known = key in SEVERITIES
        else:
            is_known = bool(_COLUMN.fullmatch(key))
        if not is_known:
            raise ValueError(f"{name}.{key}: is no name for this")
        is_limit = name == "limits" and not isinstance(one, bool)
        if not isinstance(one, Limit if is_limit else str):
            expected = "a number or a text" if name == "limits" else "SQL, as a text"
            raise ValueError(f"{name}.{key}: expects {expected}")  # noqa: TRY004 - the same


def _are_texts(values: Sequence[object]) -> bool:
    return all(isinstance(one, str) and one for one in values)


def _check_words(rule: FindingRule, rules: Collection[str]) -> None:
    """Refuse words that are not known. Raises: ValueError."""
    if rule.severity not in SEVERITIES:
        raise ValueError(f"severity: expects one of {', '.join(SEVERITIES)}")
    if unknown := {*rule.client_types} - {*CLIENT_TYPES}:
        raise ValueError(
            f"client_types: {min(unknown)}: expects some of {', '.join(CLIENT_TYPES)}"
        )
    for name in ("from_version", "before_version"):
        text = getattr(rule, name)
        if text and not _VERSION.fullmatch(text):
            raise ValueError(f"{name}: expects a version such as 3.1.0")
    for one in (*rule.config_keys, *rule.metrics):
        if not _CONFIG_NAME.fullmatch(one):
            raise ValueError(f"{one!r} is no name of a key or a metric")
    if bool(rule.where) == bool(rule.query):
        raise ValueError("expects either where or query")
    if unknown := {*rule.unless_found}.difference(rules):
        raise ValueError(f"unless_found: there is no rule {min(unknown)}")
    if unknown := {*rule.deciding_keys} - {*rule.config_keys}:
        raise ValueError(
            f"decides: {min(unknown)}: stands in neither needs_config nor uses_config"
        )


def _check_texts(rule: FindingRule) -> None:
    """Refuse a `$name` or `{name}` that nothing stands for. Raises: ValueError."""
    known = {*rule.limits, *TIME_NAMES}
    for name, sql in rule.let.items():
        _check_parameters(f"let.{name}", sql, known)
        known.add(name)
    statements = {
        "where": rule.where,
        "query": rule.query,
        **{f"evidence.{name}": sql for name, sql in rule.evidence.items()},
        **{f"severity_when.{name}": sql for name, sql in rule.severity_when.items()},
    }
    for name, sql in statements.items():
        _check_parameters(name, sql, known)
    if taken := {*rule.evidence} & {*IDENTITY_NAMES}:
        raise ValueError(f"evidence.{min(taken)}: is a name that every template has")
    for name in ("sentence", "setting", "suggested", "current", "why"):
        for found in _PLACEHOLDER.findall(getattr(rule, name)):
            if found not in {*rule.evidence, *IDENTITY_NAMES}:
                raise ValueError(
                    f"{name}: {{{found}}} is neither evidence nor one of "
                    f"{', '.join(IDENTITY_NAMES)}"
                )


def _check_parameters(name: str, sql: str, known: Iterable[str]) -> None:
    for found in _PARAMETER.findall(sql):
        if found not in known:
            raise ValueError(
                f"{name}: ${found} is neither a limit nor a part before it"
            )


def _check_keys(
    rule: FindingRule, sensitive: SensitiveKeyRules, software: Sequence[str]
) -> None:
    """Refuse keys whose values are hidden. Raises: ValueError."""
    for one in rule.config_keys:
        types = {name: sensitive.catalogued_types(one, name) for name in software}
        having = {name: found for name, found in types.items() if found is not None}
        for name, found in (having or {KEYS_SOFTWARE: frozenset()}).items():
            for config_type in found or ("STRING",):
                if not sensitive.may_allow(one, config_type, name):
                    verdict = sensitive.judge(one, config_type, name)
                    raise ValueError(
                        f"{one}: is hidden by the rule for secrets {verdict.rule}, "
                        f"and may be no evidence"
                    )


def _make_silence(table: dict[str, Any], place: str, rules: Iterable[str]) -> Silence:
    known = ("rule", "reason", "until", *SILENCE_KEYS)
    if unknown := sorted(table.keys() - {*known}):
        raise InvalidSetting(
            f"{place}: {unknown[0]}: unknown; known are {', '.join(known)}"
        )
    until = table.get("until")
    texts = {name: table[name] for name in known if name in table and name != "until"}
    for name, value in texts.items():
        if not isinstance(value, str) or not value:
            raise InvalidSetting(f"{place}: {name}: expects a text")
    for name in ("rule", "reason"):
        if name not in texts:
            raise InvalidSetting(f"{place}: {name}: is missing")
    if type(until) is not date:
        raise InvalidSetting(f"{place}: until: expects a date, such as 2027-01-31")
    if texts["rule"] not in {*rules, ANY_RULE}:
        raise InvalidSetting(f"{place}: rule: there is no rule {texts['rule']}")
    if not texts.keys() & {*SILENCE_KEYS}:
        raise InvalidSetting(
            f"{place}: {texts['rule']}: says of whom, by {', '.join(SILENCE_KEYS)}"
        )
    return Silence(until=until, **texts)


def split_template(text: str) -> list[tuple[str, str]]:
    """Return a template as pairs of a text and the name of what comes behind it.

    Nulls: The last name is empty.
    """
    pieces = _PLACEHOLDER.split(text)
    return list(zip(pieces[::2], [*pieces[1::2], ""], strict=True))


def _literal(value: Limit) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return repr(value)
