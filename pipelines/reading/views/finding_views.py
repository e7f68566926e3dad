"""`open_findings`: the open findings of client_findings, the most severe first."""

from .view import View

OPEN_FINDINGS = "open_findings"
OPEN = View(
    name=OPEN_FINDINGS,
    row="A finding of `client_findings` that is open and not silenced, the most "
    "severe first.",
    sql="""
SELECT * FROM client_findings
WHERE until IS NULL
  AND (silenced_until IS NULL OR silenced_until < current_date())
ORDER BY array_position(array('error', 'warning', 'advice'), severity),
  instances DESC, since, rule, client_id
""",
    needs=("client_findings",),
    made_by="client_findings",
)
