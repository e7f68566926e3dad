"""Run the long proofs one after the other, then print a table of what they showed.

Usage: tests/run.sh long [PROOF …]

Each is a program of its own and takes `--help`; here it runs at its full size. What it
prints goes to a file, whose folder is told. Exits with 1 where one of them failed.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MINUTE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A program that shows one promise to hold."""

    name: str
    words: tuple[str, ...]
    """Its file below tests/, and what it is told."""


PROOFS = (
    Proof(name="wide-tests", words=("long/wide_tests.py",)),
    Proof(name="protocol-fuzz", words=("fuzz/protocol.py",)),
    Proof(name="decode-fuzz", words=("fuzz/decode.py", "--inputs", "10000000")),
    Proof(name="bridge-kills", words=("long/bridge_kills.py",)),
    Proof(name="kill-matrix", words=("long/kill_matrix.py",)),
    Proof(name="soak", words=("long/soak.py",)),
    Proof(name="error-codes", words=("long/error_codes.py",)),
    Proof(name="java-pushes", words=("long/java_pushes.py",)),
    Proof(name="proxy-pipelines", words=("long/proxy_pipelines.py",)),
    Proof(name="proxy-java", words=("long/proxy_java.py",)),
    Proof(name="proxy-clients", words=("long/proxy_client_matrix.py",)),
    Proof(name="proxy-kills", words=("long/proxy_kills.py",)),
    Proof(name="proxy-idle", words=("long/proxy_idle.py",)),
    Proof(name="dynamic-clients", words=("long/dynamic_clients.py",)),
    *(
        Proof(
            name=f"job-kills-{writer}",
            words=("long/job_kills.py", "--writer", writer, *more),
        )
        for writer, *more in (
            ("files",),
            ("spark",),
            ("both", "--slice-bytes", "16384"),
        )
    ),
    Proof(name="spark-range", words=("long/spark_range.py",)),
    Proof(name="yarn-kills", words=("long/yarn_kills.py",)),
    Proof(name="yarn-kills-short", words=("long/yarn_kills.py", "--short")),
    Proof(name="s3-tables", words=("long/s3_tables.py",)),
    Proof(name="job-stops", words=("long/job_stops.py",)),
    Proof(name="job-memory", words=("long/job_memory.py",)),
    Proof(name="replays", words=("long/replays.py",)),
    Proof(name="maintenance-kills", words=("long/maintenance_kills.py",)),
    Proof(name="config-shuffles", words=("long/config_shuffles.py",)),
    Proof(name="feed-kills", words=("long/feed_kills.py",)),
    Proof(name="dynamic-configs", words=("long/dynamic_config_kills.py",)),
    Proof(name="cluster-canaries", words=("long/cluster_canaries.py",)),
    Proof(name="quota-throttle-times", words=("long/quota_throttle_times.py",)),
    Proof(name="quota-rates", words=("long/quota_rates.py",)),
    Proof(name="forward-kills", words=("long/forward_kills.py",)),
    Proof(name="forward-receivers", words=("long/forward_receivers.py",)),
    Proof(name="broken-clients", words=("long/broken_clients.py",)),
    Proof(name="config-canaries", words=("long/config_canaries.py",)),
)
"""In the order in which they run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a proof ended."""

    proof: Proof
    code: int
    minutes: float
    last_line: str


def run(proof: Proof, folder: Path) -> Outcome:
    """Run a proof to its end; what it prints is in a file of the folder."""
    path = folder / f"{proof.name}.txt"
    program, *words = proof.words
    started = time.monotonic()
    with path.open("wb") as log:
        code = subprocess.run(
            [sys.executable, str(ROOT / "tests" / program), *words],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    printed = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return Outcome(
        proof=proof,
        code=code,
        minutes=(time.monotonic() - started) / MINUTE_S,
        last_line=next((line for line in reversed(printed) if line.strip()), ""),
    )


def main() -> int:
    """Run those that are named, or all."""
    parser = argparse.ArgumentParser(
        prog="tests/run.sh long", description=__doc__.splitlines()[0]
    )
    known = {proof.name: proof for proof in PROOFS}
    parser.add_argument("proofs", nargs="*", metavar="PROOF", help=", ".join(known))
    names = parser.parse_args().proofs
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no proof {', '.join(unknown)}")
    folder = Path(tempfile.mkdtemp(prefix="long-proofs-"))
    print(f"what they print is in {folder}", flush=True)
    outcomes = []
    for name in names or known:
        print(f"{name} …", flush=True)
        outcomes.append(run(known[name], folder))
        print(_describe(outcomes[-1]), flush=True)
    print(f"\n{'proof':18} {'result':9} {'minutes':>7}  last line", flush=True)
    for outcome in outcomes:
        print(_describe(outcome))
    return 1 if any(outcome.code for outcome in outcomes) else 0


def _describe(outcome: Outcome) -> str:
    result = "ok" if outcome.code == 0 else f"exit {outcome.code}"
    name, last = outcome.proof.name, outcome.last_line
    return f"{name:18} {result:9} {outcome.minutes:7.1f}  {last}"


if __name__ == "__main__":
    sys.exit(main())
