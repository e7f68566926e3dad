"""`known_instances` and `known_clients`: all clients that any table reports.

Both, and `clients`, select from one view of states, which a reader may compute once.
"""

from pipelines.reading.client_states import (
    REPORTING,
    SOURCES,
    known_clients_query,
    known_instances_query,
    states_query,
)
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from .view import Sources, View

CLIENT_STATES = "client_states"
"""Instances that telemetry or pushed configurations report; not for readers."""
KNOWN_INSTANCES, KNOWN_CLIENTS = "known_instances", "known_clients"
_JOB = "client_telemetry_to_delta"


def _select_states(sources: Sources) -> str | None:
    if {one.name for one in REPORTING}.isdisjoint(sources.registered):
        return None
    return states_query(
        sources.registered,
        now=sources.now,
        expire_after_hours=sources.settings.findings.observed_hours,
    )


def _query(sources: Sources) -> str:
    return known_instances_query(
        sources.registered,
        now=sources.now,
        expire_after_hours=sources.settings.findings.observed_hours,
        states=CLIENT_STATES,
    )


STATES_VIEW = View(
    name=CLIENT_STATES,
    sql=_select_states,
    uses=tuple(one.name for one in SOURCES),
    made_by=_JOB,
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
        needs=(CLIENT_STATES,),
        uses=(CLIENT_WIRE_CONFIGS.name,),
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
