"""What a real cluster refuses, describes, and applies, beside what the kernel says."""

from tests.support.quotas.asked_quotas import ask, component, entity_words, try_line
from tests.support.quotas.quota_rows import entity_batch
from tests.unit.udfs.quotas.test_alterations import REFUSED, TAKEN
from udfs.quotas import write_entity_paths

PRODUCE = "producer_byte_rate"
LIMIT = 40_961  # no other test's, since the broker is all tests'
DESCRIBED = (
    "users/u1/clients/c1",
    "users/u2/clients/c1",
    "users/u3/clients/c2",
    "users/<default>/clients/c1",
    "users/u1/clients/<default>",
    "users/u3/clients/<default>",
    "users/u1",
    "users/u2",
    "users/u3",
    "users/<default>",
    "clients/c2",
    "ips/10.0.0.1",
    "ips/<default>",
)
COUNTS = (
    ("loose user=u1", 3),
    ("loose client-id=c2", 2),
    ("loose user*", 2),
    ("strict user=u2", 1),
    ("strict client-id=c1", 0),
    ("strict user?", 4),
    ("loose user?", 10),
    ("strict client-id?", 1),
    ("loose client-id?", 7),
    ("loose ip?", 2),
    ("loose", 13),
    ("strict", 0),
)


def test_changes_are_refused_and_taken_as_the_kernel_says(java, kafka):
    cases = [*REFUSED, *((*one, "taken") for one in TAKEN)]
    lines = [try_line(path, key, value) for path, key, value, _ in cases]
    assert ask(java, kafka.bootstrap_servers, lines) == [text for *_, text in cases]


def test_entities_are_described_by_the_counts_that_kafka_tests(java, kafka):
    keys = {
        path: "connection_creation_rate" if path.startswith("ips") else PRODUCE
        for path in DESCRIBED
    }
    changes = [f"{key} {LIMIT} {entity_words(path)}" for path, key in keys.items()]
    removals = [f"set {key} - {entity_words(path)}" for path, key in keys.items()]
    asked = [
        " ".join(["count", kind, str(LIMIT), *map(component, words)])
        for kind, *words in (text.split() for text, _ in COUNTS)
    ]
    try:
        said = ask(
            java, kafka.bootstrap_servers, [*(f"set {one}" for one in changes), *asked]
        )
    finally:
        ask(java, kafka.bootstrap_servers, removals)
    assert said[: len(changes)] == ["taken"] * len(changes)
    assert [int(one) for one in said[len(changes) :]] == [count for _, count in COUNTS]
    rows = entity_batch((path, {key: LIMIT}) for path, key in keys.items())
    assert write_entity_paths(rows).to_pylist() == [*DESCRIBED]
