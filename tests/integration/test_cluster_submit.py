"""The job on a Spark standalone cluster whose Python has only what the job ships."""

import shutil
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow.dataset
import pyspark
import pytest
from confluent_kafka import Producer

from pipelines.commands.submit import packing
from pipelines.commands.submit.packing import (
    DRIVER_PACKAGES,
    list_driver_packages,
    pack_code,
    pack_environment,
)
from pipelines.settings import CONF_PATH
from tests.support.archives import unpack_tar
from tests.support.deployments import parse_told
from tests.support.kubernetes_api import DRIVER, running_api
from tests.support.rendered_chart import read_manifests

ROOT = CONF_PATH.parent
SPARK_HOME = Path(pyspark.__file__).parent
GOLDEN = ROOT / "tests" / "golden" / "telemetry"
PATIENCE_S = 480
TOPIC = "cluster-submit"
CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
DEPLOY = "org.apache.spark.deploy"
WORKERS = 2
IMPORT_UDFS = """
import importlib, pkgutil, udfs
names = [one.name for one in pkgutil.walk_packages(udfs.__path__, "udfs.")]
assert len(names) > 10
for name in names:
    importlib.import_module(name)
"""
IMPORT_JOBS = """
import importlib, pkgutil
import pipelines.__main__, pipelines.commands.session
from pipelines.settings.loading import load_config_catalogs, load_settings
for room in ("jobs", "streaming", "delta_tables"):
    package = importlib.import_module(f"pipelines.{room}")
    names = pkgutil.walk_packages(package.__path__, f"pipelines.{room}.")
    assert [importlib.import_module(one.name) for one in names]
settings = load_settings(
    "databricks", ["tables.root_path=file:///tables", "watching.jobs_http_port=0"]
)
assert load_config_catalogs()
from pipelines.commands.job_pages import served_metrics
with served_metrics([], settings, ["client_telemetry_to_delta"]):
    pass
"""
IMPORT_CHECKS = """
import importlib, pkgutil, great_expectations, pipelines.quality
for one in pkgutil.walk_packages(pipelines.quality.__path__, "pipelines.quality."):
    importlib.import_module(one.name)
from pipelines.quality.suites import read_suite
assert read_suite("client_pushes")
context = great_expectations.get_context(mode="ephemeral")
assert context.data_sources.add_spark("spark")
"""
# JVMs that live for a minute; compiling well would take most of it.
HASTE = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"


