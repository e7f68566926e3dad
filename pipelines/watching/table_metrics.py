"""Sizes of tables for Prometheus: read at a scrape, and not again for a while."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from .delta_logs import look_at_table
from .site import MS_PER_S, TableLook

PREFIX = "kafka_clientele_table"
LASTS_S = 60.0
"""A log is read no more often."""


class TableCollector(Collector):
    """Reads the logs of some tables on a disk of this machine."""

    def __init__(
        self,
        root: Path,
        names: Sequence[str],
        now_s: Callable[[], float],
        is_made: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """Read nothing yet.

        Args:
            root: Folder of the tables.
            names: Of those that are shown.
            now_s: A clock that never steps back.
            is_made: Says of a table that is not there whether it should be.
        """
        self._root, self._names, self._now_s = root, names, now_s
        self._is_made = is_made
        self._lock = Lock()
        """Of scrapes that come at once one reads."""
        self._looks: Sequence[TableLook] = ()
        self._looked_s: float | None = None

    def collect(self) -> Iterator[Metric]:
        """Return all families."""
        looks = [one for one in self._look() if one.is_there or self._is_made(one.name)]
        yield _family(
            "readable",
            "1 where the table is there and its log can be read",
            [(one.name, float(one.version is not None)) for one in looks],
        )
        for name, help_text, value_of in _FAMILIES:
            known = [(one.name, value_of(one)) for one in looks]
            yield _family(name, help_text, [(n, v) for n, v in known if v is not None])

    def _look(self) -> Sequence[TableLook]:
        with self._lock:
            now_s = self._now_s()
            if self._looked_s is None or now_s - self._looked_s >= LASTS_S:
                self._looked_s = now_s
                self._looks = [look_at_table(self._root, one) for one in self._names]
            return self._looks


def _committed_s(look: TableLook) -> float | None:
    return None if look.committed_ms is None else look.committed_ms / MS_PER_S


_FAMILIES: Sequence[tuple[str, str, Callable[[TableLook], float | None]]] = (
    ("rows", "Rows, by the statistics of the log", lambda look: look.rows),
    ("files", "Files of the newest version", lambda look: look.files),
    ("bytes", "Bytes of these files", lambda look: look.bytes),
    ("version", "Newest version", lambda look: look.version),
    ("last_commit_timestamp_seconds", "Time of the newest version", _committed_s),
)


def _family(
    name: str, help_text: str, values: Sequence[tuple[str, float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", help_text, labels=["table"])
    for table, value in values:
        family.add_metric([table], value)
    return family
