"""Apache Kafka's own command-line tools, run from the jars."""

import subprocess

from pipelines.embedded.installation import JARS_PATH

PATIENCE_S = 60


def configure(java, endpoint, *words):
    """Run kafka-configs.sh --entity-type client-metrics; returns (code, output)."""
    done = subprocess.run(
        [
            java, "-XX:TieredStopAtLevel=1", "-cp", f"{JARS_PATH}/*",
            "kafka.admin.ConfigCommand", "--bootstrap-server", endpoint,
            "--entity-type", "client-metrics", *words,
        ],
        capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
