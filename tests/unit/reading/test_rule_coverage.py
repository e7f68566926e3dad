"""How many rules could be evaluated for each kind of client, and why not the others."""

from pipelines.reading.rule_coverage import sum_up_coverage


def cell(rule, lacks, clients, family="java", client_type="producer"):
    """Return one row of select_rule_coverage."""
    return {
        "rule": rule,
        "family": family,
        "client_type": client_type,
        "lacks": lacks,
        "clients": clients,
    }


def test_sum_up_coverage_counts_rules_and_gives_the_most_frequent_reason():
    rows = [
        cell("a", "", 3),
        cell("a", "acks", 2),
        cell("b", "linger.ms", 4),
        cell("b", "pushes", 1),
        cell("c", "software", 7, "librdkafka"),
        cell("a", "", 7, "librdkafka"),
        cell("d", "pushes", 2, client_type=None),
    ]
    java, unknown, librdkafka = sorted(
        sum_up_coverage(rows), key=lambda one: (one.family, -one.clients)
    )
    assert (java.clients, java.rules, java.evaluated) == (5, 2, 1)
    assert java.not_evaluated == [("b", "no linger.ms")]
    assert (librdkafka.clients, librdkafka.evaluated) == (7, 1)
    assert librdkafka.not_evaluated == [("c", "not for this software")]
    assert unknown.client_type is None
    assert unknown.not_evaluated == [("d", "fewer than three pushes in the window")]
