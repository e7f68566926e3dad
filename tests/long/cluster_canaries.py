"""Plants secrets in a cluster and looks for them in every byte that tells of it.

Usage: python tests/long/cluster_canaries.py [--canaries 100000]

In a cluster with logins Kafka's own tools set dynamic passwords, make SCRAM users and a
delegation token, and its brokers have static ones. It is fed to topics of another
cluster by the admin API, by the metadata log, and by its copied files; and so is a log
that holds as many secrets as are asked for, in every PASSWORD and NEVER key, in Config
and in RegisterBroker records, some of them cut off. The job reads each topic. Topics,
tables, checkpoint locations, quarantine and logs must hold none of the secrets.
"""

import argparse
import base64
import logging
import re
import sys
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.settings.loading import load_broker_configs  # noqa: E402 - path
from pipelines.tables.cluster import CLUSTER_CONTRACTS, RESOURCE_CONFIGS  # noqa: E402
from pipelines.tables.telemetry import QUARANTINE  # noqa: E402 - path
from tests.support.bridge.bridge_support import (  # noqa: E402 - path
    make_settings,
    running_bridge,
)
from tests.support.clients.config_canaries import find_canaries  # noqa: E402 - path
from tests.support.clients.java_programs import run_tool  # noqa: E402 - path
from tests.support.feed.log_batches import batch  # noqa: E402 - path
from tests.support.feed.topic_reader import TopicReader  # noqa: E402 - path
from tests.support.jobs.config_job_support import read_every_byte  # noqa: E402 - path
from tests.support.jobs.given_calls import run_line  # noqa: E402 - path
from tests.support.spark.local_session import start_session  # noqa: E402 - path
from tests.unit.udfs.sensitive.secrets_in_values import FIRST_NUMBER  # noqa: E402
from udfs.cluster.broker_catalog import NEVER, PASSWORD, judge_name  # noqa: E402
from udfs.cluster.record_writing import (  # noqa: E402 - path
    write_config,
    write_register_broker,
)

BROKER = 4
OPERATOR, OPERATOR_PASSWORD = "operator", str(FIRST_NUMBER + 1)
OF_CLUSTER = tuple(str(FIRST_NUMBER + place) for place in range(2, 12))
"""Secrets that the cluster itself has; those of the written log follow."""
STATIC, TOKEN_KEY, SCRAM, *DYNAMIC = OF_CLUSTER
DYNAMIC_KEYS = (
    "listener.name.elsewhere.ssl.keystore.password",
    "listener.name.elsewhere.ssl.key.password",
    "listener.name.elsewhere.ssl.truststore.password",
    "listener.name.elsewhere.scram-sha-256.sasl.jaas.config",
)
ORDINARY = "268435456"
CUT_EVERY, OF_BATCH, OF_REGISTRATION = 50, 100, 500
TOOLS = "org.apache.kafka.tools.DelegationTokenCommand"
CONFIGS = "kafka.admin.ConfigCommand"
JOB = "./spark-submit.sh cluster_metadata_to_delta --once"


@dataclass
class Search:
    """What was looked through, and what was found."""

    canaries: int
    token: bytes = b""
    """The delegation token's own secret."""
    places: int = 0
    leaks: list = field(default_factory=list)

    def look(self, name, data):
        """Look through bytes."""
        self.places += 1
        found = find_canaries(data, self.canaries)
        for secret in (self.token, base64.b64encode(self.token)):
            if secret and secret in data:
                found |= {b"the token"}
        if found:
            self.leaks.append((str(name), len(found), min(found)))


def plant(java, cluster, folder):
    """Let Kafka's tools set what is secret, and an ordinary value; return the token."""
    login = folder / "operator.properties"
    login.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule "
        f'required username="{OPERATOR}" password="{OPERATOR_PASSWORD}";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={cluster.ca_path}\n"
    )
    words = ("--bootstrap-server", cluster.bootstrap_servers)
    words += ("--command-config", str(login))
    configs = ",".join(
        f"{key}=[{value}]" for key, value in zip(DYNAMIC_KEYS, DYNAMIC, strict=False)
    )
    broker = ("--entity-type", "brokers", "--entity-name", "1", "--add-config")
    user = ("--entity-type", "users", "--entity-name", "bob", "--add-config")
    for call in (
        (*broker, f"{configs},log.segment.bytes={ORDINARY}"),
        (*user, f"SCRAM-SHA-256=[password={SCRAM}]"),
    ):
        run_tool(java, CONFIGS, *words, "--alter", *call)
    made = run_tool(java, TOOLS, *words, "--create", "--max-life-time-period", "-1")
    ((hmac,),) = [re.findall(r"[A-Za-z0-9+/]{80,}={0,2}", made)]
    return base64.b64decode(hmac)


def settings_of(kafka, cluster, source, topic):
    """Return settings of a bridge that feeds a cluster to another one's topic."""
    return make_settings(
        kafka,
        *(f"topics.cluster={topic}", "bridge.http_port=-1", f"cluster.source={source}"),
        f"cluster.controller_servers={cluster.controller_bootstrap_servers}",
        f"upstream.bootstrap_servers={cluster.bootstrap_servers}",
        *("upstream.security_protocol=SASL_SSL", "upstream.sasl_password=env:CLUSTER"),
        *("upstream.sasl_mechanism=SCRAM-SHA-512", f"upstream.sasl_username={OPERATOR}"),
        f"upstream.ssl_ca_location={cluster.ca_path}",
    )  # fmt: skip


