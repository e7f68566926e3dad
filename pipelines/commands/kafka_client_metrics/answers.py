"""kafka-client-metrics: subscriptions of a cluster, with Kafka's own lines.

Source: Kafka 4.3, ClientMetricsCommand.java; its output on a broker 4.3.1.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from pipelines import __version__
from pipelines.bridge.core.client_identity import uuid_text
from pipelines.bridge.telemetry.subscription_ids import order_as_hash_set
from pipelines.bridge.telemetry.subscriptions import InvalidRule, parse_subscription
from pipelines.bridge.telemetry.unmatchable_selectors import find_unmatchable
from pipelines.commands.java.command_config import read_connection
from pipelines.commands.java.properties import parse_properties
from pipelines.commands.options import CommandFault
from pipelines.errors import PipelineError
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient

from .options import ClientMetricsCall, Given, Misuse, check
from .requests import change, read_configs, read_names

CLIENT_ID = "kafka-client-metrics"
FAILED = 1

Say = Callable[[str], None]


def run(given: Given, *, say: Say, complain: Callable[[str, bool], None]) -> int:
    """Do what the options say.

    Args:
        given: The options.
        say: Prints a line of the answer.
        complain: Prints a line about misuse, and the usage where asked to.
    Returns: The exit code.
    """
    if given["version"]:
        say(f"{__version__} (Commit:unknown)")
        return 0
    try:
        call = check(given)
        properties = _load_properties(call.command_config)
    except Misuse as error:
        complain(str(error), error.shows_usage)
        return FAILED
    except CommandFault as error:
        return _fail(say, error)
    try:
        connection = read_connection(call.bootstrap_server, properties)
        asyncio.run(_run(call, connection, say))
    except PipelineError as error:
        return _fail(say, error)
    for warning in list_warnings(call.values.get("match", "")):
        complain(f"Warning: {call.name or 'the resource'}: {warning}", False)
    return 0


def list_warnings(match: str) -> list[str]:
    """Return what is wrong with selectors that the cluster has taken."""
    try:
        subscription = parse_subscription("name", {"match": match})
    except InvalidRule:
        # Nothing that this bridge could judge: Kafka takes more patterns.
        return []
    return find_unmatchable(subscription.match)


def _fail(say: Say, error: Exception) -> int:
    say(f"Error while executing client metrics command : {error}")
    return FAILED


def _load_properties(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        return parse_properties(Path(path).read_text(encoding="latin-1"))
    except OSError as error:
        raise Misuse(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise Misuse(f"{path}: {error}") from None


async def _run(
    call: ClientMetricsCall, connection: Mapping[str, str], say: Say
) -> None:
    client = ClusterClient(read_access(connection), client_id=CLIENT_ID)
    try:
        await _ACTIONS[call.action](client, call, say)
    finally:
        await client.close()


async def _alter(client: ClusterClient, call: ClientMetricsCall, say: Say) -> None:
    name = _generate_name() if call.name is None else call.name
    await change(client, name, _as_changes(call.values))
    say(f"Altered client metrics config for {name}.")


async def _delete(client: ClusterClient, call: ClientMetricsCall, say: Say) -> None:
    name = call.name or ""
    configs = await read_configs(client, name)
    await change(client, name, dict.fromkeys(configs))
    say(f"Deleted client metrics config for {name}.")


async def _describe(client: ClusterClient, call: ClientMetricsCall, say: Say) -> None:
    names = await read_names(client)
    if call.name is not None and call.name not in names:
        say(
            f"The client metric resource {call.name} doesn't exist and doesn't have "
            f"dynamic config."
        )
        return
    for name in names if call.name is None else [call.name]:
        say(f"Client metrics configs for {name} are:")
        configs = await read_configs(client, name)
        for key in order_as_hash_set([list(configs)]):
            say(f"  {key}={configs[key].value}")


async def _list(client: ClusterClient, _call: ClientMetricsCall, say: Say) -> None:
    say("\n".join(await read_names(client)))


_ACTIONS = {"alter": _alter, "delete": _delete, "describe": _describe, "list": _list}


def _as_changes(values: Mapping[str, str]) -> dict[str, str | None]:
    """Return values to set, and None for keys to delete."""
    return {key: value or None for key, value in values.items()}


def _generate_name() -> str:
    while True:
        name = uuid_text(uuid.uuid4())
        # It would be taken for an option.
        if not name.startswith("-"):
            return name
