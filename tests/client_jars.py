"""Fetch the jars that only tests need: Kafka Streams, and Kafka's command-line tools.

Usage: python tests/client_jars.py

tests/run.sh does this after the set-up, and with the set-up's own means: Ivy, from
where conf/ivysettings.xml says. They are kept by the content of tests/ivy.xml.
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
CONFS = ("new", "old")


def jars_path():
    """Return the folder of these jars, there or not."""
    name = hashlib.sha256(IVY_PATH.read_bytes()).hexdigest()[:16]
    return ROOT / ".cache" / "test_jars" / name


def find_jar(name):
    """Return one jar's path."""
    path = jars_path() / name
    assert path.exists(), f"{path} is missing: run python tests/client_jars.py"
    return str(path)


def find_java():
    home = os.environ.get("JAVA_HOME", "")
    return str(Path(home) / "bin" / "java") if home else "java"


def fetch(folder):
    """Let Ivy put the jars into a folder."""
    (ivy,) = PYSPARK_JARS_PATH.glob("ivy-*.jar")
    mirror = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY")
    resolver = "mirror" if mirror else "central"
    for conf in CONFS:
        subprocess.run(
            [
                *(find_java(), f"-Dkafka.clientele.resolver={resolver}", "-jar", ivy),
                *("-warn", "-cache", folder / "ivy", "-ivy", IVY_PATH, "-confs", conf),
                *("-settings", ROOT / "conf" / "ivysettings.xml"),
                *("-retrieve", f"{folder}/jars/[artifact]-[revision].[ext]"),
            ],
            check=True,
        )


def main():
    wanted = jars_path()
    if wanted.exists():
        return 0
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.parent) as name:
        fetch(Path(name))
        try:
            (Path(name) / "jars").rename(wanted)
        except OSError:
            # Another one has been faster.
            assert wanted.exists()
    return 0


if __name__ == "__main__":
    sys.exit(main())
