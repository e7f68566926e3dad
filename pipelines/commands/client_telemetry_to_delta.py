"""client_telemetry_to_delta: pushed metrics to Delta tables."""

from .call import Call
from .streaming_jobs import run_job, streaming_command


def run(call: Call) -> int:
    """Run it until it ends."""
    from pipelines.jobs.telemetry import job

    return run_job(call, job.LEDGER, job.run)


COMMAND = streaming_command(
    "client_telemetry_to_delta",
    "job: pushed metrics to Delta tables",
    run,
)
