"""Runs the Java programs of `java/`, and Kafka's own command-line tools."""

import subprocess

from pipelines.embedded.installation import JARS_PATH
from tests.client_jars import PYSPARK_JARS_PATH, find_jar
from tests.support.clients.java_clients import PROGRAMS_PATH, find_jars
from tests.support.kafka.kafka_commands import SHORT_LIVED

PATIENCE_S = 400
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""Of brokers that keep ACLs, and where nobody is somebody who may do everything."""


def find_streams_jars(release):
    """Return the class path of one release's Kafka Streams.

    State is kept in memory; only classes of RocksDB are looked for, so Spark's will do.
    """
    libraries = ("rocksdbjni-*.jar", "jackson-annotations-*.jar")
    found = [jar for one in libraries for jar in PYSPARK_JARS_PATH.glob(one)]
    streams = find_jar(f"kafka-streams-{release}.jar")
    return ":".join([find_jars(release), streams, *map(str, found)])


def program_command(java, class_path, program, *words, options=()):
    """Return the command that compiles and runs one program."""
    path = PROGRAMS_PATH / f"{program}.java"
    return [java, *SHORT_LIVED, *options, "-cp", class_path, str(path), *words]


def run_program(java, class_path, program, *words, options=()):
    """Run one program, which says "used" at its end; return all that it says."""
    done = _run(program_command(java, class_path, program, *words, options=options))
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout.endswith("used\n")
    return done.stdout


def tools_class_path():
    """Return the class path of Kafka's command-line tools."""
    return f"{find_jar('kafka-tools-4.3.1.jar')}:{JARS_PATH}/*"


def run_tool(java, name, *words, patience_s=PATIENCE_S):
    """Run one of Kafka's tools by the name of its class; return what it prints."""
    done = _run(
        [java, *SHORT_LIVED, "-cp", tools_class_path(), name, *words], patience_s
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-3_000:]
    return done.stdout


def alter_configs(java, endpoint, *calls):
    """Run kafka-configs --alter with the words of each call, all in one JVM."""
    lines = ["\t".join(["--bootstrap-server", endpoint, "--alter", *c]) for c in calls]
    command = program_command(java, tools_class_path(), "AlterConfigs")
    done = _run(command, given="\n".join(lines))
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-3_000:]
    assert done.stdout.endswith("used\n")


def _run(command, patience_s=PATIENCE_S, given=None):
    return subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience_s,
    )
