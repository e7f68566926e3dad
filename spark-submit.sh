#!/usr/bin/env bash
# The one way to start anything: sets up what is missing, then runs a command.
#
#   ./spark-submit.sh demo                          everything, on this machine
#   ./spark-submit.sh client_telemetry_to_delta …   a job; takes any spark-submit option
#   ./spark-submit.sh client_configs_to_delta …     another one
#   ./spark-submit.sh --help                        all commands
#
# Variables it reads, all optional:
#   PYTHON                       the Python 3.11, 3.12 or 3.13 to build .venv with
#   JAVA_HOME                    the Java 17, 21 or 25 to use; otherwise `java` on the PATH
#   KAFKA_CLIENTELE_UMASK        who may read what is made: 077 (the default) its owner,
#                                027 the group, too
#   KAFKA_CLIENTELE_SECTION__KEY a key of the settings: docs/guide/settings.md
#   DEFAULT_ARTIFACT_REPOSITORY  a mirror of Maven's central repository
#   PIP_*                        pip's own variables (index, proxy, certificates)
#
# Works with bash 3.2 and the tools of Linux and macOS; on Windows use WSL2.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VENV="$ROOT/.venv"
CACHE="$ROOT/.cache"
JARS="$CACHE/jars"
CLASSES="$CACHE/classes"
LOG="$CACHE/setup.log"
# kB: .venv 1.3 GB, .cache 0.9 GB, and room for their temporary copies.
NEEDED_KB=3000000

fail() {
  printf 'spark-submit.sh: %s\n' "$1" >&2
  exit 1
}

say() { printf '%s\n' "$1" >&2; }

# ---------------------------------------------------------------- Python and Java

python_version() {
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

find_python() {
  # Whoever has activated .venv has its interpreter first, which a set-up removes.
  local candidate version found="" own="$VENV/bin:"
  local PATH=${PATH//"$own"/}
  if [ -n "${PYTHON:-}" ]; then
    set -- "$PYTHON"
  else
    set -- python3 python3.13 python3.12 python3.11
  fi
  for candidate in "$@"; do
    version=$(python_version "$candidate")
    case "$version" in
      3.11 | 3.12 | 3.13)
        command -v "$candidate"
        return
        ;;
      "") ;;
      *) found="$found${found:+,} $candidate, which is $version" ;;
    esac
  done
  fail "needs Python 3.11, 3.12 or 3.13 and found${found:- none}; install one, or name it: PYTHON=/path/to/python3.12"
}

# Only what starts a JVM asks for Java; everything else works without it.
starts_jvm() {
  local word
  case "${1:-}" in
    demo | kafka | jobs | client_telemetry_to_delta | client_configs_to_delta) ;;
    client_wire_configs_to_delta | client_traffic_to_delta | cluster_metadata_to_delta | replay_pushes | purge_secrets) ;;
    check_tables) ;;
    dynamic_configs_to_delta) ;;
    refresh_quotas | client_findings | maintain_tables | migrate_tables) ;;
    # What stands in tables of this machine is read without one.
    findings) [[ " $* " == *" check "* ]] || return 1 ;;
    sql | configs | clients | brokers | quotas | shell | notebook | report) ;;
    *) return 1 ;;
  esac
  for word in "$@"; do
    case "$word" in -h | --help) return 1 ;; esac
  done
}

# Checks of tables bring packages of their own; what runs without them has none of them.
checks_tables() {
  local word
  case "${1:-}" in
    demo | check_tables | maintain_tables) ;;
    *) return 1 ;;
  esac
  for word in "$@"; do
    case "$word" in -h | --help | --no-checks | --dry-run) return 1 ;; esac
  done
}

# So does the report.
makes_report() {
  local word
  [ "${1:-}" = report ] || return 1
  for word in "$@"; do
    case "$word" in -h | --help) return 1 ;; esac
  done
}

# Where nothing would run, it is said before minutes are spent on a set-up.
check_root() {
  case "$ROOT" in
    *:*) fail "cannot run in $ROOT: Python takes no path with a colon in it; move the checkout" ;;
  esac
}

check_root_for_java() {
  local others
  case "$ROOT" in
    *[][,\#?*{}]*) fail "$1 cannot run in $ROOT: Spark takes no path with any of , # ? * [ ] { } in it; move the checkout" ;;
  esac
  others=$(printf '%s' "$ROOT" | LC_ALL=C tr -d ' -~')
  case "$others:$OSTYPE:$(locale charmap 2>/dev/null)" in
    :* | *:darwin* | *:UTF-8 | *:) ;;
    *) fail "$1 cannot run in $ROOT with this locale: Java takes these letters with UTF-8 only; set LC_ALL=C.UTF-8" ;;
  esac
}

