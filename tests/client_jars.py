"""Fetch the jars that only tests need: Kafka Streams, and Kafka's command-line tools.

Usage: python tests/client_jars.py

tests/run.sh does this after the set-up, and with the set-up's own means: Ivy, from
where conf/ivysettings.xml says. They are kept by the content of tests/ivy.xml. What
proofs on a cluster need (tests/ivy-hadoop.xml) they fetch themselves, by ensure().
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IVY_PATH = ROOT / "tests" / "ivy.xml"
PYSPARK_JARS_PATH = Path(importlib.util.find_spec("pyspark").origin).parent / "jars"
HADOOP_IVY_PATH = ROOT / "tests" / "ivy-hadoop.xml"
CONFS = ("new", "old")
ALL_IN_ONE = "[artifact]-[revision].[ext]"


def jars_path(ivy_path=IVY_PATH):
    """Return the folder of the jars of one list, there or not."""
    name = hashlib.sha256(ivy_path.read_bytes()).hexdigest()[:16]
    return ROOT / ".cache" / "test_jars" / name


def find_jar(name):
    """Return one jar's path."""
    path = jars_path() / name
    assert path.exists(), f"{path} is missing: run python tests/client_jars.py"
    return str(path)


def find_java():
    home = os.environ.get("JAVA_HOME", "")
    return str(Path(home) / "bin" / "java") if home else "java"


def fetch(folder, ivy_path, confs, pattern):
    """Let Ivy put the jars into a folder."""
    (ivy,) = PYSPARK_JARS_PATH.glob("ivy-*.jar")
    mirror = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY")
    resolver = "mirror" if mirror else "central"
    for conf in confs:
        subprocess.run(
            [
                *(find_java(), f"-Dkafka.clientele.resolver={resolver}", "-jar", ivy),
                *("-warn", "-cache", folder / "ivy", "-ivy", ivy_path, "-confs", conf),
                *("-settings", ROOT / "conf" / "ivysettings.xml"),
                *("-retrieve", f"{folder}/jars/{pattern}"),
            ],
            check=True,
        )


def ensure(ivy_path=IVY_PATH, confs=CONFS, pattern=ALL_IN_ONE):
    """Fetch the jars of a list that are not there yet; return their folder."""
    wanted = jars_path(ivy_path)
    if wanted.exists():
        return wanted
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.parent) as name:
        fetch(Path(name), ivy_path, confs, pattern)
        try:
            (Path(name) / "jars").rename(wanted)
        except OSError:
            # Another one has been faster.
            assert wanted.exists()
    return wanted


def ensure_cluster_jars(conf):
    """Return the jars of one conf of HADOOP_IVY_PATH, fetched if need be."""
    folder = ensure(HADOOP_IVY_PATH, ("hadoop", "s3a"), f"[conf]/{ALL_IN_ONE}")
    return sorted((folder / conf).glob("*.jar"))


def main():
    ensure()
    return 0


if __name__ == "__main__":
    sys.exit(main())
