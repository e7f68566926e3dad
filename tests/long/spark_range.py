"""Run the tests of all jobs by public APIs alone, at both ends of the range of Spark.

Usage: python tests/long/spark_range.py [--only oldest shipped] [PYTEST_OPTION …]

The shipped end is this checkout. The oldest one is a clone of what is committed, whose
pins of Spark and Delta are replaced and which then sets itself up, as any checkout.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.long.wide_tests import LANES  # noqa: E402 - path

OLDEST = {
    "conf/requirements.txt": {
        "pyspark==4.2.0": "pyspark==4.0.1",
    },
    "conf/ivy.xml": {
        # Delta 4.0.0 cannot REORG … APPLY (PURGE) on Spark 4.0.1: it lacks a method.
        'name="delta-spark_4.2_2.13"': 'name="delta-spark_4.0_2.13"',
        'name="spark-sql-kafka-0-10_2.13" rev="4.2.0"': (
            'name="spark-sql-kafka-0-10_2.13" rev="4.0.1"'
        ),
    },
}
"""Pins of the oldest end, by file: what stands there, and what takes its place."""
JOBS = (
    *("spark/test_batch_slices.py", "spark/test_client_configs.py"),
    *("spark/test_client_instances.py", "spark/test_compaction.py"),
    *("spark/test_config_shuffles.py", "spark/test_failed_batches.py"),
    *("spark/test_job_starts.py", "spark/test_purge_secrets.py"),
    *("spark/test_purged_history.py", "spark/test_row_replacement.py"),
    *("spark/test_sinks.py", "spark/test_table_setup.py"),
    *("spark/test_wire_configs.py", "spark/test_writers.py"),
    *("spark/test_client_traffic.py", "spark/test_maintain_tables.py"),
    "integration/test_configs_job.py",
    *("integration/test_config_job_canaries.py", "integration/test_job_progress.py"),
    *("integration/test_job_bombs.py", "integration/test_job_instances.py"),
    *("integration/test_job_quarantine.py", "integration/test_job_restarts.py"),
    *("integration/test_job_stops.py", "integration/test_purge_secrets.py"),
    *("spark/test_cluster_job.py", "spark/test_dynamic_configs_job.py"),
    *("spark/test_effective_quotas.py", "spark/test_client_findings.py"),
    *("spark/test_quality_faults.py", "integration/test_cluster_job.py"),
    *("integration/test_migrate_tables.py", "integration/test_job_groups.py"),
    "integration/test_replay_pushes.py",
)
ENDS = ("oldest", "shipped")


def main() -> int:
    """Return 0 where all tests passed at all ends that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ENDS, default=ENDS)
    arguments, words = parser.parse_known_args()
    codes = []
    with tempfile.TemporaryDirectory(prefix="spark-range-") as scratch:
        for end in arguments.only:
            checkout = ROOT
            if end == "oldest":
                checkout = Path(scratch) / "oldest"
                prepare(checkout)
            codes.append(run_tests(checkout, words))
            print(f"{end}: pytest ended with {codes[-1]}", flush=True)
    return 1 if any(codes) else 0


def prepare(checkout: Path) -> None:
    """Clone what is committed, replace the pins, and set it up."""
    subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True)
    for name, pins in OLDEST.items():
        path = checkout / name
        text = path.read_text()
        for old, new in pins.items():
            if old not in text:
                sys.exit(f"{name} has no {old}: the pins of {__file__} are old")
            text = text.replace(old, new)
        path.write_text(text)
    setup = ["./spark-submit.sh", "setup", "--with-tests"]
    subprocess.run(setup, cwd=checkout, check=True)


def run_tests(checkout: Path, words: list[str]) -> int:
    """Run the tests of jobs that no other way of writing is named in."""
    python = checkout / ".venv" / "bin" / "python"
    environ = os.environ | {
        "PYTHONPATH": str(checkout),
        "PYSPARK_PYTHON": str(python),
        # Else what pyspark 4.0 imports for tests warns, and a warning is an error.
        "PYARROW_IGNORE_TIMEZONE": "1",
    }
    tests = [str(Path("tests") / name) for name in JOBS]
    options = ("--writer", "spark", "-k", "not files", "-m", "", *LANES)
    line = [python, "-m", "pytest", *options, *tests, *words]
    return subprocess.run(line, cwd=checkout, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