# Prints its path and, in a second line, a sum of what it says of itself.
find_java() {
  local java=java version told place="on the PATH"
  if [ -n "${JAVA_HOME:-}" ]; then
    java="$JAVA_HOME/bin/java"
    place="at JAVA_HOME=$JAVA_HOME"
  fi
  command -v "$java" >/dev/null 2>&1 ||
    fail "$1 needs Java 17, 21 or 25 and found none $place; install one, or point JAVA_HOME at it"
  told=$("$java" -version 2>&1) || true
  version=$(printf '%s\n' "$told" | sed -n 's/^.* version "\([0-9]*\).*$/\1/p' | head -n 1)
  case "$version" in
    17 | 21 | 25)
      command -v "$java"
      printf '%s' "$told" | cksum | tr -d ' \n'
      ;;
    *) fail "$1 needs Java 17, 21 or 25, and $java is ${version:-of an unknown version}; point JAVA_HOME at the right one" ;;
  esac
}

# ---------------------------------------------------------------- set-up, once

checksum() { cksum <"$1" | tr -d ' \n'; }

venv_stamp() { printf '%s %s %s' "$(checksum "$ROOT/conf/requirements.txt")" "$1" "$VENV"; }

jars_stamp() { checksum "$ROOT/conf/ivy.xml"; }

holds() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# Its interpreter may be gone: another program removed or moved that Python.
venv_is_complete() {
  "$VENV/bin/python" -c '' 2>/dev/null && holds "$VENV/.complete" "$(venv_stamp "$1")"
}

# Each step runs in a process group of its own, so that Ctrl-C and kill end all of it.
STEP_PID=""
SCRATCH=""
VENV_IS_PARTIAL=""
# Options of `setup`.
WITH_TESTS="" WITH_CHECKS="" WITH_REPORT="" WITHOUT_JAVA=""
# Of the Java that was found.
JAVA_SUM=""

clean_up() {
  if [ -n "$STEP_PID" ]; then kill -TERM -- "-$STEP_PID" 2>/dev/null || true; fi
  if [ -n "$SCRATCH" ]; then rm -rf "$SCRATCH"; fi
  if [ -n "$VENV_IS_PARTIAL" ]; then rm -rf "$VENV"; fi
}

interrupted() {
  local status=$1
  trap - EXIT
  if [ -n "$STEP_PID" ]; then
    kill -TERM -- "-$STEP_PID" 2>/dev/null || true
    wait "$STEP_PID" 2>/dev/null || true
    STEP_PID=""
  fi
  clean_up
  say "spark-submit.sh: interrupted; nothing half-written was kept"
  exit "$status"
}

run_step() {
  local what=$1 status=0
  shift
  say "set-up: $what"
  printf '\n== %s\n' "$what" >>"$LOG"
  set -m
  "$@" >>"$LOG" 2>&1 </dev/null &
  STEP_PID=$!
  set +m
  wait "$STEP_PID" || status=$?
  STEP_PID=""
  if [ "$status" -ne 0 ]; then explain_failure "$what"; fi
}

explain_failure() {
  local tail_of_log cause="see $LOG"
  tail_of_log=$(tail -n 200 "$LOG")
  case "$tail_of_log" in
    *"No space left"* | *"Disk quota"*) cause="the disk is full" ;;
    *"ensurepip"*) cause="this Python lacks venv (on Debian: apt install python3-venv)" ;;
    *"onnection"* | *"resolve"* | *"timed out"* | *"UNRESOLVED"* | *"No matching distribution"* | *"UnknownHost"*)
      cause="cannot be downloaded; is there a network, or a mirror in pip's variables and DEFAULT_ARTIFACT_REPOSITORY? Details: $LOG"
      ;;
  esac
  fail "$1 failed: $cause"
}

check_disk() {
  local free_kb
  free_kb=$(df -Pk "$ROOT" | awk 'NR == 2 { print $4 }')
  if [ "$free_kb" -lt "$NEEDED_KB" ]; then
    fail "needs 3 GB of disk for its set-up, and $ROOT has $((free_kb / 1024)) MB left"
  fi
}

# The lock belongs to file descriptor 9 of this shell and ends with it, however it ends.
# A program takes it, in the background: a signal ends the wait for it at once.
lock() {
  exec 9>"$CACHE/setup.lock"
  set -m
  "$1" -c '
import fcntl, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("set-up: waiting for another one to finish", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)
' &
  STEP_PID=$!
  set +m
  wait "$STEP_PID" || fail "cannot lock $CACHE/setup.lock"
  STEP_PID=""
  # What a set-up left behind that was killed; nobody else holds the lock.
  rm -rf "$CACHE"/setup.??????
}

