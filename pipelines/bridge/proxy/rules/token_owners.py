"""Owners of delegation tokens: a client names its token, and the cluster knows whose.

Strategy: the cluster is asked for all tokens that it lets the bridge see, when a token
comes that is not known, at most once in a while however many clients log in. Kept are
the id and the owner of each, never what proves a token.
Source: KIP-48; Kafka, DescribeDelegationTokenResponse.json.
"""

from collections.abc import Callable, Mapping
from functools import partial

from kio.schema.describe_delegation_token.v3.request import (
    DescribeDelegationTokenRequest,
)
from kio.schema.describe_delegation_token.v3.response import (
    DescribeDelegationTokenResponse,
)
from kio.schema.errors import ErrorCode
from kio.static.protocol import Payload

from pipelines.bridge.security.principal_names import is_principal_name
from pipelines.kafka_wire.faults import ClusterFault

PAUSE_S = 1.0
"""Between two questions to the cluster."""
Answer = Payload | ClusterFault
Ask = Callable[[Payload, Callable[[Answer], None]], None]
"""Sends a request, and gives its answer or why there is none to a function, later."""
Tell = Callable[[str | None], None]
"""Takes the principal that owns a token; None where the cluster does not say."""


class TokenOwners:
    """What one bridge knows of the tokens of its cluster."""

    __slots__ = (
        "_ask",
        "_call_later",
        "_is_busy",
        "_note",
        "_noted",
        "_owners",
        "_waiting",
    )

    def __init__(
        self,
        ask: Ask,
        call_later: Callable[[float, Callable[[], None]], object],
        note: Callable[[str], None],
    ) -> None:
        """Know nothing, and ask nothing yet.

        Args:
            ask: Asks the cluster.
            call_later: Calls something after so many seconds.
            note: Takes the reason why an owner is not known, each new one once.
        """
        self._ask = ask
        self._call_later = call_later
        self._note = note
        self._noted = ""
        self._owners: Mapping[str, str] = {}
        self._waiting: list[tuple[str, Tell]] = []
        self._is_busy = False

    def find(self, token_id: str, tell: Tell) -> None:
        """Tell who owns a token, at once where that is known."""
        owner = self._owners.get(token_id)
        if owner is not None:
            tell(owner)
            return
        self._waiting.append((token_id, tell))
        if not self._is_busy:
            self._ask_now()

    def _ask_now(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._is_busy = bool(waiting)
        if waiting:
            every = DescribeDelegationTokenRequest(owners=None)
            self._ask(every, partial(self._take, waiting))

    def _take(self, waiting: list[tuple[str, Tell]], answer: Answer) -> None:
        self._call_later(PAUSE_S, self._ask_now)
        reason = self._read(answer)
        if not reason and any(one not in self._owners for one, _ in waiting):
            reason = "the cluster does not show the token to the user of the bridge"
        if reason and reason != self._noted:
            self._noted = reason
            self._note(reason)
        for token_id, tell in waiting:
            tell(self._owners.get(token_id))

    def _read(self, answer: Answer) -> str:
        """Take the owners from an answer; return why there are none, or nothing."""
        if not isinstance(answer, DescribeDelegationTokenResponse):
            return str(answer)
        if answer.error_code is not ErrorCode.none:
            return f"the cluster answers {answer.error_code.name}"
        self._owners = {
            one.token_id: f"{one.principal_type}:{one.principal_name}"
            for one in answer.tokens
            if is_principal_name(one.principal_name)
        }
        return ""
