"""push-config: a file of properties, pushed as a Java client would."""

import sys

from .call import Call
from .options import Command, option

CLIENT_TYPES = ("producer", "consumer", "share-consumer", "admin")


def run(call: Call) -> int:
    """Push it, and say what became of it."""
    from .java import pushed_files

    pushed_files.run(
        properties_path=call.arguments.properties,
        client_type=call.arguments.client_type,
        connection_path=call.arguments.command_config,
        instance_id=call.arguments.client_instance_id,
        say=print,
        warn=lambda line: print(f"kafka-clientele: {line}", file=sys.stderr),
    )
    return 0


COMMAND = Command(
    name="push-config",
    help="Push a properties file as a Java client would",
    options=(
        option(
            "--properties",
            "Properties of the client, with bootstrap.servers",
            required=True,
            metavar="FILE",
        ),
        option(
            "--client-type",
            f"Type of the client: {', '.join(CLIENT_TYPES)}",
            required=True,
            choices=CLIENT_TYPES,
            metavar="TYPE",
        ),
        option(
            "--client-instance-id",
            "Client instance ID of the client's telemetry (default: a new ID)",
            metavar="ID",
        ),
        option(
            "--command-config",
            "Properties of the connection (default: the client's)",
            metavar="FILE",
        ),
    ),
    run=run,
)
