"""Prints the cost of commits by Delta Kernel: appends of files, and new rows of a state.

`python tests/bench/table_commits.py [--rounds N] [--rows N] [--table DIRECTORY]`
appends 1, 50 and 1,000 stored files in one commit each, and looks 10 new keys up in
client_configs with --rows rows and commits them. CPU-seconds are those of the driver
and the JVM; the first round warms up. It never fails on a number.
"""

import argparse
import os
import statistics
import sys
import tempfile
from dataclasses import replace
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.delta_tables.files_writer import append_files  # noqa: E402 - path
from pipelines.delta_tables.states import StateTable  # noqa: E402 - path
from pipelines.delta_tables.transactions import Transaction  # noqa: E402 - path
from pipelines.tables.configs import CLIENT_CONFIGS  # noqa: E402 - path
from pipelines.tables.contract import create_statement  # noqa: E402 - path
from tests.bench.config_table import make_rows, make_table  # noqa: E402 - path
from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.spark.test_table_files import CONTRACT, NOON, make_file, stored  # noqa: E402 - path
from tests.support.spark.local_session import start_session  # noqa: E402 - path

FILE_COUNTS = (1, 50, 1_000)
NEW_KEYS = 10


def append(spark, table, count, number):
    """Append some files; return CPU-seconds of the commit."""
    made = make_file((number, "a", 0.5, NOON), day=date(2026, 3, 1))
    files = [stored(replace(made), table) for _ in range(count)]
    before = cpu_seconds(os.getpid())
    named = Transaction(query_id="bench", batch_id=number)
    append_files(spark, CONTRACT, f"file:{table}", files, named)
    return cpu_seconds(os.getpid()) - before


def commit_new_keys(spark, path, rows, number):
    """Look new keys up and commit them; return CPU-seconds of both."""
    first = rows + number * NEW_KEYS
    state = open_state(spark, path, number)
    new = make_rows(first, first + NEW_KEYS)
    new = state.make_rows(new.to_pylist())
    before = cpu_seconds(os.getpid())
    state = open_state(spark, path, number)
    assert state.find(new.select(["client_instance_id"])).num_rows == 0
    assert state.commit(new)
    return cpu_seconds(os.getpid()) - before


def open_state(spark, path, number):
    """Open client_configs."""
    named = Transaction(query_id="bench", batch_id=number)
    table, observed = f"delta.`{path}`", lambda *_: tempfile.TemporaryDirectory()
    return StateTable(
        spark, CLIENT_CONFIGS, table, named, observed, location=f"file:{path}"
    )


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--table", help="directory; created if missing, and kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(f"{folder}/warehouse")
        for count in FILE_COUNTS:
            table = f"{folder}/{count}/things"
            spark.sql(create_statement(CONTRACT, f"delta.`{table}`"))
            costs = [append(spark, table, count, n) for n in range(given.rounds + 1)]
            print(f"append of {count:5,} files: {describe(costs[1:])} CPU-s")
        path = given.table or f"{folder}/client_configs"
        if not Path(path).exists():
            make_table(spark, path, given.rows)
        costs = [
            commit_new_keys(spark, path, given.rows, n) for n in range(given.rounds + 1)
        ]
        spark.stop()
    print(
        f"{NEW_KEYS} new keys in {given.rows:,} rows: {describe(costs[1:])} CPU-s, "
        f"first {costs[0]:.2f}"
    )


def describe(numbers):
    """Return median and range."""
    median = statistics.median(numbers)
    return f"{median:.2f} ({min(numbers):.2f} to {max(numbers):.2f})"


if __name__ == "__main__":
    main()
