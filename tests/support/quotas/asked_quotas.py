"""Quotas by Kafka's own Admin: lines for `AlterQuotas.java`, and its answers."""

import base64
import subprocess

from tests.support.clients.java_programs import program_command, tools_class_path
from udfs.quotas import parse_entity_path

PATIENCE_S = 300
ANSWER = "answer "


def entity_words(path):
    """Return the words of the entity of a path."""
    return " ".join(
        f"{kind}*" if name is None else f"{kind}={_encode(name)}"
        for kind, name in parse_entity_path(path).parts
    )


def try_line(path, key, value):
    """Return the line that asks what would come of a change."""
    return f"try {key} {'-' if value is None else repr(value)} {entity_words(path)}"


def component(word):
    """Return a component as it is sent, its name in Base64."""
    kind, sign, name = word.partition("=")
    return f"{kind}={_encode(name)}" if sign else word


def ask(java, servers, lines):
    """Return what a cluster answers to each line, as the program describes them."""
    command = program_command(java, tools_class_path(), "AlterQuotas")
    done = subprocess.run(
        [*command, servers],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    found = [one for one in done.stdout.splitlines() if one.startswith(ANSWER)]
    texts = [one.removeprefix(ANSWER) for one in found]
    return [
        base64.b64decode(one[1:]).decode() if one.startswith("=") else one
        for one in texts
    ]


def _encode(text):
    return base64.b64encode(text.encode()).decode()