def header_values(codec, number):
    return {
        "client_instance_id": "tpzDWnpUR5Cqacwr1O5FOA",
        "client_id": "captured",
        "client_software_name": "apache-kafka-java",
        "client_software_version": "4.0.0",
        "principal": "User:ANONYMOUS",
        "listener": "PLAINTEXT",
        "client_source_address": "127.0.0.1",
        "client_source_port": "50000",
        "bridge_id": "bridge-1",
        "received_at_ms": str(time.time_ns() // 1_000_000),
        "push_id": f"push-{number}",
        "subscription_id": "1",
        "push_interval_ms": "1000",
        "compression_type": codec,
        "terminating": "false",
    }


def publish_captures(servers):
    """Write one real push of each codec, as the bridge would have."""
    producer = Producer({"bootstrap.servers": servers})
    for number, codec in CODECS.items():
        producer.produce(
            TOPIC,
            (GOLDEN / f"java_producer_push_c{number}.bin").read_bytes(),
            headers=[(k, v.encode()) for k, v in header_values(codec, number).items()],
        )
    assert producer.flush(PATIENCE_S) == 0


@contextmanager
def daemon(name, words, environ, mark):
    """Run a daemon of Spark; yields the first line of its log that has the mark."""
    with subprocess.Popen(
        [str(SPARK_HOME / "bin" / "spark-class"), f"{DEPLOY}.{name}", *words],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        watchdog = threading.Timer(PATIENCE_S, process.kill)
        watchdog.start()
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                if mark in line:
                    break
            else:
                pytest.fail(f"{name} ended without {mark!r}: {''.join(lines)}")
            watchdog.cancel()
            drain = threading.Thread(target=process.stdout.read)
            drain.start()
            yield line
        finally:
            watchdog.cancel()
            process.terminate()
        drain.join()


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """The folder of an interpreter that has the standard library and nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Where each worker has what it starts."""
    return [tmp_path_factory.mktemp(f"worker-{one}") for one in range(WORKERS)]


@pytest.fixture(scope="module")
def cluster(java, bare_python, folders):
    """A master and two workers on loopback; yields the master's address."""
    environ = {
        "PATH": f"{bare_python}:/usr/bin:/bin",
        "JAVA_HOME": find_java_home(java),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": HASTE,
    }
    local = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    size = ["--cores", "1", "--memory", "1g"]
    mark = "Successfully registered with master"
    with daemon("master.Master", local, environ, "Starting Spark master at") as line:
        master = line.split()[-1]
        with ExitStack() as workers:
            for folder in folders:
                words = [*local, *size, "--work-dir", str(folder), master]
                workers.enter_context(daemon("worker.Worker", words, environ, mark))
            yield master


def find_java_home(java):
    done = subprocess.run(
        [java, "-XshowSettings:properties", "-version"],
        capture_output=True,
        check=True,
        text=True,
    )
    lines = [line.split("=") for line in done.stderr.splitlines() if "=" in line]
    return next(value.strip() for name, value in lines if name.strip() == "java.home")


def read_table(folder, name):
    return pyarrow.dataset.dataset(folder / "tables" / name).to_table().to_pylist()


def test_the_bare_python_lacks_what_the_job_needs(bare_python):
    done = subprocess.run(
        [bare_python / "python", "-c", "import numpy"], capture_output=True, check=False
    )
    assert b"No module named 'numpy'" in done.stderr


@pytest.mark.parametrize(
    ("ships", "program"),
    [
        ({"code": (), "packages": ()}, IMPORT_UDFS),
        pytest.param(
            {"code": (ROOT / "conf",), "packages": (DRIVER_PACKAGES,)},
            IMPORT_JOBS,
            marks=pytest.mark.long,
        ),
        pytest.param(
            {
                "code": (ROOT / "conf",),
                "packages": (list_driver_packages("check_tables", ROOT / "conf"),),
            },
            IMPORT_CHECKS,
            marks=pytest.mark.long,
        ),
    ],
    ids=["executor", "driver", "checks"],
)
def test_what_a_job_ships_is_all_that_is_imported_elsewhere(
    bare_python, tmp_path, ships, program, monkeypatch
):
    # How small it becomes is another matter.
    monkeypatch.setattr(packing, "_GZIP_LEVEL", 0)
    packages = pack_environment(tmp_path, *ships["packages"])
    unpack_tar(packages, tmp_path / "packages")
    # A Spark there brings these two, and nothing that stands beside them here.
    (tmp_path / "spark").mkdir()
    for name in ("pyspark", "py4j"):
        (tmp_path / "spark" / name).symlink_to(SPARK_HOME.parent / name)
    # Unpacked, as YARN and Spark do it: conf/ is read as files.
    shutil.unpack_archive(
        pack_code(ROOT, tmp_path, *ships["code"]), tmp_path / "code", "zip"
    )
    places = [tmp_path / name for name in ("code", "packages", "spark")]
    done = subprocess.run(
        [bare_python / "python", "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(map(str, places))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def run_job(servers, folder, words):
    """Let the job read four real pushes, with options of spark-submit."""
    publish_captures(servers)
    values = {
        "kafka.bootstrap_servers": servers,
        "topics.telemetry": TOPIC,
        "tables.root_path": folder / "tables",
        "client_telemetry_to_delta.checkpoint_location": folder / "checkpoints",
    }
    sets = [word for key, one in values.items() for word in ("--set", f"{key}={one}")]
    conf = [
        "spark.ui.enabled=false",
        # A cluster's default of 200 takes minutes for four records.
        "spark.sql.shuffle.partitions=2",
        f"spark.driver.extraJavaOptions={HASTE}",
        f"spark.executor.extraJavaOptions={HASTE}",
    ]
    return subprocess.run(
        [
            *[str(ROOT / "spark-submit.sh"), "client_telemetry_to_delta"],
            *["--env", "local", "--once", *sets, *words],
            *[word for one in conf for word in ("--conf", one)],
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def check_tables(folder):
    """Compare the tables with what was published, once or several times."""
    pushes = {push["push_id"]: push for push in read_table(folder, "client_pushes")}
    assert set(pushes) == {f"push-{number}" for number in CODECS}
    assert {push["decode_status"] for push in pushes.values()} == {"ok"}
    points = sum(push["point_count"] for push in read_table(folder, "client_pushes"))
    assert len(read_table(folder, "client_metrics")) == points > 0
    assert read_table(folder, "quarantine") == []


@pytest.mark.long
def test_the_job_brings_its_packages_to_a_cluster(kafka, cluster, folders, tmp_path):
    words = ["--master", cluster, "--executor-cores", "1", "--executor-memory", "700m"]
    for one in ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1"):
        words += ["--conf", one]
    done = run_job(kafka.bootstrap_servers, tmp_path, words)
    assert done.returncode == 0, done.stderr
    check_tables(tmp_path)
    assert all([*folder.glob("app-*/*/stderr")] for folder in folders)


@pytest.mark.long
def test_the_job_has_executors_as_the_chart_asks_kubernetes_for_them(kafka, tmp_path):
    manifests = read_manifests("executors")[1]
    (settings,) = [one for one in manifests if one["kind"] == "ConfigMap"]
    template = tmp_path / "executor.yaml"
    template.write_text(settings["data"]["executor.yaml"])
    (jobs,) = [
        one
        for one in manifests
        if one["kind"] == "Deployment" and one["metadata"]["name"].endswith("-jobs")
    ]
    _, words = parse_told(jobs["spec"]["template"]["spec"]["containers"][0]["args"])
    (tmp_path / "pods").mkdir()
    with running_api(tmp_path / "pods") as (address, pods):
        told = {
            "https://kubernetes.default.svc": address,
            "/etc/kafka-clientele/settings/executor.yaml": str(template),
            "$(POD_NAMESPACE)": "kafka",
            "$(POD_NAME)": DRIVER,
            "$(POD_IP)": "127.0.0.1",
        }
        for before, after in told.items():
            words = [word.replace(before, after) for word in words]
        # Of this machine, and without the stream of what became of pods.
        words += ["--conf", "spark.executor.instances=1"]
        words += ["--conf", "spark.executor.memory=1g"]
        words += ["--conf", "spark.kubernetes.executor.enableApiWatcher=false"]
        words += ["--conf", "spark.kubernetes.executor.apiPollingInterval=1s"]
        done = run_job(kafka.bootstrap_servers, tmp_path, words)
        assert done.returncode == 0, done.stderr + pods.read_logs()
        assert pods.made
    check_tables(tmp_path)
