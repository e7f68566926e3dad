"""What all clients of this package have in common."""

import uuid

from confluent_kafka import IllegalStateException

from .instance_ids import instance_id_text


class PushesConfig:
    """A client that has pushed its configuration before it was made."""

    _client_instance_id: uuid.UUID | None = None

    def client_instance_id(self, timeout: float = -1) -> str:  # noqa: ARG002 - KIP-714's
        """Return the id of this client's configuration and telemetry.

        Args:
            timeout: Seconds; taken for the sake of KIP-714, and not needed, since the
                id is known or not once the client is there.
        Returns: The text that Kafka prints of it, 22 characters of base64url, as it
            stands in the tables.
        Raises: IllegalStateException where no configuration is pushed, or no node
            served PushConfig when the client was made: then nobody knows its id.
        """
        if self._client_instance_id is None:
            raise IllegalStateException("the cluster does not know this client's id")
        return instance_id_text(self._client_instance_id)
