"""confluent_kafka.admin, with an AdminClient that pushes its configuration."""

from confluent_kafka.admin import *  # noqa: F403 - one import line is all that changes

from .admin_clients import AdminClient as AdminClient  # noqa: PLC0414 - it is offered
