"""Client-metrics subscriptions, in the words of kafka-configs.

Source: Kafka 4.3, ConfigCommand.scala.
"""

from collections.abc import Callable, Mapping

from pipelines.commands.kafka_client_metrics.requests import (
    change,
    read_configs,
    read_names,
)
from pipelines.kafka_wire.client import ClusterClient

from . import lines
from .options import CLIENT_METRICS, ConfigsCall

_SET_ON_SUBSCRIPTION = 7
"""ConfigSource of what is set on one."""


async def run(
    client: ClusterClient,
    call: ConfigsCall,
    additions: Mapping[str, str],
    say: Callable[[str], None],
) -> None:
    """Show or change them.

    Raises: CommandFault in the cluster's words; ClusterFault.
    """
    if call.is_alteration:
        # Kafka's tool removes what is not set, here, without a word.
        changes = {**dict.fromkeys(call.delete_config), **additions}
        await change(client, call.entity_names[0], changes)
        say(lines.completed(CLIENT_METRICS, call.entity_names[0]))
        return
    names = [*call.entity_names[:1]]
    if names and not call.is_all and names[0] not in await read_names(client):
        say(lines.missing_resource(CLIENT_METRICS, names[0]))
        return
    for name in names or await read_names(client):
        configs = await read_configs(client, name, has_synonyms=True)
        shown = {
            key: one
            for key, one in configs.items()
            if call.is_all or one.config_source == _SET_ON_SUBSCRIPTION
        }
        for line in lines.describe_resource(
            CLIENT_METRICS, name, shown, is_all=call.is_all
        ):
            say(line)
