"""Ten thousand secrets go in; none comes out, of the bridge's rules or of the kernel."""

import random

import pyarrow as pa
import pytest

from pipelines.bridge.protocol.push_config import ClientConfig, write_push_config
from pipelines.bridge.push_config.rules import describe_violations, judge_configs
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from tests.support.clients.config_canaries import (
    ALLOWED_KEYS,
    ORDINARY,
    SPELLINGS,
    find_canaries,
    list_sensitive_keys,
    make_canary_pushes,
)
from tests.support.config_chain import judge_pushes, resolve_pushes
from tests.unit.udfs.sensitive.secrets_in_values import SECRETS, write_secret
from udfs.sensitive.redacted_keys import write_redactions
from udfs.sensitive.sensitive_key_columns import judge_entries
from udfs.sensitive.sensitive_key_rules import ALLOW, CONFIG_TYPE_NAMES, REDACT
from udfs.sensitive.typed_values import PLAIN_TYPES

CANARIES = 10_000
SEED = 20_261_121
RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
PUSHES = list(make_canary_pushes(CANARIES, SEED))
SOFTWARE = ("apache-kafka-java", "librdkafka", "franz-go", "")


def test_ten_thousand_different_canaries_are_planted_in_every_place():
    bodies = b"".join(write_push_config(push) for push in PUSHES)
    assert len(find_canaries(bodies, CANARIES)) >= CANARIES
    used = {entry.config_key for push in PUSHES for entry in push}
    assert len(list_sensitive_keys()) > 100
    assert {
        spell(key) for key in list_sensitive_keys() for spell in SPELLINGS[:8]
    } <= used
    in_allowed = {
        entry.config_value.partition("9")[0]
        for push in PUSHES
        for entry in push
        if entry.config_key in ALLOWED_KEYS
    }
    assert len(in_allowed) >= len({form.partition("{")[0] for _, form in SECRETS}) - 5


@pytest.mark.parametrize("software_name", SOFTWARE)
def test_no_canary_passes_the_bridge(software_name):
    out, ordinary = [], 0
    for push in PUSHES:
        judged = judge_configs(
            push, software_name=software_name, rules=RULES, first_config_type_id=0
        )
        out += [
            write_push_config(judged.stored),
            write_push_config(judged.allowed),
            write_redactions(judged.violations),
            describe_violations(judged.violations, "was not stored").encode(),
            repr(judged).encode(),
        ]
        ordinary += ORDINARY.encode() in out[-5]
    assert find_canaries(b"\n".join(out), CANARIES) == set()
    assert ordinary == len(PUSHES)


@pytest.mark.parametrize("software_name", SOFTWARE)
def test_no_canary_passes_the_kernel_that_reads_the_topic(software_name):
    """The topic may hold what an older set of rules let through."""
    bodies = [write_push_config(push) for push in PUSHES]
    context = software_name, "4.3.1", "producer", ""
    judged = judge_pushes(bodies, context, RULES)
    decoded = judged.append_column("resolved", resolve_pushes(judged, context, RULES))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, decoded.schema) as writer:
        writer.write_batch(decoded)
    written = sink.getvalue().to_pybytes()
    assert find_canaries(written, CANARIES) == set()
    assert find_canaries(repr(decoded.to_pylist()).encode(), CANARIES) == set()
    values = decoded["configs"].flatten().field("config_value").to_pylist()
    assert values.count(ORDINARY) == len(PUSHES)


TYPED_CANARIES = 100_000


def test_no_canary_under_unknown_key_passes_with_any_type():
    """Neither as STRING or LIST, nor with a type that the secret is not of."""
    dice = random.Random(SEED)  # noqa: S311 - no secrets
    names = [f"{word}.{place}" for place in range(8) for word in ("kgo", "Net", "acme")]
    forms = ["s{n}e", "{n}e", "0x{n}", "{n},{n}"] * 9
    forms += dice.sample([form for _, form in SECRETS], 4)
    types = list(CONFIG_TYPE_NAMES)
    numbers = [one for one in types if one in PLAIN_TYPES]
    entries = [
        (
            dice.choice(names),
            write_secret(forms[number % len(forms)], number),
            dice.choice(types),
            dice.choice(["sarama", "kgo", "kafkajs", "apache-kafka-java", ""]),
        )
        for number in range(TYPED_CANARIES)
    ]
    ordinary = [(name, "5", one, "kgo") for name in names for one in numbers[1:]]
    columns = zip(*entries, *ordinary, strict=True)
    verdicts = judge_entries(*(pa.array(one, pa.string()) for one in columns), RULES)
    actions = verdicts.field("action").to_pylist()
    assert actions == [REDACT] * len(entries) + [ALLOW] * len(ordinary)
    for start in range(0, len(entries), 1_000):
        pushed = [
            ClientConfig(key, value, CONFIG_TYPE_NAMES.index(type_name), False)
            for key, value, type_name, _ in entries[start : start + 100]
        ]
        judged = judge_configs(
            pushed, software_name="kgo", rules=RULES, first_config_type_id=0
        )
        assert judged.allowed == ()
