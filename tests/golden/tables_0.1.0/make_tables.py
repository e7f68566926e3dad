"""Makes the tables of this folder. Runs in a checkout of the commit in README.md.

From the root of that checkout, with its set-up and PYTHONPATH=. in the environment:
    .venv/bin/python .../make_tables.py FOLDER
"""

import sys
from pathlib import Path

from confluent_kafka import Producer
from tests.integration.job_support import PushProducer, create_topic
from tests.spark.config_records import entry, make_record
from tests.spark.local_session import start_quick_session

from pipelines.embedded import EmbeddedKafka
from pipelines.jobs import (
    client_configs_to_delta,
    client_telemetry_to_delta,
    client_wire_configs_to_delta,
)
from pipelines.settings import (
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from pipelines.settings.secret_references import SecretReader

TOPICS = ("clientele.telemetry", "clientele.configs", "clientele.wire_configs")
ROUNDS = 2
PUSHES = 24


def make_config_records(round_number):
    """Return pushed configurations of two instances, and one that is no body."""
    acks = ("1", "all")[round_number]
    return [
        make_record(
            0,
            entry("acks", acks, "STRING"),
            entry("linger.ms", "5", "LONG", is_default=True),
            entry("sasl.jaas.config", "", "PASSWORD"),
            push_id=f"config-{round_number}-a",
            redacted_keys="sasl.jaas.config",
        ),
        make_record(
            0,
            entry("group.id", "billing", "STRING"),
            entry("fetch.min.bytes", "1", "INT", is_default=True),
            push_id=f"config-{round_number}-b",
            client_instance_id="AAAAAAAAAAAAAAAAAAAABQ",
            client_id="billing",
        ),
        make_record(0, body=b"\x01", push_id=f"config-{round_number}-c"),
    ]


def make_wire_records(round_number):
    """Return what two clients showed on their connections, and one that is no JSON."""
    acks = ("1", "all")[round_number]
    shown = f'{{"client_type":"producer","configs":{{"acks":"{acks}"}}}}'
    records = []
    for number, value in enumerate((shown.encode(), b"cut")):
        *_, headers = make_record(0, body=b"", push_id=f"wire-{round_number}-{number}")
        kept = [one for one in headers if one[0] != "client_instance_id"]
        records.append((value, kept))
    return records


def produce(servers, topic, records):
    """Write records and wait until Kafka has them."""
    producer = Producer({"bootstrap.servers": servers})
    for value, headers in records:
        producer.produce(topic, value, headers=headers)
    assert producer.flush(60) == 0


def main(folder):
    """Fill the tables of all three jobs, in several micro-batches each."""
    with EmbeddedKafka() as kafka:
        servers = kafka.bootstrap_servers
        for topic in TOPICS:
            create_topic(servers, topic, 2)
        settings = load_settings(
            "local",
            [
                f"kafka.bootstrap_servers={servers}",
                f"tables.root_path={folder}/tables",
                *(
                    f"{job}.checkpoint_location={folder}/checkpoints/{job}"
                    for job in (
                        "client_telemetry_to_delta",
                        "client_configs_to_delta",
                        "client_wire_configs_to_delta",
                    )
                ),
            ],
        )
        spark = start_quick_session(f"{folder}/warehouse")
        pushes = PushProducer(servers, TOPICS[0])
        secrets, catalogs = SecretReader(environ={}), load_config_catalogs()
        for number in range(ROUNDS):
            pushes.send(PUSHES)
            configs = [(one[4], one[5]) for one in make_config_records(number)]
            produce(servers, TOPICS[1], configs)
            produce(servers, TOPICS[2], make_wire_records(number))
            client_telemetry_to_delta.run(
                spark, settings, secrets, is_once=True
            ).awaitTermination()
            client_configs_to_delta.run(
                spark,
                settings,
                secrets,
                catalogs=catalogs,
                client_type_keys=load_client_type_keys(),
                is_once=True,
            ).awaitTermination()
            client_wire_configs_to_delta.run(
                spark, settings, secrets, catalogs=catalogs, is_once=True
            ).awaitTermination()
        spark.stop()


main(Path(sys.argv[1]).resolve())
