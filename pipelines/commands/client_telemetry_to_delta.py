"""client_telemetry_to_delta: pushed metrics to Delta tables."""

from .call import Call
from .streaming_jobs import PreparedJob, streaming_command


def prepare(_call: Call) -> PreparedJob:
    """Import it, and read what it needs."""
    from pipelines.jobs.telemetry import job

    return PreparedJob(job.LEDGER, job.run)


COMMAND = streaming_command(
    "client_telemetry_to_delta",
    "job: Write pushed metrics to Delta tables",
    prepare,
)
