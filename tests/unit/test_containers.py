"""Container files and compose files name what there is, and let nobody be root."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from pipelines.bridge.proxy.rules.plan import plan_proxy
from pipelines.settings import CONF_PATH, load_settings
from tests.support.deployments import (
    COMPOSE,
    CONTAINERS,
    DOCKERFILES,
    OWN_CLUSTER,
    ROOT,
    check_compose,
    load_told_settings,
    parse_told,
    read_compose,
    read_dockerfile,
)
from tests.support.documents import find_block

MODULES = """
import json, sys
import pipelines.__main__, pipelines.commands.bridge, pipelines.bridge.server, pipelines.bridge.operations.logs
tops = {name.partition(".")[0] for name in sys.modules}
from importlib.metadata import packages_distributions
print(json.dumps(sorted({d for t, ds in packages_distributions().items() if t in tops for d in ds})))
"""
NOT_NEEDED = {
    "crc32c": "comes with kio",
    "typing-extensions": "comes with kio",
    "hypothesis": "imported by kio where it is installed, which is for tests",
    "sortedcontainers": "comes with hypothesis",
    "tzdata": "imported by hypothesis",
    "setuptools": "hooks itself into every start of Python",
}
"""Imported beside what the container installs, and why that does not matter."""
ENVIRON = {
    "CLIENTELE_BOOTSTRAP_SERVERS": "kafka-1:9093,kafka-2:9093",
    "CLIENTELE_USER": "clientele",
    "CLIENTELE_PASSWORD_FILE": "password",
    "CLIENTELE_PLAINTEXT_SASL": "true",
}
OURS = ("bridge", "jobs")
BRIDGE, JOBS = (CONTAINERS / f"{name}.Dockerfile" for name in OURS)
PAGES = {"bridge": ("bridge", "http_port"), "jobs": ("watching", "jobs_http_port")}
"""Section and key of the port of each container's pages."""
each_file = pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.stem)
each_service = pytest.mark.parametrize("name", OURS)


def normal(name):
    return name.lower().replace("_", "-")


def find_page_port(name):
    section, key = PAGES[name]
    return getattr(getattr(load_settings("container"), section), key)


