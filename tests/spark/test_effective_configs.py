"""Dynamic client configs beside what clients run with: each state, and its source."""

import re
from datetime import UTC, datetime

import pytest

from pipelines.commands import parse_words
from pipelines.commands.configs.answers import ConfigCommand
from pipelines.commands.configs.questions import read_question
from pipelines.commands.notebook import page
from pipelines.commands.notebook.cells import load_cells
from pipelines.reading import views
from pipelines.reading.views.effective_configs_view import EFFECTIVE
from pipelines.reading.views.view_names import find_names_in
from pipelines.settings import CONF_PATH, load_settings
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS, CLIENT_CONFIGS
from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
    DYNAMIC_CONFIG_CONTRACTS,
)
from pipelines.tables.telemetry import CLIENT_INSTANCES
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.spark.config_rows import JAVA, held, instance, recent
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows

LIBRARY = {
    "client_software_name": "confluent-kafka-python",
    "client_software_version": "2.16.1-librdkafka-2.15.0",
}
SHOWN = (
    *("config_value", "source", "dynamic_value", "dynamic_source"),
    *("state", "wire_value", "is_obeyed"),
)


def pushed(name, value, at, **fields):
    """Return a library's producer of alice that pushed its acks."""
    known = LIBRARY | {"principal": "User:alice", "client_id": name}
    known |= {"client_source_address": name, "received_at": recent(at)}
    return instance(name, {"acks": held(value, "INT")}, **known | fields)


def altered(value, at, until=None, *, client_id="", is_default=False, **fields):
    known = {"user_name": "alice", "client_id": client_id, "config_key": "acks"}
    known |= {"is_default_client_id": is_default, "config_value": value}
    known |= {"valid_from": recent(at), "is_current": until is None}
    return known | {"valid_to": None if until is None else recent(until)} | fields


def registered(client_id, *keys, **fields):
    known = {"user_name": "alice", "client_id": client_id, "config_keys": [*keys]}
    return LIBRARY | known | {"registered_at": recent(0)} | fields


def on_wire(client_id, value, at, key="acks", client_type="producer"):
    return {
        "wire_client": f"{client_id} {client_type}",
        "principal": "User:alice",
        "client_id": client_id,
        "client_source_address": client_id,
        "client_type": client_type,
        "config_key": key,
        "config_value": value,
        "is_exact": True,
        "received_at": recent(at),
    }


def stock(name, client_type="producer", **fields):
    """Return a client of alice that is known by its telemetry alone."""
    known = {"client_instance_id": name, "client_id": name, "client_type": client_type}
    known |= {"principal": "User:alice", "client_source_address": name}
    known |= {"first_seen": recent(12), "push_interval_ms": 3_600_000}
    return JAVA | known | fields


@pytest.fixture(scope="module")
def settings(spark, tmp_path_factory):
    """Tables of clients in each state."""
    folder = tmp_path_factory.mktemp("t")
    settings = load_settings("base", [f"tables.root_path={folder}"])
    contracts = [*CLIENT_CONFIG_CONTRACTS, *DYNAMIC_CONFIG_CONTRACTS]
    contracts += [CLIENT_WIRE_CONFIGS, CLIENT_INSTANCES]
    make_tables(spark, settings.tables, contracts)
    append_rows(
        settings.tables,
        CLIENT_CONFIGS,
        pushed("applied", "-1", 3),
        pushed("pending", "1", 1),
        pushed("ignored", "1", 3),
        pushed("older", "all", 3),
        pushed("special", "0", 3),
        pushed("released", "1", 3),
        # It pushed what it has; what it sends since is newer.
        pushed("sending", "1", 3),
        pushed("mallory", "1", 3, principal="User:mallory"),
        instance("defaulted", {"linger.ms": held("9", "LONG")}, **LIBRARY)
        | {"principal": "User:alice", "client_id": None, "received_at": recent(3)},
        instance("alias", {"request.required.acks": held("-1", "INT")}, **LIBRARY)
        | {"principal": "User:alice", "client_id": None, "received_at": recent(1)},
    )
    append_rows(
        settings.tables,
        CLIENT_INSTANCES,
        *(stock(name) for name in ("obedient", "disobedient", "silent", "applied")),
        stock("consumer", "consumer"),
    )
    append_rows(
        settings.tables,
        DYNAMIC_CLIENT_CONFIGS,
        altered("0", 0, 2),
        altered("all", 2),
        altered("1", 2, client_id="special", is_default=False),
        altered("0", 1, 4, client_id="released"),
        altered("11000", 2, config_key="session.timeout.ms"),
        altered("0", 0, 1, is_default=True),
    )
    append_rows(
        settings.tables,
        CLIENT_SUPPORTED_CONFIGS,
        *(
            registered(name, "acks", "session.timeout.ms")
            for name in ("applied", "pending", "ignored", "special", "released")
        ),
        registered("sending", "acks"),
        registered("", "acks"),
        registered("older", "session.timeout.ms"),
        registered("mallory", "acks"),
    )
    append_rows(
        settings.tables,
        CLIENT_WIRE_CONFIGS,
        on_wire("obedient", "-1", 1),
        on_wire("disobedient", "1", 3),
        # Nobody knows an instance of it.
        on_wire("nameless", "0", 3),
        on_wire("sending", "-1", 4),
        on_wire("ignored", "-1", 1),
        on_wire("consumer", "45000", 3, "session.timeout.ms", "consumer"),
    )
    return settings


