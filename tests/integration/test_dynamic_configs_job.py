"""What bridges have stored of dynamic client configs becomes tables, and is answered."""

import threading
import time
import uuid

import pytest
from confluent_kafka import Producer

from pipelines.delta_tables.locations import identify_table
from pipelines.errors import MissingTopic
from pipelines.jobs.dynamic_configs.registrations import make_registration_reader
from pipelines.kafka_client.client_configs import Op
from pipelines.settings import load_settings
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
    DYNAMIC_CONFIG_CHANGES,
)
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.bridge.dynamic_configs import (
    ConfigClient,
    client,
    set_configs,
    user,
)
from tests.support.documents import find_block
from tests.support.dynamic_records import altered, as_pair, registered
from tests.support.jobs.given_calls import run_line
from tests.support.jobs.job_support import create_topic
from tests.support.spark.config_rows import held, instance
from tests.support.spark.table_rows import append_rows
from tests.support.spark.writer_option import writer_override
from tests.unit.udfs.dynamic_configs.read_records import TABLES

PATIENCE_S = 180
PAUSE_S = 0.05
LOADING = 14
PAGE = "docs/guide/client-configs.md"
(JOB,) = find_block(PAGE, "dynamic-configs-to-delta").commands
COMMANDS = find_block(PAGE, "effective-configs").commands
NAME, VERSION = "library", "1"
ACKS = ("acks", "session.timeout.ms")
WHO = "ANONYMOUS"
DEFAULT = client(WHO, None)


def wait_until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(PAUSE_S)


def abort(servers, topic, record):
    """Write a record that nobody is ever told of."""
    write(servers, topic, record, is_aborted=True)


def write(servers, topic, *records, is_aborted=False):
    """Write records in one transaction."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for key, value in map(as_pair, records):
        producer.produce(topic, value, key)
    assert producer.flush(PATIENCE_S) == 0
    if is_aborted:
        producer.abort_transaction(PATIENCE_S)
    else:
        producer.commit_transaction(PATIENCE_S)


def read(spark, settings, contract, *columns):
    table = spark.table(identify_table(spark, settings.tables, contract))
    return sorted(map(tuple, table.select(*columns).collect()), key=repr)


def register(endpoint, admin):
    """Have a client register what it can take; wait until that is stored."""
    with ConfigClient(endpoint, "orders") as app:
        app.name_software(NAME, VERSION)
        assert app.resolve(ACKS) == {"acks": "0"}
    wait_until(lambda: client(WHO, "orders") in admin.find_all())


def test_registration_reader_passes_over_missing_offsets_and_names_a_missing_topic(
    spark, kafka
):
    """Aborted records are gaps, as compaction leaves them."""
    topic, servers = f"registrations-{uuid.uuid4()}", kafka.bootstrap_servers
    options = {"kafka.bootstrap.servers": servers}
    read_registrations = make_registration_reader(options, topic, TABLES)
    with pytest.raises(MissingTopic, match=r"check topics\.client_registrations"):
        read_registrations(spark)
    create_topic(servers, topic, 1)
    assert list(read_registrations(spark)) == []
    abort(servers, topic, registered("acks"))
    write(servers, topic, *(registered("acks", client=one) for one in "ab"))
    abort(servers, topic, registered("acks"))
    found = [(one.offset, one.client_id) for one in read_registrations(spark)]
    # Each transaction has a record and a marker.
    assert found == [(2, "a"), (3, "b")]


@pytest.mark.long
def test_what_is_stored_becomes_rows_once_and_is_answered(
    spark, kafka, tmp_path, capsys
):
    topic, servers = f"client-configs-{uuid.uuid4()}", kafka.bootstrap_servers
    given = (
        f"kafka.bootstrap_servers={servers}",
        f"topics.client_configs={topic}",
        f"topics.client_registrations={topic}-registrations",
        f"tables.root_path={tmp_path}/tables",
        f"dynamic_configs_to_delta.checkpoint_location={tmp_path}/checkpoint",
        writer_override(),
    )
    own = make_settings(
        kafka,
        f'bridge.admin_principals=["User:{WHO}"]',
        f"topics.client_configs={topic}",
        f"topics.client_registrations={topic}-registrations",
        "dynamic_configs.enabled=true",
    )
    settings = load_settings("local", given)
    with running_bridge(own) as (_server, endpoint):
        host, _, port = endpoint.rpartition(":")
        address = host, int(port)
        with ConfigClient(address) as admin:
            wait_until(lambda: admin.describe().error_code != LOADING)
            for alteration in (
                set_configs(user(WHO), acks="1"),
                set_configs(user(WHO), acks="all"),
                set_configs(DEFAULT, acks="0"),
            ):
                assert admin.alter(alteration) == [(0, None)]
            register(address, admin)
            abort(servers, topic, altered("7"))
            run_line(spark, JOB, *given)
            removal = set_configs(DEFAULT)._replace(ops=(Op("acks", "", True),))
            assert admin.alter(removal) == [(0, None)]
    # A new checkpoint location goes on behind the ledger.
    anew = f"dynamic_configs_to_delta.checkpoint_location={tmp_path}/anew"
    run_line(spark, JOB, *given, anew)
    columns = ("config_value", "is_default_client_id", "is_current", "altered_by")
    assert read(spark, settings, DYNAMIC_CLIENT_CONFIGS, *columns) == [
        ("0", True, False, f"User:{WHO}"),
        ("1", False, False, f"User:{WHO}"),
        ("all", False, True, f"User:{WHO}"),
    ]
    supported = read(
        spark, settings, CLIENT_SUPPORTED_CONFIGS, "client_id", "config_keys"
    )
    assert supported == [("orders", [*ACKS])]
    changes = read(spark, settings, DYNAMIC_CONFIG_CHANGES, "entity", "change")
    assert sorted(changes) == [
        ("", None),
        (f"users/{WHO}", "acks 1 -> all"),
        (f"users/{WHO}", "acks set to 1"),
        (f"users/{WHO}/clients/<default>", "acks 0 removed"),
        (f"users/{WHO}/clients/<default>", "acks set to 0"),
        (f"users/{WHO}/clients/orders", f"{NAME} {VERSION} supports {', '.join(ACKS)}"),
    ]
    ask_all(spark, settings, given, capsys)


def ask_all(spark, settings, given, capsys):
    """Run the commands of the guide about a client that has pushed its acks."""
    software = {"client_software_name": NAME, "client_software_version": VERSION}
    who = {"client_id": "orders", "principal": f"User:{WHO}"}
    who |= {"logical_client": "orders", "client_type": "producer"}
    client = instance("orders-1", {"acks": held("-1")}, **software | who)
    append_rows(settings.tables, CLIENT_CONFIGS, client)
    said = []
    for line in COMMANDS:
        capsys.readouterr()
        run_line(spark, line, *given)
        said.append(capsys.readouterr().out)
    described, asked = said
    assert "source=dynamic_user dynamic=all of=dynamic_user" in described
    assert "state=applied obeyed=true" in described
    assert "dynamic_user" in asked
    assert "applied" in asked
