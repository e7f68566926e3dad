"""great-expectations calls nobody and writes nothing but its pages, in their folder."""

import json
import os
import subprocess
import sys

from pipelines.settings import CONF_PATH

# Told by Python itself: whatever is connected to, and opened to be written.
_PROGRAM = """
import json, os, sys
from datetime import UTC, datetime
from pathlib import Path

seen = {"connected": [], "written": []}

def watch(event, given):
    if event in ("socket.connect", "socket.getaddrinfo"):
        seen["connected"].append(str(given[-1]))
    if event == "open" and given[2] & (os.O_WRONLY | os.O_RDWR):
        seen["written"].append(os.path.abspath(os.fsdecode(given[0])))

sys.addaudithook(watch)

import pipelines.quality
from great_expectations.core import ExpectationSuite
from great_expectations.core import ExpectationSuiteValidationResult as Results
from great_expectations.core import ExpectationValidationResult as Result
from pipelines.quality.data_docs import write_docs
from pipelines.quality.suites import read_suite
from pipelines.quality.validation import quiet_context

suite = ExpectationSuite(**read_suite("client_quotas"))
counts = {"element_count": 5, "unexpected_count": 1, "unexpected_percent": 20.0}
told = [
    Result(success=False, expectation_config=one, result=counts)
    for one in suite.expectation_configurations
]
with quiet_context() as context:
    results = Results(results=told, success=False, suite_name=suite.name)
    write_docs(context, [results], Path(sys.argv[1]), datetime.now(tz=UTC))
print(json.dumps(seen))
"""


def test_pages_are_all_that_is_written_and_nobody_is_called(tmp_path):
    home, folder, scratch = (tmp_path / name for name in ("home", "pages", "scratch"))
    home.mkdir()
    scratch.mkdir()
    kept = {"PYTHONPATH": str(CONF_PATH.parent), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-B", "-c", _PROGRAM, str(folder)],
        env=kept | {"HOME": str(home), "TMPDIR": str(scratch)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["connected"] == []
    places = (str(folder), str(scratch), os.devnull)
    assert [name for name in seen["written"] if not name.startswith(places)] == []
    assert [*home.iterdir(), *scratch.iterdir()] == []
    assert (folder / "index.html").exists()
    (page,) = folder.rglob("validations/**/client_quotas.html")
    assert "At most one row of the same" in page.read_text(encoding="utf-8")