platform_name() {
  "$1" -c 'import sys, sysconfig; print("py%d%d-%s" % (*sys.version_info[:2], sysconfig.get_platform()))'
}

# Packages of one list, as wheels that a second set-up finds again.
install_set() {
  local python=$1 list=$2 what=$3 wheels
  wheels="$CACHE/wheels/$(checksum "$list")-$(platform_name "$python")"
  if [ ! -d "$wheels" ]; then
    mkdir -p "$CACHE/wheels"
    rm -rf "$SCRATCH/wheels"
    run_step "downloading $what" \
      "$VENV/bin/python" -m pip wheel --disable-pip-version-check --no-deps --use-pep517 \
      --wheel-dir "$SCRATCH/wheels" --requirement "$list"
    mv "$SCRATCH/wheels" "$wheels"
  fi
  run_step "installing $what" \
    "$VENV/bin/python" -m pip install --disable-pip-version-check --no-deps \
    --no-index --find-links "$wheels" --requirement "$list"
}

install_packages() {
  local python=$1
  VENV_IS_PARTIAL=yes
  rm -rf "$VENV" "$CLASSES"
  run_step "creating .venv" "$python" -m venv "$VENV"
  install_set "$python" "$ROOT/conf/requirements.txt" "Python packages (0.6 GB, minutes)"
  venv_stamp "$(python_version "$python")" >"$VENV/.complete"
  VENV_IS_PARTIAL=""
}

# Linters and test runners: in the same .venv, for those who ask for them.
tests_stamp() { checksum "$ROOT/tests/requirements.txt"; }

tests_are_missing() {
  [ -n "$WITH_TESTS" ] && ! holds "$VENV/.tests-complete" "$(tests_stamp)"
}

install_tests() {
  install_set "$1" "$ROOT/tests/requirements.txt" "packages of the tests"
  tests_stamp >"$VENV/.tests-complete"
}

# great-expectations, for the commands that check tables.
checks_stamp() { checksum "$ROOT/conf/checks-requirements.txt"; }

checks_are_missing() {
  [ -n "$WITH_CHECKS" ] && ! holds "$VENV/.checks-complete" "$(checks_stamp)"
}

install_checks() {
  install_set "$1" "$ROOT/conf/checks-requirements.txt" "packages of the checks"
  checks_stamp >"$VENV/.checks-complete"
}

# Pictures and templates, for those who report.
report_stamp() { checksum "$ROOT/conf/report-requirements.txt"; }

report_is_missing() {
  [ -n "$WITH_REPORT" ] && ! holds "$VENV/.report-complete" "$(report_stamp)"
}

install_report() {
  install_set "$1" "$ROOT/conf/report-requirements.txt" "packages of the report"
  report_stamp >"$VENV/.report-complete"
}

ivy() {
  local java=$1 ivy_jar resolver=central
  if [ -n "${DEFAULT_ARTIFACT_REPOSITORY:-}" ]; then resolver=mirror; fi
  ivy_jar=$(ls "$VENV"/lib/python3.*/site-packages/pyspark/jars/ivy-*.jar)
  # "bundle" is a packaging that holds a jar; without it several are left out silently.
  run_step "downloading jars for $2" "$java" \
    -Divy.maven.lookup.sources=false -Divy.maven.lookup.javadoc=false \
    -Dkafka.clientele.resolver="$resolver" -jar "$ivy_jar" -warn \
    -cache "$SCRATCH/ivy" -settings "$ROOT/conf/ivysettings.xml" \
    -ivy "$ROOT/conf/ivy.xml" -confs "$2" -types jar bundle \
    -retrieve "$SCRATCH/jars/[conf]/[artifact]-[revision].[ext]"
}

install_jars() {
  ivy "$1" spark
  ivy "$1" kafka
  jars_stamp >"$SCRATCH/jars/.complete"
  rm -rf "$JARS" "$CLASSES"
  mv "$SCRATCH/jars" "$JARS"
}

jars_are_missing() { [ -n "$1" ] && ! holds "$JARS/.complete" "$(jars_stamp)"; }

# Another file for another Java, other packages or jars; .venv's mark has its path.
classes_path() {
  printf '%s/%s-%s.jsa' "$CLASSES" "$JAVA_SUM" \
    "$(cat "$VENV/.complete" "$JARS/.complete" 2>/dev/null | cksum | tr -d ' \n')"
}

