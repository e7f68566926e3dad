"""Random quotas mean to the kernel what they mean to a broker's own classes."""

import base64
import random
import subprocess

import pytest

from tests.support.clients.java_programs import program_command, tools_class_path
from tests.support.quotas.quota_rows import (
    batch_of,
    client_batch,
    random_clients,
    random_entities,
)
from udfs.quotas import quota_snapshot, resolve_quotas

SEED = 20_261_125
PAIRS = 300
KEY = "producer_byte_rate"
UNLIMITED = float(2**63 - 1)


def word(name):
    return "=" + base64.b64encode(name.encode()).decode()


def entity_words(row):
    user, client = row["user_name"], row["client_id"]
    return (
        "*" if row["is_default_user"] else "-" if user is None else word(user),
        "*" if row["is_default_client_id"] else "-" if client is None else word(client),
    )


@pytest.fixture(scope="module")
def cases():
    """Quotas that were set, those of them that were removed again, and a client."""
    choose = random.Random(SEED)  # noqa: S311 - no secret is made of it
    made = []
    while len(made) < PAIRS:
        rows = [row for row in random_entities(choose) if row["quota_key"] == KEY]
        if not rows:
            continue
        removed = [row for row in rows if choose.random() < 0.2]
        ((user, client_id, address),) = random_clients(choose, 1)
        if choose.random() < 0.5:
            near = choose.choice(rows)
            user, client_id = near["user_name"] or user, near["client_id"] or client_id
        made.append((rows, removed, (user, client_id, address)))
    return made


@pytest.fixture(scope="module")
def in_java(java, cases):
    lines = []
    for rows, removed, (user, client, _) in cases:
        lines.append("new")
        lines += [
            f"set {' '.join(entity_words(row))} {row['quota_value']}" for row in rows
        ]
        lines += [f"remove {' '.join(entity_words(row))}" for row in removed]
        asked = (user.removeprefix("User:"), client or "")
        lines.append(f"ask {' '.join(map(word, asked))}")
    command = program_command(java, tools_class_path(), "ResolveQuotas")
    done = subprocess.run(
        command,
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return [line for line in done.stdout.splitlines() if line.count("=") > 1]


def test_limits_and_tags_are_those_of_a_broker(cases, in_java):
    assert len(in_java) == PAIRS
    answers = []
    for rows, removed, client in cases:
        left = [row for row in rows if row not in removed]
        snapshot = quota_snapshot(batch_of(left))
        resolved = resolve_quotas(client_batch([client]), snapshot, [KEY])
        (row,) = resolved.to_pylist()
        limit = UNLIMITED if row["limit"] is None else row["limit"]
        answers.append((limit, word(row["user_tag"]), word(row["client_id_tag"])))
    expected = [(float(limit), *tags) for limit, *tags in map(str.split, in_java)]
    assert answers == expected


def test_the_cases_hold_every_level_and_removals(cases):
    levels = set()
    for rows, _, client in cases:
        snapshot = quota_snapshot(batch_of(rows))
        resolved = resolve_quotas(client_batch([client]), snapshot, [KEY])
        levels.update(resolved.column("level").to_pylist())
    assert levels == {None, *range(1, 9)}
    assert sum(bool(removed) for _, removed, _ in cases) > PAIRS / 10
