"""The tables that the job makes of a feed's topic, beside what was altered."""

from tests.support.jobs.given_calls import run_line
from tests.support.spark.local_session import start_session

JOB = "./spark-submit.sh cluster_metadata_to_delta --once"
HISTORIES = (
    """SELECT concat_ws('/', 'ClientQuota', entity_path, quota_key) AS key,
      quota_value AS value, is_current, `offset`
    FROM delta.`{0}/tables/client_quotas`""",
    """SELECT concat_ws('/', 'Config', CASE resource_type WHEN 'broker' THEN 'brokers'
        ELSE 'groups' END, resource_name, config_name) AS key,
      config_value AS value, is_current, `offset`
    FROM delta.`{0}/tables/resource_configs` WHERE resource_type IN ('broker', 'group')""",
    """SELECT concat_ws('/', 'Config', 'client-metrics', name, 'interval.ms') AS key,
      string(interval_ms) AS value, is_current, `offset`
    FROM delta.`{0}/tables/client_metrics_subscriptions`""",
)
"""Key of the topic, value, whether it is so now, and where it is told: of each table."""


def check_tables(kafka, topic, folder, done, said):
    """Let the job read the topic, and compare its tables; return faults in words."""
    spark = start_session(folder / "warehouse")
    run_line(
        spark,
        JOB,
        f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
        f"topics.cluster={topic}",
        f"tables.root_path={folder}/tables",
        f"cluster_metadata_to_delta.checkpoint_location={folder}/checkpoint",
    )
    rows = [row for sql in HISTORIES for row in spark.sql(sql.format(folder)).collect()]
    spark.stop()
    ours = {key for key, _ in done}
    now = {row["key"]: row["value"] for row in rows if row["is_current"]}
    faults = []
    if {key: one for key, one in now.items() if key in ours or key in said} != said:
        faults.append(f"{len(now)} current rows, {len(said)} are so in the cluster")
    history = {key: [one for of, one in done if of == key and one] for key in ours}
    told = {key: [] for key in ours}
    for row in sorted(rows, key=lambda row: row["offset"]):
        told.setdefault(row["key"], []).append(row["value"])
    other = [key for key in ours if told[key] != history[key]]
    if other:
        faults.append(f"another history of {len(other)} keys, as of {other[0]}")
    print(f"{len(rows)} rows of history, {len(now)} of them current")
    return faults
