"""By whose rules a row of history is judged."""

from pipelines.jobs.purge.steps.history import with_history_entries

HISTORY = (
    "logical_client STRING, config_key STRING, value_id STRING, valid_from INT, "
    "config_value STRING, config_type STRING, is_default BOOLEAN, "
    "client_instance_ids ARRAY<STRING>"
)
EVERY = ["java", "python"]


def judge(spark, software):
    """Return {value_id: software by which its row is judged}."""
    rows = [
        ("app", "a", value_id, 0, "x", "INT", False, instances)
        for value_id, instances in (
            ("before", ["i1"]),
            ("after", ["i2"]),
            ("both", ["i1", "i2"]),
            ("forgotten", ["i0"]),
        )
    ]
    history = spark.createDataFrame(rows, HISTORY)
    names = "client_instance_id STRING, client_software_name STRING"
    known = spark.createDataFrame(software, names)
    found = {}
    for row in with_history_entries(history, known, EVERY).collect():
        found.setdefault(row["value_id"], set()).add(row["client_software_name"])
    return found


def test_a_row_is_judged_as_the_software_of_those_who_held_the_value(spark):
    """The client has moved from one library to the other."""
    software = [("i1", "python"), ("i2", "java")]
    assert judge(spark, software) == {
        "before": {"python"},
        "after": {"java"},
        "both": {"java", "python"},
        "forgotten": set(EVERY),
    }
