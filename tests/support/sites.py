"""A site that is well, as it is looked at, and what may be otherwise."""

from dataclasses import replace

from pipelines.watching.site import (
    MS_PER_HOUR,
    BridgeLook,
    JobLook,
    RunLook,
    SiteLook,
    StoredLook,
    TableLook,
    TopicLook,
)

AT_MS = 1_772_323_200_000
BRIDGE = BridgeLook(
    address="b:9193",
    has_answered=True,
    is_ready=True,
    said="ready",
    accepted=12_345,
    refused=6,
    accepted_per_s=20.0,
    refused_per_s=0.0,
)
JOB = JobLook(
    name="client_telemetry_to_delta",
    topic="clientele.telemetry",
    was_started=True,
    is_running=True,
    committed_ms=AT_MS - 3_000,
    topic_look=TopicLook(has_topic=True),
)
TABLE = TableLook(
    name="client_pushes",
    is_there=True,
    version=7,
    committed_ms=AT_MS - 3_000,
    rows=1_234,
    files=5,
    bytes=6_789,
    made_ms=AT_MS - 30 * MS_PER_HOUR,
)


def ran(began_ms, *failed):
    """Return a run that came to its end."""
    return RunLook(began_ms=began_ms, completed_ms=began_ms, failed=failed)


STORED = StoredLook(
    tables=(TABLE,),
    quarantined={},
    maintenance=ran(AT_MS - 2 * MS_PER_HOUR),
)
SITE = SiteLook(
    at_ms=AT_MS,
    bridges=(BRIDGE,),
    kafka_servers="k:9092",
    kafka_fault=None,
    jobs=(JOB,),
    tables_at="/data/tables",
    stored=STORED,
    not_looked_at=(),
)


def with_job(**changes):
    """Return the site with another job."""
    return replace(SITE, jobs=(replace(JOB, **changes),))


def with_topic(**changes):
    """Return the site whose job stands otherwise to its topic."""
    return with_job(topic_look=TopicLook(**{"has_topic": True, **changes}))


def with_bridge(**changes):
    """Return the site with another bridge."""
    return replace(SITE, bridges=(replace(BRIDGE, **changes),))


def with_stored(**changes):
    """Return the site with other tables."""
    return replace(SITE, stored=replace(STORED, **changes))
