"""client_telemetry_to_delta: pushed metrics to Delta tables."""

from .call import Call
from .options import Command
from .streaming_jobs import OPTIONS, check, run_stream


def run(call: Call) -> int:
    """Run it until it ends."""
    from pipelines.jobs.telemetry import job

    return run_stream(call, job.LEDGER, job.run)


COMMAND = Command(
    name="client_telemetry_to_delta",
    help="job: pushed metrics to Delta tables",
    options=OPTIONS,
    takes_spark_options=True,
    is_job=True,
    check=check,
    run=run,
)
