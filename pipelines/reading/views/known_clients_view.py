"""`known_instances` and `known_clients`: all clients that any table reports."""

from pipelines.reading.client_states import (
    REPORTING,
    SOURCES,
    known_clients_query,
    known_instances_query,
)

from .view import Sources, View

KNOWN_INSTANCES, KNOWN_CLIENTS = "known_instances", "known_clients"
_JOB = "client_telemetry_to_delta"


def _query(sources: Sources) -> str | None:
    if {one.name for one in REPORTING}.isdisjoint(sources.registered):
        return None
    return known_instances_query(
        sources.registered,
        expire_after_hours=sources.settings.findings.observed_hours,
    )


KNOWN_VIEWS = (
    View(
        name=KNOWN_INSTANCES,
        row="A client instance that telemetry or a pushed configuration reports, or a "
        "client that only the proxy knows (`client_instance_id` is null). `state`: "
        "`active` (a push within three push intervals), `idle` (no push for three "
        "intervals), `terminated` (a terminating push) or `expired` (nothing for "
        "`findings.observed_hours`). An instance without telemetry is `active` for "
        "that time. `known_by` and `client_type_source`: `telemetry`, `configs` or "
        "`wire`. `ended_at`: when telemetry ended; null if active or not known.",
        sql=_query,
        uses=tuple(one.name for one in SOURCES),
        made_by=_JOB,
    ),
    View(
        name=KNOWN_CLIENTS,
        row="A client: cluster, principal, client ID and client type, with the "
        "software of its newest instance, its most active state, and the number of "
        "its instances.",
        sql=known_clients_query(KNOWN_INSTANCES),
        needs=(KNOWN_INSTANCES,),
        made_by=_JOB,
    ),
)
