"""Apache Kafka's own command-line tools, run from the jars."""

import subprocess

from pipelines.embedded.installation import CACHE_PATH, JARS_PATH, find_installation

PATIENCE_S = 180
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a JVM that lives for seconds: most of its work is to begin."""


def configure(java, endpoint, *words):
    """Run kafka-configs.sh --entity-type client-metrics; returns (code, output)."""
    return run_configs(java, endpoint, "--entity-type", "client-metrics", *words)


def run_configs(java, endpoint, *words):
    """Run kafka-configs.sh; returns (code, output)."""
    kafka = find_installation(java, JARS_PATH, CACHE_PATH)
    done = subprocess.run(
        [
            java, *SHORT_LIVED, *kafka.cache.archive_arguments(),
            "-cp", ":".join(map(str, kafka.jars)),
            "kafka.admin.ConfigCommand", "--bootstrap-server", endpoint, *words,
        ],
        capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
