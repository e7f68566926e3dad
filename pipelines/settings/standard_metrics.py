"""The metrics that KIP-714 has every client deliver: conf/standard_metrics.csv."""

import re
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import InvalidSetting

from .csv_files import read_csv
from .places import CONF_PATH

FILE_NAME = "standard_metrics.csv"
_KINDS = ("gauge", "sum")
_FLAGS = {"true": True, "false": False}
_NAME = re.compile(r"[a-z][a-z0-9._]*")
_FORMS = {
    "client_type": _NAME,
    "metric": _NAME,
    "kind": re.compile("|".join(_KINDS)),
    "label": re.compile(r"[a-z_]*"),
    "is_required": re.compile("|".join(_FLAGS)),
}
"""Column to what may stand in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardMetric:
    """One metric of the proposal's tables."""

    client_type: str
    """As in the tables: producer or consumer."""
    metric: str
    kind: str
    """gauge or sum."""
    label: str | None
    """Point attribute that it has; None where there is none."""
    is_required: bool
    """Whether a client must deliver it, as we read the proposal."""


def load_standard_metrics(conf_path: Path = CONF_PATH) -> list[StandardMetric]:
    """Read the file, in its order.

    Raises: InvalidSetting, naming file and line.
    """
    found: dict[tuple[str, str], StandardMetric] = {}
    for place, row in read_csv(conf_path / FILE_NAME, _FORMS):
        one = StandardMetric(
            client_type=row["client_type"],
            metric=row["metric"],
            kind=row["kind"],
            label=row["label"] or None,
            is_required=_FLAGS[row["is_required"]],
        )
        if found.setdefault((one.client_type, one.metric), one) is not one:
            raise InvalidSetting(f"{place}: {one.metric} is there twice")
    return list(found.values())
