"""Tables as Prometheus reads them; a log is not read at each scrape."""

import shutil

import pyarrow as pa
from deltalake import write_deltalake
from prometheus_client import CollectorRegistry

from pipelines.watching.table_metrics import LASTS_S, TableCollector

P = "kafka_clientele_table"


def test_tables_are_shown_as_they_were_at_most_a_minute_ago(tmp_path):
    now_s = [100.0]
    registry = CollectorRegistry()
    names = ["there", "gone", "of no job"]
    registry.register(
        TableCollector(tmp_path, names, lambda: now_s[0], lambda one: one != names[2])
    )

    def read(name, table="there"):
        return registry.get_sample_value(f"{P}_{name}", {"table": table})

    def write(rows):
        table = pa.table({"a": pa.array(range(rows), pa.int64())})
        write_deltalake(str(tmp_path / "there"), table, mode="append")

    write(3)
    assert (read("readable"), read("readable", "gone")) == (1, 0)
    assert (read("rows"), read("files"), read("version")) == (3, 1, 0)
    assert read("bytes") > 0
    assert read("last_commit_timestamp_seconds") > 1.7e9
    assert read("rows", "gone") is None
    assert read("readable", "of no job") is None
    write(2)
    now_s[0] += LASTS_S - 1
    assert read("rows") == 3
    now_s[0] += 1
    assert (read("rows"), read("files"), read("version")) == (5, 2, 1)
    shutil.rmtree(tmp_path / "there")
    now_s[0] += LASTS_S
    assert (read("readable"), read("rows")) == (0, None)