# Nobody waits for them where they cannot be kept.
classes_are_missing() {
  local path
  [ -n "$1" ] || return 1
  path=$(classes_path)
  [ ! -e "$path" ] && [ ! -e "$path.none" ] && [ -w "$CACHE" ] &&
    { [ ! -e "$CACHE/setup.lock" ] || [ -w "$CACHE/setup.lock" ]; }
}

keep_classes() {
  local path
  path=$(classes_path)
  mkdir -p "$CLASSES"
  rm -f "$CLASSES/$JAVA_SUM"-*
  run_step "keeping Spark's classes, so that commands start sooner (half a minute)" \
    env PYTHONPATH="$ROOT" \
    "$VENV/bin/python" -P -m pipelines.commands.submit.spark_classes "$path"
  if [ ! -e "$path" ]; then
    cp "$LOG" "$path.none"
    say "set-up: they were not kept, and commands start later (why: $path.none; without that file it is tried again)"
  fi
}

# Jars are for those who have named a Java to run them.
set_up() {
  local python=$1 java=$2 users_tmpdir=${TMPDIR-}
  mkdir -p "$CACHE" || fail "cannot write to $ROOT"
  trap clean_up EXIT
  trap 'interrupted 130' INT
  trap 'interrupted 143' TERM
  trap 'interrupted 129' HUP
  lock "$python"
  : >"$LOG"
  SCRATCH=$(mktemp -d "$CACHE/setup.XXXXXX")
  # What pip unpacks on its way is removed with the rest, however it ends.
  mkdir "$SCRATCH/tmp"
  export TMPDIR="$SCRATCH/tmp"
  if ! venv_is_complete "$(python_version "$python")"; then
    check_disk
    install_packages "$python"
  fi
  if tests_are_missing; then install_tests "$python"; fi
  if checks_are_missing; then install_checks "$python"; fi
  if report_is_missing; then install_report "$python"; fi
  if jars_are_missing "$java"; then
    check_disk
    install_jars "$java"
  fi
  if classes_are_missing "$java"; then keep_classes; fi
  rm -rf "$SCRATCH"
  SCRATCH=""
  unset TMPDIR
  if [ -n "$users_tmpdir" ]; then export TMPDIR="$users_tmpdir"; fi
  trap - EXIT INT TERM HUP
  exec 9>&-
}

# ---------------------------------------------------------------- the command

# Any other word is for the command's own usage.
reads_setup_words() {
  local word
  shift
  for word in "$@"; do
    case "$word" in
      --without-java) WITHOUT_JAVA=yes ;;
      --with-tests) WITH_TESTS=yes WITH_CHECKS=yes WITH_REPORT=yes ;;
      --with-report) WITH_REPORT=yes ;;
      --with-checks) WITH_CHECKS=yes ;;
      *) return 1 ;;
    esac
  done
}

main() {
  local python java="" found classes is_set_up=""
  if [ "${1:-}" = setup ] && reads_setup_words "$@"; then is_set_up=yes; fi
  if checks_tables "$@"; then WITH_CHECKS=yes; fi
  if makes_report "$@"; then WITH_REPORT=yes; fi
  check_root
  if { [ -n "$is_set_up" ] && [ -z "$WITHOUT_JAVA" ]; } || starts_jvm "$@"; then
    check_root_for_java "$1"
    found=$(find_java "$1")
    java=${found%%$'\n'*}
    JAVA_SUM=${found##*$'\n'}
  fi
  if [ -z "${PYTHON:-}" ] && [ -x "$VENV/bin/python" ] && [ -f "$VENV/.complete" ]; then
    python="$VENV/bin/python"
  else
    python=$(find_python)
  fi
  if ! venv_is_complete "$(python_version "$python")" || jars_are_missing "$java" ||
    classes_are_missing "$java" || tests_are_missing || checks_are_missing ||
    report_is_missing; then
    # Its own successor it cannot make.
    if [ "$python" = "$VENV/bin/python" ] && ! venv_is_complete "$(python_version "$python")"; then
      python=$(find_python)
    fi
    set_up "$python" "$java"
  fi
  if [ -n "$is_set_up" ]; then
    say "set-up: complete"
    return
  fi
  if [ -n "$java" ]; then
    classes=$(classes_path)
    if [ -r "$classes" ]; then export KAFKA_CLIENTELE_CLASSES="$classes"; fi
  fi
  export KAFKA_CLIENTELE_JAVA="$java"
  export PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}"
  # -P: the folder that this is called from may hold a package of the same name.
  exec "$VENV/bin/python" -P -m pipelines "$@"
}

main "$@"
