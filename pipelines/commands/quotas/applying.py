"""quotas apply: a cluster's quotas become those of a file, by Kafka's own requests.

Each entity is altered by itself, so that one which the cluster refuses stops no other.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from kio.schema.alter_client_quotas.v1 import request as altering
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
from kio.schema.describe_client_quotas.v1.request import DescribeClientQuotasRequest
from kio.schema.describe_client_quotas.v1.response import DescribeClientQuotasResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import f64

from pipelines.commands.call import Call
from pipelines.commands.java.command_config import read_connection
from pipelines.commands.java.properties import parse_properties
from pipelines.commands.options import CommandFault
from pipelines.errors import InvalidSetting, MissingService
from pipelines.feed.answers import read_quotas
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.reading.text_tables import make_printable
from pipelines.settings.clients_cluster import find_clients_cluster
from pipelines.settings.kafka import publisher_config
from udfs.cluster.record_keys import quota_entity_path
from udfs.quotas import Alteration

from . import lines
from .plan_files import read_plan
from .plans import REMOVAL, Difference, list_differences
from .questions import QuotaQuestion

Say = Callable[[str], None]
CLIENT_ID = "kafka-clientele-quotas"
TIMEOUT_S = 30.0
ENTITIES_OF_A_REQUEST = 100
FAILED = 1


def apply_plan(call: Call, asked: QuotaQuestion, say: Say) -> int:
    """Alter what differs; return 1 where it still does.

    Raises: InvalidPlan, before anything is altered; MissingService where the cluster
        does not answer or refuses to show its quotas; InvalidSetting.
    """
    assert asked.file is not None  # noqa: S101 - read_question asks for it
    wanted = [
        one
        for one in read_plan(asked.file, is_judged=False)
        if one.quota_key in asked.keys
    ]
    return asyncio.run(_apply(_find_connection(call), asked, wanted, say))


def _find_connection(call: Call) -> dict[str, str]:
    """Return how the cluster is reached; the values hold secrets."""
    arguments = call.arguments
    if arguments.bootstrap_server is None:
        section, kafka = find_clients_cluster(call.read_settings())
        secrets = call.make_secret_reader()
        return publisher_config(kafka, secrets, key_prefix=f"{section}.")
    properties: dict[str, str] = {}
    path = arguments.command_config
    try:
        if path is not None:
            properties = parse_properties(Path(path).read_text(encoding="latin-1"))
        return read_connection(arguments.bootstrap_server, properties)
    except OSError as error:
        raise InvalidSetting(f"{path}: cannot be read ({error.strerror})") from None
    except (CommandFault, ValueError) as error:
        raise InvalidSetting(f"{path}: {error}") from None


async def _apply(
    connection: Mapping[str, str],
    asked: QuotaQuestion,
    wanted: Sequence[Alteration],
    say: Say,
) -> int:
    client = ClusterClient(read_access(connection), client_id=CLIENT_ID)
    try:
        current = await _read_current(client, asked.keys)
        differing = list_differences(current, wanted)
        due = [one for one in differing if asked.is_pruning or one.kind != REMOVAL]
        for line in _describe(due):
            say(line)
        refused: dict[str, str] = {}
        if due and not asked.is_dry_run:
            refused = await _alter(client, due)
    except ClusterFault as fault:
        servers = connection["bootstrap.servers"]
        raise MissingService(f"Kafka at {servers}: {fault}") from None
    finally:
        await client.close()
    for path, why in refused.items():
        say(make_printable(f"{path} is refused: {why}"))
    done = [one for one in due if one.path not in refused]
    say(_sum_up(asked, done, len(differing) - len(due), len(refused)))
    return FAILED if refused or (due and asked.is_dry_run) else 0


async def _read_current(
    client: ClusterClient, keys: Sequence[str]
) -> dict[tuple[str, str], float]:
    request = DescribeClientQuotasRequest(components=(), strict=False)
    answer = await client.ask(
        request, DescribeClientQuotasResponse, timeout_s=TIMEOUT_S
    )
    if answer.error_code is not ErrorCode.none:
        why = answer.error_message or answer.error_code.name
        raise ClusterFault(f"DescribeClientQuotas is refused: {why}")
    return {
        (quota_entity_path(one.entity), one.key): one.value
        for one in read_quotas(answer)
        if one.key in keys
    }


async def _alter(client: ClusterClient, due: Sequence[Difference]) -> dict[str, str]:
    """Alter each entity; return what was refused and why, by path."""
    entries = [
        _make_entry([one.alteration for one in of_path])
        for _, of_path in groupby(due, lambda one: one.path)
    ]
    refused = {}
    for start in range(0, len(entries), ENTITIES_OF_A_REQUEST):
        some = tuple(entries[start : start + ENTITIES_OF_A_REQUEST])
        request = altering.AlterClientQuotasRequest(entries=some, validate_only=False)
        answer = await client.ask(
            request, AlterClientQuotasResponse, timeout_s=TIMEOUT_S
        )
        for one in answer.entries:
            if one.error_code is not ErrorCode.none:
                entity = [(part.entity_type, part.entity_name) for part in one.entity]
                why = one.error_message or one.error_code.name
                refused[quota_entity_path(entity)] = why
    return refused


def _make_entry(alterations: Sequence[Alteration]) -> altering.EntryData:
    return altering.EntryData(
        entity=tuple(
            altering.EntityData(entity_type=kind, entity_name=name)
            for kind, name in alterations[0].entity.parts
        ),
        ops=tuple(
            altering.OpData(
                key=one.quota_key,
                value=f64(one.quota_value or 0.0),
                remove=one.quota_value is None,
            )
            for one in alterations
        ),
    )


def _describe(due: Sequence[Difference]) -> list[str]:
    cells = [
        lines.describe_difference(
            one.kind, one.path, one.alteration.quota_key, one.before,
            one.alteration.quota_value,
        )
        for one in due
    ]  # fmt: skip
    return [*lines.format_columns(("ENTITY", "KEY", "CHANGE"), cells)] if cells else []


def _sum_up(
    asked: QuotaQuestion, done: Sequence[Difference], left: int, refused: int
) -> str:
    """Return the last line: what was altered, and what was not."""
    said = lines.sum_up_plan([one.kind for one in done])
    if done and asked.is_dry_run:
        said += "; nothing was altered, as --dry-run says"
    if refused:
        said += f"; {lines.count(refused, 'entity', 'entities')} refused"
    if left:
        quotas = lines.count(left, "quota")
        said += f"; {quotas} that the file does not name stay: --prune removes them"
    return said
