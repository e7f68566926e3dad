"""Manifests of the chart: what Kubernetes takes, and what our commands take."""

import copy
import dataclasses
import json
import shutil

import jsonschema
import pytest
import yaml

from pipelines import __version__
from pipelines.bridge.proxy.rules.plan import plan_proxy
from pipelines.settings import load_settings
from pipelines.settings.stream_job_settings import StreamJobSettings
from tests.support.deployments import check_manifest, load_told_settings, parse_told
from tests.support.documents import find_block
from tests.support.rendered_chart import (
    CASES,
    CHART,
    FORGOTTEN,
    digest_chart,
    read_manifests,
    render,
)

SETTINGS = "/etc/kafka-clientele/settings"
SECRETS = "/etc/kafka-clientele/secrets"
each_case = pytest.mark.parametrize("case", CASES)


@pytest.fixture(params=CASES)
def manifests(request):
    return read_manifests(request.param)[1]


def find(manifests, kind, ending=""):
    return [
        one
        for one in manifests
        if one["kind"] == kind and one["metadata"]["name"].endswith(ending)
    ]


def sort(manifests):
    return sorted(manifests, key=lambda one: (one["kind"], one["metadata"]["name"]))


def list_pods(manifests):
    """Return the template of each pod."""
    return [
        *(one["spec"]["template"] for one in find(manifests, "Deployment")),
        *(
            one["spec"]["jobTemplate"]["spec"]["template"]
            for one in find(manifests, "CronJob")
        ),
    ]


def list_containers(manifests):
    return [c for pod in list_pods(manifests) for c in pod["spec"]["containers"]]


def read_settings(manifests, container, folder):
    """Return the settings of a container, with those of the ConfigMap."""
    (settings,) = find(manifests, "ConfigMap")
    own_file = folder / "settings.toml"
    own_file.write_text(settings["data"]["settings.toml"])
    words = container["args"]
    assert words[words.index("--config") + 1] == f"{SETTINGS}/settings.toml"
    told = {one["name"]: one.get("value", "set") for one in container["env"]}
    return load_told_settings(words, told, str(own_file))


def test_images_are_those_of_this_release():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__


@each_case
def test_what_is_stored_is_of_this_chart(case):
    digest, _ = read_manifests(case)
    assert digest == digest_chart(CASES[case]), FORGOTTEN


@each_case
def test_helm_renders_what_is_stored(case):
    helm = shutil.which("helm")
    if helm is None:
        pytest.skip(
            "this machine has no helm; what it rendered is looked at all the same"
        )
    _, stored = read_manifests(case)
    rendered = yaml.safe_load_all(render(CASES[case], helm))
    # Releases of helm differ in their order.
    assert sort([one for one in rendered if one]) == sort(stored)


def test_kubernetes_takes_every_manifest(manifests):
    names = [(one["kind"], one["metadata"]["name"]) for one in manifests]
    assert len(set(names)) == len(names)
    for one in manifests:
        check_manifest(one)
    (deployment, *_) = find(manifests, "Deployment", "-bridge")
    broken = copy.deepcopy(deployment)
    broken["spec"]["template"]["spec"]["containers"][0]["comand"] = []
    with pytest.raises(jsonschema.ValidationError, match="comand"):
        check_manifest(broken)


def test_commands_and_settings_of_every_container_are_there(manifests, tmp_path):
    for container in list_containers(manifests):
        settings = read_settings(manifests, container, tmp_path)
        servers = settings.kafka.bootstrap_servers
        assert servers.startswith("kafka")
        password = settings.kafka.sasl_password
        assert password is None or str(password).startswith(f"file:{SECRETS}/")


