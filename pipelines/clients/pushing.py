"""What all clients of this package have in common."""

import asyncio
import inspect
import uuid
from typing import TYPE_CHECKING, Any

import confluent_kafka
from confluent_kafka import IllegalStateException, aio

from .dynamic_values import DynamicConfig
from .following import Following
from .instance_ids import instance_id_text
from .starting import Prepared

if TYPE_CHECKING:
    _Producer = confluent_kafka.Producer
    _Consumer = confluent_kafka.Consumer
    _ShareConsumer = confluent_kafka.ShareConsumer
    _AIOProducer = aio.AIOProducer
    _AIOConsumer = aio.AIOConsumer
else:
    # What a class of confluent_kafka does stands behind these in each client.
    _Producer = _Consumer = _ShareConsumer = _AIOProducer = _AIOConsumer = object


class PushesConfig:
    """A client that has pushed its configuration before it was made."""

    _client_instance_id: uuid.UUID | None = None
    _following: Following | None = None

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

    def dynamic_configs(self) -> dict[str, DynamicConfig]:
        """Return what the cluster has for this client, and what became of it.

        Returns: Key to value, state (`applied`, `pending`, `ignored`, `unsupported`)
            and reason; empty where the cluster has nothing, or no dynamic configs.
        """
        return {} if self._following is None else dict(self._following.told)

    def _begin(self, prepared: Prepared) -> None:
        """Note what the client is made of."""
        self._client_instance_id = prepared.client_instance_id
        self._following = prepared.following

    def _follow(self) -> None:
        """Ask for dynamic configs where it is time to."""
        following = self._following
        if following is not None and following.is_due():
            following.call(following.follow())

    async def _follow_beside(self) -> None:
        """Do the same while the event loop goes on; a callback may be awaited."""
        following = self._following
        if following is None or not following.is_due():
            return
        changed = await asyncio.to_thread(following.follow)
        told = following.call(changed)
        if inspect.isawaitable(told):
            await told


class FollowingProducer(PushesConfig, _Producer):
    """A producer that asks for its dynamic configs in poll and flush.

    An application may hold a lock in produce that its callbacks need.
    """

    def poll(self, *args: Any, **kwargs: Any) -> int:  # noqa: ANN401 - as upstream
        """Serve callbacks."""
        self._follow()
        return super().poll(*args, **kwargs)

    def flush(self, *args: Any, **kwargs: Any) -> int:  # noqa: ANN401 - as upstream
        """Wait until all is delivered."""
        self._follow()
        return super().flush(*args, **kwargs)


class FollowingConsumer(PushesConfig, _Consumer):
    """A consumer that asks for its dynamic configs in the calls of the application."""

    def poll(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as upstream
        """Return the next record."""
        self._follow()
        return super().poll(*args, **kwargs)

    def consume(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as upstream
        """Return the next records."""
        self._follow()
        return super().consume(*args, **kwargs)


class FollowingShareConsumer(PushesConfig, _ShareConsumer):
    """The same for a share group: what it is told is ignored, and why."""

    def poll(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as upstream
        """Return the next records."""
        self._follow()
        return super().poll(*args, **kwargs)


class FollowingAIOProducer(PushesConfig, _AIOProducer):
    """The same with asyncio."""

    async def produce(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as upstream
        """Produce a record."""
        await self._follow_beside()
        return await super().produce(*args, **kwargs)

    async def poll(self, *args: Any, **kwargs: Any) -> int:  # noqa: ANN401 - as upstream
        """Serve callbacks."""
        await self._follow_beside()
        return await super().poll(*args, **kwargs)

    async def flush(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as upstream
        """Wait until all is delivered."""
        await self._follow_beside()
        return await super().flush(*args, **kwargs)


class FollowingAIOConsumer(PushesConfig, _AIOConsumer):
    """The same with asyncio."""

    async def poll(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as upstream
        """Return the next record."""
        await self._follow_beside()
        return await super().poll(*args, **kwargs)

    async def consume(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as upstream
        """Return the next records."""
        await self._follow_beside()
        return await super().consume(*args, **kwargs)
