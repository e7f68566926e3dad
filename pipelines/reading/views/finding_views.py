"""`open_findings`: the open findings of client_findings, the most severe first."""

from .view import Sources, View

OPEN_FINDINGS = "open_findings"
_OPEN_SQL = """
SELECT * FROM client_findings
WHERE until IS NULL AND (silenced_until IS NULL OR silenced_until < date({now}))
ORDER BY array_position(array('error', 'warning', 'advice'), severity),
  instances DESC, since, rule, client_id
"""


def _query(sources: Sources) -> str:
    return _OPEN_SQL.format(now=sources.now)


OPEN = View(
    name=OPEN_FINDINGS,
    row="A finding of `client_findings` that is open and not silenced, the most "
    "severe first.",
    sql=_query,
    needs=("client_findings",),
    made_by="client_findings",
)
