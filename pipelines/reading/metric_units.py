"""Units of clients' metrics, which Kafka's clients leave out of their pushes.

The first rule that matches a name decides. Source: the descriptions of the metrics in
Kafka's documentation, "Monitoring", and KIP-714; librdkafka's of the same names have
the same units.
"""

import re

NUMBER = "number"
"""Of what has no unit: a count, or nobody knows."""
_RULES = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"ratio(\.|$)|compression\.rate", "ratio, 0 to 1"),
        (r"rate\.per\.hour", "1/h"),
        (r"bytes?(\.\w+)*\.rate$", "bytes/s"),
        (r"\.rate$", "1/s"),
        (r"\.ns(\.|$)|iotime\.total$|waittime\.total$", "ns"),
        (r"seconds\.ago$", "s"),
        (r"metadata\.age$", "s"),
        (r"latency|\.time(\.(avg|max|min|total))?$|between\.poll|\.ms$", "ms"),
        (r"byte|size", "bytes"),
        (r"lag|lead|records\.per\.request", "records"),
        (r"partitions$", "partitions"),
    )
)


def unit_of(metric: str, kind: str, unit: str | None = None) -> str:
    """Return the unit of a metric's values.

    Args:
        metric: Its name.
        kind: gauge, sum and so on; of a sum the unit is that of its growth in a second.
        unit: What the push says, which counts where it says something.
    """
    found = unit or next(
        (one for pattern, one in _RULES if pattern.search(metric)), NUMBER
    )
    if kind != "sum":
        return found
    return "1/s" if found == NUMBER else f"{found}/s"


def short_name(metric: str) -> str:
    """Return a metric's name without what all of Kafka's have."""
    return metric.removeprefix("org.apache.kafka.")