@pytest.fixture(scope="module")
def rows(spark, settings):
    """(client instance, key) to row, of the view over all clients."""
    views.register(spark, settings, find_names_in(EFFECTIVE))
    found = spark.table(EFFECTIVE).collect()
    made = {
        (row["client_instance_id"] or row["client_id"], row["config_key"]): row
        for row in found
    }
    assert len(made) == len(found)
    return made


ALL, DEFAULT, USER = "dynamic_client", "dynamic_default_client", "dynamic_user"


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("applied", ("all", USER, "all", USER, "applied", None, True)),
        ("pending", ("1", "pushed", "all", USER, "pending", None, False)),
        # What it sent before the push is older than it.
        ("ignored", ("1", "pushed", "all", USER, "ignored", "-1", False)),
        ("special", ("0", "pushed", "1", ALL, "ignored", None, False)),
        ("sending", ("all", USER, "all", USER, "applied", "-1", True)),
        # Registered, but not for this key.
        ("older", ("all", "pushed", "all", USER, "unsupported", None, True)),
        # A value stood over the user's until after the push.
        ("released", ("1", "pushed", "all", USER, "pending", None, False)),
        # Stock clients obey, or not, by their own configuration.
        ("obedient", ("-1", "wire", "all", USER, "unsupported", "-1", True)),
        ("disobedient", ("1", "wire", "all", USER, "unsupported", "1", False)),
        ("nameless", ("0", "wire", "all", USER, "unsupported", "0", False)),
        ("silent", (None, None, "all", USER, "unsupported", None, None)),
        ("mallory", ("1", "pushed", None, None, None, None, None)),
    ],
)
def test_each_state_and_its_source(rows, client, expected):
    row = rows[client, "acks"]
    assert tuple(row[name] for name in SHOWN) == expected


def test_a_key_by_another_name_is_the_same_config(rows):
    row = rows["alias", "request.required.acks"]
    assert (row["state"], row["config_value"]) == ("applied", "all")
    assert ("alias", "acks") not in rows


def test_a_push_without_the_key_says_that_the_client_has_its_default(rows):
    (row,) = (
        row for (name, _), row in rows.items() if name == "defaulted" and row["state"]
    )
    assert (row["state"], row["source"], row["is_obeyed"]) == ("applied", USER, True)


def test_entries_without_a_dynamic_value_stay_as_they_are(rows):
    other = rows["applied", "message.max.bytes"]
    assert (other["source"], other["config_value"]) == ("catalog", "1000000")
    assert (other["state"], other["dynamic_value"]) == (None, None)


def test_a_key_of_other_types_of_clients_is_not_set_for_a_client(rows):
    timeout = rows["consumer", "session.timeout.ms"]
    assert (timeout["state"], timeout["wire_value"]) == ("unsupported", "45000")
    assert timeout["is_obeyed"] is False
    assert ("consumer", "acks") not in rows
    assert ("applied", "session.timeout.ms") not in rows


@pytest.mark.long
def test_configs_describe_shows_each_state_and_whose_a_value_is(spark, settings):
    printed = []
    command = ConfigCommand(spark, settings, datetime.now(tz=UTC), printed.append)
    words = "configs describe --principal User:alice --key acks --client-type producer"
    arguments = parse_words(words.split())
    command.answer(arguments.action, read_question(arguments))
    name = re.compile(r"client-instance-id (\S+)")
    told = {}
    for text in re.split(r"(?m)^(?=Configs )", "\n".join(printed))[1:]:
        head, *lines = text.splitlines()
        told[name.search(head)[1]] = " ".join(" ".join(lines).split())
    assert told["applied"] == (
        "acks=all sensitive=false type=INT status=overridden source=dynamic_user "
        "dynamic=all of=dynamic_user state=applied obeyed=true"
    )
    of_user = "dynamic=all of=dynamic_user"
    assert told["pending"].endswith(
        f"source=pushed {of_user} state=pending obeyed=false"
    )
    assert told["ignored"].endswith(
        f"source=pushed {of_user} state=ignored obeyed=false"
    )
    assert "of=dynamic_client state=ignored" in told["special"]
    stock = f"{of_user} state=unsupported obeyed"
    assert told["obedient"].endswith(f"source=wire {stock}=true")
    assert told["disobedient"].endswith(f"source=wire {stock}=false")
    assert told["silent"] == (
        "acks=null sensitive=false type=UNKNOWN status=unknown source=unknown "
        f"{stock}=unknown"
    )
    heads = [line for line in printed if "instance-id silent" in line]
    assert "apache-kafka-java 4.3.1, not pushed" in heads[0]


@pytest.mark.long
def test_the_notebook_shows_each_state(spark, settings):
    path = CONF_PATH.parent / "notebooks/client_configuration.py"
    cells = load_cells(path)
    first = next(n for n, cell in enumerate(cells) if "views.register" in cell.text)
    given = {"env": "local", "config": ""}
    given["set"] = f"tables.root_path={settings.tables.root_path}"
    chosen = [*cells[: first + 1], cells[-1]]
    shown = page.run_cells(spark, settings, path, chosen, page.parse_widgets(given, []))
    text = shown.format()
    for state in ("applied", "pending", "ignored", "unsupported"):
        assert f"<td>{state}</td>" in text
    assert "dynamic_user" in text
