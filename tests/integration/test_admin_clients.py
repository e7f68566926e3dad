"""Kafka's own admin clients, of two releases, administer through the bridge."""

import subprocess
import uuid

import pytest

from pipelines.embedded.installation import JARS_PATH
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.clients.java_clients import PROGRAMS_PATH
from tests.support.kafka.kafka_commands import SHORT_LIVED

PROGRAM = PROGRAMS_PATH / "AdministerSubscriptions.java"
SPARK_JARS_PATH = JARS_PATH.parent / "spark"
PATIENCE_S = 180
REFUSED = (
    "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)"
)


@pytest.fixture(scope="module")
def compiling_java(java):
    """A Java that runs a source file."""
    listed = subprocess.run(
        [java, "--list-modules"], check=True, capture_output=True, text=True
    )
    if "jdk.compiler" not in listed.stdout:
        pytest.skip("this Java has no compiler, and the client comes as source")
    return java


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_admin_client_sets_lists_describes_and_deletes(compiling_java, kafka, release):
    (client,) = [
        jar
        for folder in (SPARK_JARS_PATH, JARS_PATH)
        for jar in folder.glob(f"kafka-clients-{release}.jar")
    ]
    jars = [client, *JARS_PATH.glob("slf4j-api-*.jar")]
    settings = make_settings(kafka, "bridge.admin_principals=['User:ANONYMOUS']")
    with running_bridge(settings) as (_, endpoint):
        done = subprocess.run(
            [
                *(compiling_java, *SHORT_LIVED), "-cp", ":".join(map(str, jars)), str(PROGRAM),
                endpoint, f"s-{uuid.uuid4()}",
            ],
            check=True, capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
    assert done.stdout.splitlines() == [
        "listed true",
        "described a.,b.",
        f"refused {REFUSED}",
        "topic InvalidRequestException",
        "listed false",
    ]
