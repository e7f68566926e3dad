"""The library alone: built without an index, used where only confluent-kafka is."""

import asyncio
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import confluent_kafka
import pytest

from pipelines.clients import wheel_backend
from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent
PATIENCE_S = 60
APPLICATION = """
import importlib.util, json, sys
sys.path.append(sys.argv[1])
import confluent_kafka
from kafka_clientele import KafkaError, Producer, TopicPartition
from kafka_clientele.admin import AdminClient, NewTopic
from kafka_clientele.aio import AIOConsumer, AIOProducer
from kafka_clientele.dynamic import DynamicConsumer, DynamicProducer
quiet = {"error_cb": lambda _error: None, "log_level": 0, "enable.metrics.push": False}
producer = Producer({"bootstrap.servers": sys.argv[2]} | quiet)
dynamic = DynamicProducer(
    {"bootstrap.servers": sys.argv[2], "enable.config.push": False} | quiet
)
assert dynamic.dynamic_configs() == {} and len(dynamic) == 0 and dynamic
dynamic.close()
rooms = ("pipelines", "udfs", "pyspark", "pyarrow", "kio", "re2", "numpy")
print(json.dumps({
    "id": producer.client_instance_id(),
    "is_upstreams": isinstance(producer, confluent_kafka.Producer)
    and issubclass(AdminClient, confluent_kafka.admin.AdminClient)
    and KafkaError is confluent_kafka.KafkaError,
    "found": [room for room in rooms if importlib.util.find_spec(room)],
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    flags = ["--no-index", "--no-build-isolation", "--no-deps", "--no-cache-dir"]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", *flags, "-w", str(folder),
         str(ROOT / "pipelines" / "clients")],
        check=True,
        timeout=PATIENCE_S,
    )  # fmt: skip
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """A folder of packages with the wheel and confluent-kafka, and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps",
         "--target", str(folder), str(wheel)],
        check=True,
        timeout=PATIENCE_S,
    )  # fmt: skip
    upstream = Path(confluent_kafka.__file__).parent
    for path in upstream.parent.glob("confluent_kafka*"):
        (folder / path.name).symlink_to(path)
    return folder


def test_an_application_pushes_where_only_confluent_kafka_is(serving, run, site):
    async def test():
        async with serving() as (bridge, server):
            # Neither this environment's packages nor its variables.
            words = [sys.executable, "-I", "-S", "-c", APPLICATION, str(site), server]
            done = await asyncio.to_thread(
                subprocess.run,
                words,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )
            assert done.returncode == 0, done.stderr
            told = json.loads(done.stdout)
            assert told["found"] == []
            assert told["is_upstreams"]
            assert told["id"] == bridge.headers()["client_instance_id"]

    run(test)


def test_a_wheel_holds_files_and_no_links(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        rules = archive.read("kafka_clientele/sensitive_keys.toml")
        kernel = {
            name: archive.read(f"kafka_clientele/{name}")
            for name in (
                "config_key_names.py",
                "confusable_letters.py",
                "default_config_keys.py",
                "hiding_searches.py",
                "linear_patterns.py",
                "plain_values.py",
                "sensitive_key_rules.py",
                "sensitive_keys.py",
                "typed_values.py",
            )
        }
    assert rules == (CONF_PATH / "sensitive_keys.toml").read_bytes()
    for name, content in kernel.items():
        [path] = (ROOT / "udfs").rglob(name)
        assert content == path.read_bytes()
    client = {path.name for path in (ROOT / "pipelines" / "kafka_client").glob("*.py")}
    assert {f"kafka_clientele/kafka_client/{name}" for name in client} <= names
    catalogs = {path.name for path in (CONF_PATH / "config_catalog").glob("*.csv")}
    assert {f"kafka_clientele/config_catalog/{name}" for name in catalogs} <= names
    dynamic = ("dynamic", "dynamic_values", "following", "gate", "held_handles")
    assert {f"kafka_clientele/{name}.py" for name in dynamic} <= names
    assert "kafka_clientele/wheel_backend.py" not in names


def test_the_same_sources_give_the_same_wheel(tmp_path):
    made = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        made.append((folder / wheel_backend.build_wheel(str(folder))).read_bytes())
    assert made[0] == made[1]
