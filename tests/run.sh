#!/usr/bin/env bash
# Sets up like spark-submit.sh, then every check and every test.
# `tests/run.sh unit` (or spark, integration, checks) runs one part alone,
# `tests/run.sh wide` the tests that are marked `long` (`--shard 0/12`: a twelfth of them),
# `tests/run.sh long` the proofs that take hours, and prints a table of their results.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"
./spark-submit.sh setup --with-tests
BIN="$ROOT/.venv/bin"
"$BIN/python" tests/client_jars.py

heading() { printf '\n== %s\n' "$1"; }

run_checks() {
  heading "format"
  "$BIN/python" -m ruff format --check .
  heading "lint"
  "$BIN/python" -m ruff check .
  heading "types"
  "$BIN/python" -m mypy
  heading "import contracts"
  "$BIN/lint-imports"
  if command -v shellcheck >/dev/null 2>&1; then
    heading "shellcheck"
    shellcheck spark-submit.sh tests/run.sh .ci/run
  fi
}

# Spark's workers and the tests' own child processes find the packages this way.
export PYTHONPATH="$ROOT"
export PYSPARK_PYTHON="$BIN/python"
# The JVM that writes Spark's command line lives for half a second.
export SPARK_LAUNCHER_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# What fails in one part does not hide what would fail in the next.
failed=()
run_tier() {
  heading "tests: $1"
  local name=$1
  shift
  "$BIN/python" -m pytest "$@" || failed+=("$name")
}

part=${1:-all}
case "$part" in
  all | checks | unit | spark | integration) ;;
  wide)
    "$BIN/python" tests/record_classes.py
    exec "$BIN/python" -P -m tests.long.wide_tests "${@:2}"
    ;;
  long)
    "$BIN/python" tests/record_classes.py
    exec "$BIN/python" -P -m tests.long "${@:2}"
    ;;
  *)
    printf 'usage: tests/run.sh [checks|unit|spark|integration|wide [OPTION ...]|long [PROOF ...]]\n' >&2
    exit 2
    ;;
esac
if [ "$part" = all ] || [ "$part" = checks ]; then run_checks; fi
# A file stays in one process; in the order given, so that the longest are not the last.
LANES=(--dist loadfile --no-loadscope-reorder --durations=15)
if [ "$part" != checks ] && [ "$part" != unit ]; then
  "$BIN/python" tests/record_classes.py
fi
case "$part" in
  all)
    # One driver a process serves integration and spark, whose tests often wait: for a
    # client's next push, for a broker that is ended. So there are more processes than
    # cores, and one without a driver that has the rest.
    said=$(mktemp)
    "$BIN/python" -m pytest tests/unit tests/architecture >"$said" 2>&1 &
    beside=$!
    trap 'kill "$beside" 2>/dev/null || true; rm -f "$said"' EXIT
    run_tier "integration, spark" -n 3 "${LANES[@]}" tests/integration tests/spark
    heading "tests: unit, architecture"
    wait "$beside" || failed+=("unit, architecture")
    cat "$said"
    ;;
  unit) run_tier "unit, architecture" -n 2 "${LANES[@]}" tests/unit tests/architecture ;;
  spark) run_tier "spark" -n 2 "${LANES[@]}" tests/spark ;;
  integration) run_tier "integration" -n 3 "${LANES[@]}" tests/integration ;;
esac
if [ "${#failed[@]}" -gt 0 ]; then
  heading "failed: ${failed[*]}"
  exit 1
fi
