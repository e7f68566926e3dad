"""Progress lines of commands that take longer than a few seconds."""

import re
import time

from pipelines.commands.progress import progress_of


def test_quick_step_is_silent(capsys):
    with progress_of("Starting Spark"):
        pass
    assert capsys.readouterr().err == ""


def test_slow_step_is_reported_with_elapsed_time_and_again_while_it_runs(capsys):
    with progress_of("Starting Spark", quiet_s=0.01, repeat_s=0.01):
        time.sleep(0.5)
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\[ *\d+ s\] Starting Spark", first)
    assert re.fullmatch(r"\[ *\d+ s\] Starting Spark, still running", second)