def test_no_container_is_root_or_becomes_it(manifests):
    for pod in list_pods(manifests):
        security = pod["spec"]["securityContext"]
        assert security["runAsNonRoot"]
        assert security["runAsUser"] == 10_001
        assert pod["spec"]["enableServiceLinks"] is False
        for container in pod["spec"]["containers"]:
            assert not container["securityContext"]["allowPrivilegeEscalation"]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_ports_of_the_bridge_are_those_of_its_settings(manifests, tmp_path):
    (bridge,) = find(manifests, "Deployment", "-bridge")
    (container,) = bridge["spec"]["template"]["spec"]["containers"]
    settings = read_settings(manifests, container, tmp_path)
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports["listener"] == settings.bridge.listen_port
    assert ports["pages"] == settings.bridge.http_port
    assert container["readinessProbe"]["httpGet"] == {
        "path": "/readyz",
        "port": "pages",
    }
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    grace = bridge["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace * 1000 >= settings.bridge.drain_timeout_ms + 5_000
    brokers = {n for n in ports if n.startswith("broker-")}
    assert bool(brokers) == settings.proxy.enabled == ("bootstrap" in ports)
    if settings.proxy.enabled:
        plan = plan_proxy(settings)
        assert ports["bootstrap"] == plan.base_port
        for name in brokers:
            assert ports[name] == plan.port_of(int(name.removeprefix("broker-")))


def test_every_broker_has_a_service_that_leads_to_its_port(manifests):
    (bridge,) = find(manifests, "Deployment", "-bridge")
    (container,) = bridge["spec"]["template"]["spec"]["containers"]
    labels = bridge["spec"]["template"]["metadata"]["labels"]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    served, single = set(), set()
    for service in find(manifests, "Service"):
        assert service["spec"]["selector"].items() <= labels.items()
        for port in service["spec"]["ports"]:
            assert ports[port["targetPort"]] == port["port"]
            served.add(port["name"])
        if len(service["spec"]["ports"]) == 1:
            single.add(service["spec"]["ports"][0]["name"])
    assert served == ports.keys() - {"pages"}
    assert single >= {name for name in ports if name.startswith("broker-")}


def test_clients_are_told_a_name_that_leads_to_all_ports(tmp_path):
    _, manifests = read_manifests("plain")
    (bridge,) = find(manifests, "Deployment", "-bridge")
    (container,) = bridge["spec"]["template"]["spec"]["containers"]
    settings = read_settings(manifests, container, tmp_path)
    (proxy,) = find(manifests, "Service", "-proxy")
    assert settings.proxy.advertised_host == f"{proxy['metadata']['name']}.kafka.svc"
    assert [one["port"] for one in proxy["spec"]["ports"]] == [9292, 9293, 9294, 9295]


def test_values_of_a_site_reach_the_containers(tmp_path):
    _, manifests = read_manifests("secured")
    (bridge,) = find(manifests, "Deployment", "-bridge")
    pod = bridge["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    settings = read_settings(manifests, container, tmp_path)
    assert settings.kafka.security_protocol == "SASL_SSL"
    assert settings.kafka.sasl_username == "clientele"
    assert settings.bridge.admin_principals == ("User:admin",)
    assert settings.proxy.advertised_host == "kafka.example.org"
    plan_proxy(settings)
    (secrets,) = [one for one in pod["volumes"] if one["name"] == "secrets"]
    assert secrets["secret"]["secretName"] == "clientele-secrets"
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounts == {"settings": SETTINGS, "secrets": SECRETS}
    assert container["image"] == "registry.example.org/bridge:1.2.3"
    (jobs,) = find(manifests, "Deployment", "-jobs")
    assert len(jobs["spec"]["template"]["spec"]["containers"]) == 2
    assert find(manifests, "PersistentVolumeClaim") == []


def test_executors_are_pods_that_the_driver_may_make():
    _, manifests = read_manifests("executors")
    (settings,) = find(manifests, "ConfigMap")
    template = yaml.safe_load(settings["data"]["executor.yaml"])
    check_manifest(template)
    (jobs,) = find(manifests, "Deployment", "-jobs")
    pod = jobs["spec"]["template"]["spec"]
    _, spark = parse_told(pod["containers"][0]["args"])
    confs = dict(
        spark[at + 1].split("=", 1) for at, word in enumerate(spark) if word == "--conf"
    )
    assert spark[spark.index("--master") + 1].startswith("k8s://")
    assert confs["spark.executor.instances"] == "3"
    assert confs["spark.kubernetes.container.image"] == pod["containers"][0]["image"]
    (executor,) = template["spec"]["containers"]
    container = confs["spark.kubernetes.executor.podTemplateContainerName"]
    assert executor["name"] == container
    told = {one["name"] for one in pod["containers"][0]["env"]}
    assert {"POD_NAME", "POD_NAMESPACE", "POD_IP"} <= told
    (account,) = find(manifests, "ServiceAccount")
    (binding,) = find(manifests, "RoleBinding")
    (role,) = find(manifests, "Role")
    assert pod["serviceAccountName"] == account["metadata"]["name"]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert "create" in role["rules"][0]["verbs"]


def test_options_variables_volumes_and_nodes_reach_jobs_tasks_and_executors():
    _, manifests = read_manifests("executors")
    given = CASES["executors"]["jobs"]
    (settings,) = find(manifests, "ConfigMap")
    executor = yaml.safe_load(settings["data"]["executor.yaml"])["spec"]
    ours = [pod["spec"] for pod in list_pods(manifests) if "-bridge" not in str(pod)]
    assert len(ours) == 2
    for pod in [executor, *ours]:
        (container,) = pod["containers"]
        assert given["env"][0] in container["env"]
        assert given["volumes"][0] in pod["volumes"]
        assert given["volumeMounts"][0] in container["volumeMounts"]
        assert pod["nodeSelector"] == given["nodeSelector"]
        assert pod["tolerations"] == given["tolerations"]
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
    for pod in ours:
        _, spark = parse_told(pod["containers"][0]["args"])
        # Of an option that is given twice the last one counts.
        assert spark[-2:] == given["sparkOptions"]
    # What variables name by their place is there for executors as well.
    (container,) = executor["containers"]
    (secrets,) = [one for one in container["volumeMounts"] if one["name"] == "secrets"]
    assert secrets["mountPath"] == SECRETS
    volumes = {one["name"] for one in executor["volumes"]}
    assert volumes == {"settings", "secrets", "scratch"}


def read_values():
    """Return (values of the chart that name a Kafka, their schema)."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    values["kafka"]["bootstrapServers"] = "kafka:9092"
    return values, json.loads((CHART / "values.schema.json").read_text())


def change(values, changes):
    """Return values with others over them, as helm merges them."""
    if not isinstance(changes, dict):
        return changes
    return values | {k: change(values.get(k, {}), v) for k, v in changes.items()}


@pytest.mark.parametrize(
    "block",
    [
        find_block("docs/operations/containers.md", "values"),
        find_block("docs/operations/containers.md", "values-object-store"),
    ],
    ids=lambda block: block.title,
)
def test_values_of_the_page_are_those_of_the_chart(block, tmp_path):
    values, schema = read_values()
    shown = yaml.safe_load(block.text)
    jsonschema.validate(change(values, shown), schema)
    mine = tmp_path / "settings.toml"
    mine.write_text(shown["settings"])
    settings = load_settings("container", own_file=str(mine), environ={})
    if "executors" in shown.get("jobs", {}):
        every = [getattr(settings, one.name) for one in dataclasses.fields(settings)]
        jobs = [one for one in every if isinstance(one, StreamJobSettings)]
        assert len(jobs) == 6
        for one in jobs:
            assert one.checkpoint_location.startswith("s3a://")


@pytest.mark.parametrize(
    "changes",
    [
        {"kafka": {"bootstrapServers": ""}},
        {"kafka": {"bootstrapServers": "kafka"}},
        {"kafka": {"bootstrapServers": "kafka:9092", "saslPassword": "secret"}},
        {"proxy": {"brokers": []}},
        {"bridge": {"replicas": 0}},
        {"jobs": {"commands": []}},
        {"jobs": {"env": ["AWS_REGION=eu-central-1"]}},
        {"tasks": [{"name": "Compact", "schedule": "@daily", "words": ["x"]}]},
    ],
    ids=str,
)
def test_values_that_cannot_be_meant_are_refused(changes):
    values, schema = read_values()
    jsonschema.validate(values, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(change(values, changes), schema)
