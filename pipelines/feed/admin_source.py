"""The feed by admin requests: look, compare, write what is new."""

import logging
from collections.abc import Callable

from pipelines.kafka_wire.faults import ClusterFault
from udfs.cluster.published_records import PublishedRules

from .looks import AdminLooks
from .observed import ADMIN_API, find_changes, make_wanted
from .records import LostLead
from .running import Written
from .state import WITHHELD

logger = logging.getLogger(__name__)

_MS = 1_000


class AdminSource:
    """Feeds what the brokers say when they are asked."""

    name = ADMIN_API

    def __init__(
        self,
        looks: AdminLooks,
        *,
        rules: PublishedRules,
        poll_ms: int,
        full_set_ms: int,
        tell: Callable[[bool], None],
        close: Callable[[], None],
    ) -> None:
        """Ask nothing yet.

        Args:
            tell: Called with whether the follower of subscriptions is told of them.
            close: Closes the connections of looks.
        """
        self._looks = looks
        self._rules = rules
        self._poll_ms, self._full_set_ms = poll_ms, full_set_ms
        self._tell = tell
        self._close = close
        self._last_fault = ""

    async def find_cluster(self) -> str:
        """Return the id of the cluster that answers; see FeedSource."""
        return await self._looks.find_cluster()

    async def feed(self, written: Written) -> None:
        """Look again and again; see FeedSource."""
        self._tell(True)
        try:
            await self._feed(written)
        finally:
            self._tell(False)

    def rest(self) -> None:
        """See FeedSource; the next look is at everything."""
        self._looks.forget()

    async def close(self) -> None:
        """See FeedSource."""
        self._close()

    async def _feed(self, written: Written) -> None:
        due_ms = 0
        while True:
            before = dict(self._looks.seen.looked_ms)
            now_ms = written.now_ms()
            is_set_due = now_ms >= due_ms
            try:
                is_changed = await self._looks.look(now_ms)
            except ClusterFault as fault:
                self._say(fault)
            else:
                self._say(None)
                if self._looks.cluster_id != written.cluster_id:
                    raise LostLead("another cluster answers")
                if is_changed or is_set_due:
                    await self._write(written, now_ms, before, is_set_due=is_set_due)
                if is_set_due:
                    due_ms = now_ms + self._full_set_ms
            spent_ms = written.now_ms() - now_ms
            pause_ms = max(self._poll_ms - spent_ms, 0)
            await written.topic.wait_for_loss(pause_ms / _MS)

    async def _write(
        self,
        written: Written,
        now_ms: int,
        looked_before_ms: dict[str, int],
        *,
        is_set_due: bool,
    ) -> None:
        seen, state = self._looks.seen, written.state
        changes = find_changes(
            make_wanted(seen, state, self._rules),
            seen,
            state,
            cluster_id=written.cluster_id,
            now_ms=now_ms,
            looked_before_ms=looked_before_ms,
        )
        written.counters.withheld_values += sum(
            one.number(WITHHELD) or 0 for one in changes
        )
        if not is_set_due:
            await written.write(changes)
            return
        said = state.copy()
        for one in changes:
            said.take(one)
        # Where the topic holds no set, this one says it all.
        first = changes if state.is_whole else ()
        await written.write_full_set(self.name, seen.covers(), said, changes=first)

    def _say(self, fault: ClusterFault | None) -> None:
        text = "" if fault is None else str(fault)
        if text and text != self._last_fault:
            logger.warning("the feed of the cluster waits: %s", text)
        elif self._last_fault and not text:
            logger.info("the feed of the cluster goes on")
        self._last_fault = text