def feed(kafka, cluster, topics):
    """Feed a cluster from both sources, until each has told all that is so."""
    for source in ("admin_api", "metadata_log"):
        settings = settings_of(kafka, cluster, source, topics[source])
        with running_bridge(settings, CLUSTER=OPERATOR_PASSWORD):
            reader = TopicReader(kafka, topics[source])
            reader.wait_for_full_set()
            reader.wait_for_key("Config/brokers/1/log.segment.bytes")
            reader.close()


def write_log(path, canaries):
    """Write a log with secrets; return how many Config records of it are whole."""
    catalog = load_broker_configs()
    keys = [one for one in catalog if judge_name(one, catalog) in (PASSWORD, NEVER)]
    first = FIRST_NUMBER + len(OF_CLUSTER) + 2
    told = [(keys[n % len(keys)], str(first + n)) for n in range(canaries)]
    records = [
        write_config(BROKER, str(place // len(keys)), name, value)
        for place, (name, value) in enumerate(told)
    ]
    cut = range(0, canaries, CUT_EVERY)
    for place in cut:
        records[place] = records[place][:-3]
    records += [
        write_register_broker(
            broker_id=1,
            endpoints=[],
            rack=None,
            fenced=False,
            static_configs=[
                *told[start : start + OF_REGISTRATION],
                ("log.segment.bytes", ORDINARY),
            ],
        )
        for start in range(0, canaries, OF_REGISTRATION)
    ]
    with path.open("wb") as log:
        for start in range(0, len(records), OF_BATCH):
            log.write(batch(start, *records[start : start + OF_BATCH]))
    return canaries - len(cut)


def read_topic(kafka, topic, search):
    """Look through all records of a topic; return how many there are."""
    reader = TopicReader(kafka, topic)
    while reader.poll(5) is not None or not reader.records:
        continue
    for one in reader.records:
        headers = b"".join(name.encode() + value for name, value in one.headers)
        search.look(f"{topic} {one.key}", one.key.encode() + one.value + headers)
    reader.close()
    return len(reader.records)


def run_job(spark, kafka, topic, folder):
    """Let the job read a topic; return the tables by name."""
    run_line(
        spark,
        JOB,
        f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
        f"topics.cluster={topic}",
        f"tables.root_path={folder}/tables",
        f"cluster_metadata_to_delta.checkpoint_location={folder}/checkpoint",
    )
    contracts = (*CLUSTER_CONTRACTS, QUARANTINE)
    read = spark.read.format("delta")
    return {one.name: read.load(f"{folder}/tables/{one.name}") for one in contracts}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--canaries", type=int, default=100_000)
    canaries = parser.parse_args().canaries
    with tempfile.TemporaryDirectory() as name:
        return prove(Path(name), canaries)


def prove(folder, canaries):
    """Plant, feed, read and look; return the exit code."""
    seen = folder / "seen"
    seen.mkdir()
    log = logging.FileHandler(seen / "log.txt")
    logging.getLogger().addHandler(log)
    logging.getLogger().setLevel(logging.INFO)
    java = "java"
    search = Search(canaries + len(OF_CLUSTER) + 2)
    ways = ("admin_api", "metadata_log", "files", "written")
    topics = {way: f"{way}-{uuid.uuid4()}" for way in ways}
    secrets = {
        "delegation.token.secret.key": TOKEN_KEY,
        "listener.name.nowhere.ssl.keystore.password": STATIC,
    }
    with EmbeddedKafka(java=java) as kafka:
        files = folder / "cluster"
        with EmbeddedKafka(
            java=java,
            security_protocol="SASL_SSL",
            users={OPERATOR: OPERATOR_PASSWORD},
            broker_properties=secrets,
            folder=files,
        ) as cluster:
            search.token = plant(java, cluster, folder)
            feed(kafka, cluster, topics)
        (copied,) = files.rglob("__cluster_metadata-0")
        to = f"kafka.bootstrap_servers={kafka.bootstrap_servers}"
        spark = start_session(folder / "warehouse")
        written = folder / "00000000000000000000.log"
        whole = write_log(written, canaries)
        for way, words, code in (
            ("files", f"--files {copied}", 0),
            ("written", f"--files {written} --cluster-id written", 1),
        ):
            line = f"./spark-submit.sh import-metadata {words}"
            run_line(spark, line, to, f"topics.cluster={topics[way]}", code=code)
        faults = []
        for way, topic in topics.items():
            records = read_topic(kafka, topic, search)
            tables = run_job(spark, kafka, topic, seen / way)
            configs = tables[RESOURCE_CONFIGS.name]
            hidden = configs.where("status = 'redacted'").count()
            text = f"'{ORDINARY}'"
            static = tables["broker_static_configs"].where(f"config_value = {text}")
            shown = configs.where(f"config_value = {text}").count() + static.count()
            rejected = tables[QUARANTINE.name].count()
            print(
                f"{way}: {records:,} records, {hidden:,} values hidden, {shown} ordinary "
                f"shown, {rejected:,} in quarantine",
                flush=True,
            )
            expected = whole if way == "written" else len(DYNAMIC_KEYS)
            if hidden != expected or not shown:
                faults.append(f"{way}: {hidden} hidden, not {expected}; {shown} shown")
        spark.stop()
    logging.getLogger().removeHandler(log)
    for path, data in read_every_byte(seen):
        search.look(path, data)
    for fault in [*faults, *search.leaks]:
        print("FAULT", fault)
    print(
        f"{canaries:,} secrets in keys, {len(OF_CLUSTER)} of a cluster, a token; "
        f"{search.places:,} places looked through, leaks: {len(search.leaks)}"
    )
    return 1 if faults or search.leaks else 0


if __name__ == "__main__":
    sys.exit(main())
