"""Whether the bridge is ready: Kafka acknowledges, or would.

Strategy: proofs are acknowledgements of pushes and answers to a question that is
asked every few seconds. A push that was not acknowledged outweighs answers for a
while, since a broker may answer questions and yet take no records. All times come in
as arguments, from one clock that never steps back.
"""

from dataclasses import dataclass

PROOF_LASTS_S = 10.0
"""A proof is as good as that; the question is asked three times as often."""
REFUSAL_LASTS_S = 10.0
"""So long a refused push counts, unless an acknowledgement comes after it."""


@dataclass(slots=True, kw_only=True)
class KafkaSigns:
    """What has been seen of Kafka; seconds of one clock, None for never."""

    answered_s: float | None = None
    acknowledged_s: float | None = None
    refused_s: float | None = None


def why_not_ready(signs: KafkaSigns, now_s: float) -> str | None:
    """Return why pushes would not be taken now; None when they would."""
    proofs = [
        one for one in (signs.answered_s, signs.acknowledged_s) if one is not None
    ]
    if not proofs:
        return "Kafka has not answered yet"
    silent_s = now_s - max(proofs)
    if silent_s > PROOF_LASTS_S:
        return f"Kafka has not answered for {silent_s:.0f} s"
    if signs.refused_s is None or now_s - signs.refused_s > REFUSAL_LASTS_S:
        return None
    if signs.acknowledged_s is None or signs.acknowledged_s < signs.refused_s:
        return "Kafka has not acknowledged the newest pushes"
    return None
