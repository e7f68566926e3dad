"""kafka-configs: quotas, dynamic client configs and subscriptions, by Kafka's words.

Quotas are Kafka's; whatever else is set for a user is a dynamic client config, which a
bridge keeps (KIP-649). Quotas are altered first; what is sure to be refused is refused
before that.
Source: Kafka 4.3, ConfigCommand.scala; its output in tests/golden/admin.
"""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping

from pipelines import __version__
from pipelines.commands.java.command_config import read_connection
from pipelines.commands.kafka_client_metrics.answers import list_warnings
from pipelines.commands.options import CommandFault
from pipelines.errors import PipelineError
from pipelines.kafka_client.client_configs import Entity
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.faults import ClusterFault, MissingApi
from pipelines.reading.text_tables import make_printable

from . import dynamic_requests, lines, quota_requests, scram_requests, subscriptions
from .changes import Change, may_have_dynamic, read_change, read_components
from .config_words import load_properties, read_additions
from .dynamic_requests import ApiKeys, read_api_keys
from .options import CLIENT_METRICS, DEFAULT, USERS, ConfigsCall, Misuse, check

CLIENT_ID = "kafka-configs"
FAILED, MISUSED = 1, 2

Say = Callable[[str], None]


def run(arguments: Namespace, *, say: Say, complain: Say) -> int:
    """Do what the options say.

    Args:
        say: Prints a line of the answer.
        complain: Prints a line about what is wrong.
    Returns: The exit code.
    """
    if arguments.version:
        say(f"{__version__} (Commit:unknown)")
        return 0
    try:
        call = check(arguments)
        properties = load_properties(call.command_config) if call.command_config else {}
        additions: Mapping[str, str] = {}
        if call.is_alteration:
            additions = read_additions(call.add_config, call.add_config_file)
        change = read_change(call, additions)
        access = read_access(read_connection(call.bootstrap_server, properties))
        api_keys = read_api_keys(properties)
        client = ClusterClient(access, client_id=CLIENT_ID)
        asyncio.run(_run(client, call, change, additions, api_keys=api_keys, say=say))
    except Misuse as error:
        complain(str(error))
        if error.shows_usage:
            arguments.parser.print_help(sys.stderr)
        return MISUSED if error.shows_usage else FAILED
    except MissingApi as error:
        complain(str(error))
        return FAILED
    except PipelineError as error:
        complain(f"Error while executing config command: {make_printable(str(error))}")
        return FAILED
    if call.entity_types[0] == CLIENT_METRICS:
        for warning in list_warnings(additions.get("match", "")):
            complain(f"Warning: {call.entity_names[0]}: {warning}")
    return 0


async def _run(
    client: ClusterClient,
    call: ConfigsCall,
    change: Change | None,
    additions: Mapping[str, str],
    *,
    api_keys: ApiKeys,
    say: Say,
) -> None:
    try:
        if call.entity_types[0] == CLIENT_METRICS:
            await subscriptions.run(client, call, additions, say)
        elif change is None:
            await _describe(client, call, api_keys, say)
        else:
            await _alter(client, call, change, api_keys, say)
    finally:
        await client.close()


async def _describe(
    client: ClusterClient, call: ConfigsCall, api_keys: ApiKeys, say: Say
) -> None:
    components = read_components(call)
    quotas = await quota_requests.describe(client, components)
    dynamic: Mapping[Entity, Mapping[str, str]] = {}
    fault: CommandFault | ClusterFault | None = None
    if may_have_dynamic(components):
        try:
            if await dynamic_requests.is_served(client, api_keys.describe):
                dynamic = await dynamic_requests.describe(
                    client, components, api_keys.describe
                )
        except (CommandFault, ClusterFault) as error:
            # What is known of quotas is told all the same.
            fault = error
    for line in lines.describe_entities(quotas, dynamic):
        say(line)
    if call.entity_types == (USERS,) and DEFAULT not in call.entity_names:
        credentials = await scram_requests.describe(client, call.entity_names)
        for line in lines.describe_credentials(credentials):
            say(line)
    if fault is not None:
        raise fault


async def _alter(
    client: ClusterClient,
    call: ConfigsCall,
    change: Change,
    api_keys: ApiKeys,
    say: Say,
) -> None:
    """Alter quotas, then dynamic configs; what is sure to be refused before both."""
    subject = call.entity_types[0], call.entity_names[0]
    if change.removed_quotas:
        there = await quota_requests.describe(client, read_components(call))
        current = next(iter(there.values()), {})
        missing = [key for key in change.removed_quotas if key not in current]
        if missing:
            raise Misuse(f"Invalid config(s): {','.join(missing)}")
    if change.is_dynamic and not await dynamic_requests.is_served(
        client, api_keys.alter
    ):
        raise MissingApi(dynamic_requests.NOT_SERVED)
    if change.has_quotas:
        await quota_requests.alter(
            client,
            change.entity,
            additions=change.quotas,
            removals=change.removed_quotas,
        )
    if change.is_dynamic:
        try:
            await dynamic_requests.alter(
                client,
                change.entity,
                api_keys.alter,
                additions=change.dynamic,
                removals=change.removed_dynamic,
            )
        except (CommandFault, ClusterFault):
            if change.has_quotas:
                say(lines.completed_quotas(*subject))
            raise
    say(lines.completed(*subject))