@each_file
def test_a_container_file_is_one_that_hadolint_has_nothing_against(path):
    linter = shutil.which("hadolint", path=Path(sys.executable).parent)
    done = subprocess.run([linter, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@each_file
def test_a_container_runs_as_nobody_who_matters_and_starts_a_command(path):
    steps = read_dockerfile(path)
    last = dict(steps)
    assert last["USER"] == "10001:10001"
    started = [step for step, _ in steps].index("USER")
    assert "COPY" not in [step for step, _ in steps[started:]]
    arguments, _ = parse_told(json.loads(last["CMD"]))
    assert arguments.env == "container"
    assert last["STOPSIGNAL"] == "SIGTERM"
    entry = json.loads(last["ENTRYPOINT"])
    assert entry in (["python3", "-m", "pipelines"], ["./spark-submit.sh"])


@each_file
def test_a_container_copies_what_exists(path):
    copied = [text.split() for step, text in read_dockerfile(path) if step == "COPY"]
    assert ["pipelines", "pipelines"] in copied
    for *sources, _ in copied:
        assert all((ROOT / source).exists() for source in sources)


@pytest.mark.parametrize("name", PAGES)
def test_a_container_is_asked_at_the_port_of_its_pages(name):
    steps = dict(read_dockerfile(CONTAINERS / f"{name}.Dockerfile"))
    section, key = PAGES[name]
    variable = f"KAFKA_CLIENTELE_{section}__{key}".upper()
    assert f"'{variable}', '{find_page_port(name)}'" in steps["HEALTHCHECK"]
    assert str(find_page_port(name)) in steps["EXPOSE"].split()


def test_the_bridge_is_healthy_when_it_is_ready():
    assert "'/readyz'" in dict(read_dockerfile(BRIDGE))["HEALTHCHECK"]
    listener = load_settings("container").bridge.listen_port
    assert str(listener) in dict(read_dockerfile(BRIDGE))["EXPOSE"].split()


def test_the_bridges_container_installs_what_it_imports_and_no_spark():
    done = subprocess.run(
        [sys.executable, "-c", MODULES],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    imported = {normal(name) for name in json.loads(done.stdout)}
    (install,) = [t for step, t in read_dockerfile(BRIDGE) if "pip install" in t]
    installed = {
        normal(word) for word in install.split("&&")[0].split() if word[0] not in "-/"
    }
    assert imported - installed <= NOT_NEEDED.keys()
    assert "pyspark" not in imported


@pytest.mark.parametrize("path", [COMPOSE, OWN_CLUSTER], ids=lambda path: path.stem)
def test_a_compose_file_is_one_by_the_specification(path):
    document = yaml.safe_load(path.read_text())
    check_compose(document)
    document["services"]["bridge"]["comand"] = ["bridge"]
    with pytest.raises(jsonschema.ValidationError, match="comand"):
        check_compose(document)


@pytest.mark.parametrize("files", [(COMPOSE,), (COMPOSE, OWN_CLUSTER)], ids=len)
@each_service
def test_a_service_starts_a_command_with_settings_that_are_there(name, files):
    service = read_compose(*files, environ=ENVIRON)[name]
    settings = load_told_settings(service["command"], service["environment"])
    assert settings.proxy.enabled
    plan_proxy(settings)
    assert (
        service["build"]["dockerfile"]
        == f"docs/operations/containers/{name}.Dockerfile"
    )
    assert (CONTAINERS / service["build"]["context"]).resolve() == ROOT
    reference = str(settings.kafka.sasl_password or "")
    declared = yaml.safe_load(files[-1].read_text()).get("secrets", {})
    assert reference == "".join(f"file:/run/secrets/{one}" for one in declared)
    assert list(declared) == service.get("secrets", [])


def test_ports_that_are_published_are_those_of_the_bridge_and_on_loopback():
    services = read_compose(COMPOSE)
    bridge = services["bridge"]
    settings = load_told_settings(bridge["command"], bridge["environment"])
    published = set()
    for one in services.values():
        for port in one.get("ports", ()):
            address, outside, inside = port.rsplit(":", 2)
            assert address in ("127.0.0.1", "${CLIENTELE_ADDRESS:-127.0.0.1}")
            assert outside == inside
            first, _, last = inside.partition("-")
            published |= set(range(int(first), int(last or first) + 1))
    node_id = int(services["kafka"]["environment"]["KAFKA_NODE_ID"])
    plan = plan_proxy(settings)
    wanted = {settings.bridge.listen_port, plan.base_port, plan.port_of(node_id)}
    assert wanted <= published
    # Pages know no passwords.
    assert not {find_page_port(name) for name in PAGES} & published


def test_what_is_mounted_is_there_and_what_is_named_is_declared():
    document = yaml.safe_load(COMPOSE.read_text())
    for service in document["services"].values():
        for volume in service.get("volumes", ()):
            source, _, _ = volume.partition(":")
            if source.startswith("."):
                assert (CONTAINERS / source).exists(), source
            else:
                assert source in document["volumes"]
        assert service.get("depends_on", {}).keys() <= document["services"].keys()
    assert all("privileged" not in one for one in document["services"].values())


def test_kafka_of_the_compose_file_is_told_what_it_knows():
    listed = (CONF_PATH / "broker_configs/kafka-4.3.1.csv").read_text().splitlines()
    known = {line.partition(",")[0] for line in listed}
    told = read_compose(COMPOSE)["kafka"]["environment"]
    names = [key.removeprefix("KAFKA_").lower().replace("_", ".") for key in told]
    assert [name for name in names if name not in known] == []


def test_prometheus_scrapes_services_at_their_pages_and_reads_the_rules():
    config = yaml.safe_load((CONTAINERS / "prometheus.yml").read_text())
    targets = {
        one["job_name"]: target
        for one in config["scrape_configs"]
        for static in one["static_configs"]
        for target in static["targets"]
    }
    assert targets == {
        f"kafka-clientele-{name}": f"{name}:{find_page_port(name)}" for name in PAGES
    }
    volumes = read_compose(COMPOSE)["prometheus"]["volumes"]
    (folder,) = [one for one in volumes if "/rules:" in one]
    source, target, mode = folder.split(":")
    assert (target, mode) == ("/etc/prometheus/rules", "ro")
    (rules,) = config["rule_files"]
    path = CONTAINERS / source / Path(rules).name
    assert yaml.safe_load(path.read_text())["groups"]


def test_grafana_shows_the_dashboards_of_conf_from_that_prometheus():
    grafana = read_compose(COMPOSE)["grafana"]
    mounts = dict(one.split(":")[:2] for one in grafana["volumes"])
    (provider,) = yaml.safe_load((CONTAINERS / "grafana/dashboards.yaml").read_text())[
        "providers"
    ]
    assert provider["options"]["path"] == mounts["../../../conf/grafana"]
    (source,) = yaml.safe_load((CONTAINERS / "grafana/datasources.yaml").read_text())[
        "datasources"
    ]
    assert source["url"] == "http://prometheus:9090"
    assert source["isDefault"]


@pytest.mark.parametrize(
    "block",
    [
        find_block("docs/operations/containers.md", "compose"),
        find_block("docs/operations/containers.md", "compose-ask"),
        find_block("docs/operations/containers.md", "compose-own"),
        find_block("docs/operations/containers.md", "helm"),
    ],
    ids=lambda block: block.title,
)
def test_commands_of_the_page_name_what_there_is(block):
    words = shlex.split(block.commands[-1])
    paths = [word for word in words if word.startswith("docs/")]
    assert paths
    assert all((ROOT / path).exists() for path in paths)
    services = read_compose(COMPOSE)
    if "exec" in words:
        service, program, *asked = words[words.index("exec") + 1 :]
        assert service in services
        assert program == "./spark-submit.sh"
        assert parse_told(asked)[0].env == "container"
    exported = [word for word in shlex.split(block.commands[0]) if "=" in word]
    if block.title == "compose-own":
        assert {word.partition("=")[0] for word in exported} == ENVIRON.keys()
