"""An S3 server on this machine, and what Spark is told of it."""

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

from pipelines.settings import CONF_PATH
from tests.client_jars import ensure_cluster_jars

ROOT = CONF_PATH.parent
REQUIREMENTS_PATH = ROOT / "tests" / "long" / "s3_requirements.txt"
PROGRAM = Path(__file__).with_name("server.py")
BUCKET = "clientele"
PATIENCE_S = 60


def ensure_server():
    """Return a Python that has the server, installed once by the list's content."""
    name = hashlib.sha256(REQUIREMENTS_PATH.read_bytes()).hexdigest()[:16]
    wanted = ROOT / ".cache" / "test_s3" / name
    if not (wanted / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", wanted], check=True)
        pip = [wanted / "bin" / "python", "-m", "pip", "install", "--quiet"]
        line = [*pip, "--no-deps", "--requirement", REQUIREMENTS_PATH]
        subprocess.run(line, check=True)
        (wanted / "complete").touch()
    return wanted / "bin" / "python"


class ObjectStore:
    """One bucket, empty, until the block ends."""

    def __init__(self):
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the block

    def __enter__(self):
        self._process = subprocess.Popen(
            [ensure_server(), PROGRAM, BUCKET],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        line = self._process.stdout.readline()
        self._errors.seek(0)
        assert line, self._errors.read().decode()
        self._port = int(line)
        return self

    def __exit__(self, *_):
        self._process.communicate(timeout=PATIENCE_S)
        self._errors.close()

    @property
    def uri(self):
        return f"s3a://{BUCKET}"

    @property
    def spark_words(self):
        """Options of spark-submit: jars, where it is, and who asks."""
        conf = {
            "endpoint": f"http://127.0.0.1:{self._port}",
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "access.key": "test",
            "secret.key": "test",
        }
        jars = ",".join(map(str, ensure_cluster_jars("s3a")))
        named = [f"spark.hadoop.fs.s3a.{name}={value}" for name, value in conf.items()]
        return ["--jars", jars, *(w for one in named for w in ("--conf", one))]
