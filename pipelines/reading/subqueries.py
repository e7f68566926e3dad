"""SQL texts around the texts of others."""


def only_query(text: str) -> str:
    """Return SQL that runs a text only if it is a query.

    Args:
        text: From a rule file; a statement that changes something does not parse here.
    """
    return f"SELECT * FROM ({text})"


def newest_run(table: str) -> str:
    """Return SQL of the rows of the newest run in finding_runs.

    Args:
        table: Name of the table.
    """
    newest = f"SELECT run_id FROM {table} ORDER BY evaluated_at DESC LIMIT 1"
    return f"SELECT * FROM {table} WHERE run_id = ({newest})"
