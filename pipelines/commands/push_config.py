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
    help="push a file of properties as a Java client would",
    options=(
        option(
            "--properties",
            "the client's properties, with its bootstrap.servers",
            required=True,
            metavar="FILE",
        ),
        option(
            "--client-type",
            f"what the client is: {', '.join(CLIENT_TYPES)}",
            required=True,
            choices=CLIENT_TYPES,
            metavar="TYPE",
        ),
        option(
            "--client-instance-id",
            "the one that the client's telemetry has, as KafkaProducer's "
            "clientInstanceId() gives it (default: a new one)",
            metavar="ID",
        ),
        option(
            "--command-config",
            "properties of the connection, where it is not the client's own",
            metavar="FILE",
        ),
    ),
    run=run,
)
