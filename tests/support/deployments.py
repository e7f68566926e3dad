"""What docs/operations/ deploys: container files, the compose file, the chart."""

import functools
import json
import re

import jsonschema
import yaml

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.submit.spark_words import split_arguments
from pipelines.settings import CONF_PATH, load_settings

ROOT = CONF_PATH.parent
OPERATIONS = ROOT / "docs/operations"
CONTAINERS = OPERATIONS / "containers"
COMPOSE = CONTAINERS / "compose.yaml"
OWN_CLUSTER = CONTAINERS / "own-cluster.yaml"
DOCKERFILES = sorted(CONTAINERS.glob("*.Dockerfile"))
SCHEMAS = ROOT / "tests/golden/schemas"
VARIABLE = "KAFKA_CLIENTELE_"
_INTERPOLATED = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def read_dockerfile(path):
    """Return (instruction, its text) with continued lines joined."""
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line]


def interpolate(value, environ):
    """Return a value of a compose file as compose reads it."""

    def fill(found):
        name, kind, text = found.groups()
        if name in environ:
            return environ[name]
        assert kind == "-", f"{name} has no default: {text}"
        return text

    return _INTERPOLATED.sub(fill, value) if isinstance(value, str) else value


def read_compose(*paths, environ=None):
    """Return services of compose files, later ones over earlier, as compose does."""
    services = {}
    for path in paths:
        for name, one in yaml.safe_load(path.read_text())["services"].items():
            there = services.setdefault(name, {})
            for key, value in one.items():
                is_map = isinstance(value, dict) and key in there
                there[key] = {**there[key], **value} if is_map else value
    return {
        name: one
        | {
            key: {k: interpolate(v, environ or {}) for k, v in one[key].items()}
            for key in ("environment",)
            if key in one
        }
        for name, one in services.items()
    }


def parse_told(words):
    """Return (arguments, spark-submit's own words) of what a container is told."""
    name, *more = words
    assert name in COMMANDS_BY_NAME, f"there is no command {name}"
    own, spark = split_arguments(more, COMMANDS_BY_NAME[name].own_options)
    assert not spark or COMMANDS_BY_NAME[name].takes_spark_options
    return parse_words([name, *own]), spark


def load_told_settings(words, variables, own_file=None):
    """Return the settings of a container, by what it is started with.

    Args:
        words: The command and its options.
        variables: Its environment; what is no variable of ours is left out.
        own_file: What stands in the container at the path of --config.
    """
    arguments, _ = parse_told(words)
    assert (arguments.config is None) == (own_file is None)
    told = {k: str(v) for k, v in variables.items() if k.startswith(VARIABLE)}
    return load_settings(arguments.env, arguments.set, own_file=own_file, environ=told)


def check_compose(document):
    """Hold a compose file against the schema of the specification."""
    schema = json.loads((SCHEMAS / "compose-spec.json").read_text())
    jsonschema.Draft7Validator(schema).validate(document)


@functools.cache
def _make_validator(kind):
    schema = json.loads((SCHEMAS / "kubernetes-1.37.0.json").read_text())
    one = schema.pop("kinds")[kind]
    return jsonschema.Draft202012Validator(schema | {"$ref": f"#/$defs/{one}"})


def check_manifest(manifest):
    """Hold a manifest against the schema of its kind; unknown fields are faults."""
    _make_validator(manifest["kind"]).validate(manifest)
