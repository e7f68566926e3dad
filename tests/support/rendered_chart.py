"""The chart as helm renders it, for values of several kinds.

`python -m tests.support.rendered_chart` renders them anew, with a helm that is on the
path; the files say of which chart they are, so that nobody forgets it.
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

from tests.support.deployments import OPERATIONS, ROOT

CHART = OPERATIONS / "chart"
RENDERED = ROOT / "tests/golden/chart"
RELEASE, NAMESPACE = "clientele", "kafka"
FORGOTTEN = "the chart has changed: python -m tests.support.rendered_chart, with helm"
CASES = {
    "plain": {"kafka": {"bootstrapServers": "kafka:9092"}},
    "secured": {
        "kafka": {
            "bootstrapServers": "kafka-1:9093,kafka-2:9093",
            "securityProtocol": "SASL_SSL",
            "saslMechanism": "SCRAM-SHA-512",
            "saslUsername": "clientele",
            "saslPasswordKey": "kafka-password",
        },
        "secretName": "clientele-secrets",
        "settings": (
            "[kafka]\n"
            'ssl_ca_location = "/etc/kafka-clientele/secrets/ca.pem"\n'
            "[proxy]\n"
            'ssl_certificate_location = "/etc/kafka-clientele/secrets/proxy.pem"\n'
            'ssl_key_location = "/etc/kafka-clientele/secrets/proxy-key.pem"\n'
            "[bridge]\n"
            'admin_principals = ["User:admin"]\n'
        ),
        "images": {
            "bridge": {"repository": "registry.example.org/bridge", "tag": "1.2.3"},
            "pullSecrets": ["registry"],
        },
        "bridge": {"replicas": 3, "nodeSelector": {"zone": "a"}},
        "proxy": {
            "advertisedHost": "kafka.example.org",
            "basePort": 9392,
            "brokers": [0, 1, 17],
            "service": {"type": "LoadBalancer", "annotations": {"pool": "kafka"}},
        },
        "jobs": {
            "commands": ["client_telemetry_to_delta", "client_configs_to_delta"],
            "volume": {"existingClaim": "tables"},
        },
        "tasks": [],
    },
    "executors": {
        "kafka": {"bootstrapServers": "kafka:9092"},
        "secretName": "clientele-secrets",
        "settings": '[tables]\nroot_path = "s3a://tables/clientele"\n',
        "images": {"pullSecrets": ["registry"]},
        "proxy": {"enabled": False},
        "jobs": {
            "executors": 3,
            "volume": {"size": ""},
            "sparkOptions": ["--packages", "org.apache.hadoop:hadoop-aws:3.5.0"],
            "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            "nodeSelector": {"pool": "spark"},
            "tolerations": [{"key": "spark", "operator": "Exists"}],
        },
    },
}
"""Values over those of the chart."""


def digest_chart(values):
    """Return what tells a chart, and values, from others."""
    files = sorted(path for path in CHART.rglob("*") if path.is_file())
    told = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for path in files:
        told.update(str(path.relative_to(CHART)).encode() + b"\0" + path.read_bytes())
    return told.hexdigest()


def render(values, helm):
    """Return what `helm template` prints."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "values.yaml")
        file.write_text(yaml.safe_dump(values))
        done = subprocess.run(
            [helm, "template", RELEASE, CHART, "--namespace", NAMESPACE, "-f", file],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_manifests(case):
    """Return (the digest of its chart, manifests) of a file of RENDERED."""
    text = (RENDERED / f"{case}.yaml").read_text()
    head, _, rendered = text.partition("\n")
    return head.removeprefix("# "), [one for one in yaml.safe_load_all(rendered) if one]


def main():
    """Render all cases into their files."""
    helm = shutil.which("helm")
    assert helm, "there is no helm on the path"
    for case, values in CASES.items():
        text = f"# {digest_chart(values)}\n{render(values, helm)}"
        (RENDERED / f"{case}.yaml").write_text(text)


if __name__ == "__main__":
    main()
