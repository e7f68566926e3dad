"""findings check: rules asked of one file of properties, before it is deployed."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pipelines.commands.call import Call
from pipelines.commands.java.properties import parse_properties
from pipelines.commands.options import CommandFault
from pipelines.commands.progress import progress_of
from pipelines.settings.client_releases import load_client_releases
from pipelines.settings.config_catalogs import catalogs_by_software
from pipelines.settings.finding_rules import ERROR, FindingRule
from pipelines.settings.loading import load_config_catalogs
from pipelines.settings.rules import read_finding_rules
from udfs.sensitive.sensitive_keys import ANY_SOFTWARE
from udfs.sensitive.typed_values import INVALID, parse_value

from .lines import format_finding, format_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.settings.records import Settings

Say = Callable[[str], None]
PROPERTIES = "properties"
"""known_by of what is checked."""
_JAVA = "apache-kafka-java"
_NEWEST = "9999.0.0"


def check(call: Call, say: Say) -> int:
    """Print what rules say of the file; 1 where an error is among it.

    Raises: InvalidSetting where a rule is wrong, CommandFault where the file is.
    """
    words = call.arguments
    properties = _read(words.properties)
    settings = call.read_settings()
    software = words.software or _JAVA
    for doubt in find_doubts(settings, properties, software):
        print(f"kafka-clientele: warning: {doubt}", file=sys.stderr)
    rules = tuple(
        one
        for one in read_finding_rules(settings).rules
        if one.where and not one.needs_metrics
    )
    with (
        call.session("findings") as spark,
        TemporaryDirectory() as nowhere,
        progress_of(f"Evaluating {len(rules)} rules"),
    ):
        found, asked = ask(
            spark,
            _without_tables(settings, nowhere),
            rules,
            _describe(properties, words.client_type, software),
        )
    for one in found:
        one |= {"logical_client": words.properties, "principal": None}
    if words.json:
        say(format_json(found, []))
    else:
        for one in found:
            say(f"{format_finding(one)}\n")
        told = f"{len(found)} of them" if found else "none"
        say(f"{asked} rules could be asked of {words.properties}: {told} found a fault")
    return 1 if any(one["severity"] == ERROR for one in found) else 0


def _read(location: str) -> dict[str, str]:
    try:
        return parse_properties(Path(location).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a UTF-8 text file"
        raise CommandFault(f"--properties: cannot read {location}: {reason}") from None


def find_doubts(
    settings: "Settings", properties: Mapping[str, str], software: str
) -> Iterator[str]:
    """Yield a sentence about each part of the input that no rule can evaluate.

    Args:
        properties: Of the client; no value is repeated, because it may be a secret.
        software: NAME or NAME=VERSION.
    """
    name, _, version = software.partition("=")
    rules = settings.sensitive_keys
    known = dict(
        catalogs_by_software(
            rules.software, rules.shared_catalogs, load_config_catalogs()
        )
    )
    del known[ANY_SOFTWARE]
    if name not in known:
        yield (
            f"--software: unknown client software {name}, so most rules are skipped. "
            f"Known: {', '.join(sorted(known))}"
        )
    releases = [one.release for one in load_client_releases() if one.software == name]
    if version and releases and version not in releases:
        yield (
            f"--software: unknown release {version} of {name}. Rules use the defaults "
            f"of the nearest known release"
        )
    for key, value in properties.items():
        types = sorted(known.get(name, {}).get(key, ()))
        if types and all(parse_value(one, value) is INVALID for one in types):
            yield (
                f"--properties: {key}: value is not of type {' or '.join(types)}, so "
                f"rules that need it are skipped"
            )


def _without_tables(settings: "Settings", nowhere: str) -> "Settings":
    """Return settings by which every table is empty."""
    tables = replace(settings.tables, root_path=nowhere, catalog_schema="")
    return replace(settings, tables=tables)


def _describe(
    properties: Mapping[str, str], client_type: str, software: str
) -> dict[str, Any]:
    """Return a row of client_configs of a client with these properties."""
    name, _, version = software.partition("=")
    typed = (None,) * 5
    return {
        "client_instance_id": PROPERTIES,
        "client_id": properties.get("client.id"),
        "principal": "",
        "client_source_address": "",
        "client_software_name": name,
        "client_software_version": version or _NEWEST,
        "client_type": client_type,
        "logical_client": PROPERTIES,
        "push_id": "",
        "configs": {
            key: (value, None, False, "overridden", *typed)
            for key, value in properties.items()
        },
    }


def ask(
    spark: "SparkSession",
    settings: "Settings",
    rules: tuple[FindingRule, ...],
    client: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], int]:
    """Return the findings of one client, and of how many rules it could be asked.

    Args:
        settings: By them there is no table.
        client: A row of client_configs, but for when it was pushed.
    """
    from pipelines.delta_tables.session_settings import session_settings
    from pipelines.findings import client_rows
    from pipelines.findings.evaluating import FORGIVING, ask_rules
    from pipelines.reading import views

    now = datetime.now(tz=UTC)
    window = client_rows.window_of(settings.findings, now)
    with session_settings(spark, FORGIVING):
        client_rows.register_sources(spark, settings, rules)
        views.register_row(spark, "client_configs", {**client, "received_at": now})
        clients = client_rows.open_clients(spark, rules, window, pushed_by=PROPERTIES)
        evaluation = ask_rules(spark, clients, rules, client_rows.times_of(window))
        found = [one.asDict(recursive=True) for one in evaluation.findings.collect()]
        counts = evaluation.counts.where("lacks = ''").count()
    order = {name: place for place, name in enumerate(("error", "warning", "advice"))}
    return sorted(found, key=lambda one: (order[one["severity"]], one["rule"])), counts
