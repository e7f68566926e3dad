"""The asyncio clients of confluent_kafka, pushing their configuration.

AIOProducer and AIOConsumer are made without `await`, so their constructors keep the
event loop for as long as the push takes, `default.api.timeout.ms` at most. `create` is
the way that does not; AsyncSerializingProducer and AsyncDeserializingConsumer are
awaited anyway, and wait in a thread.
"""

import asyncio
from typing import Any, Self, TypeVar

from confluent_kafka import aio

from .key_lists import CONSUMER, PRODUCER
from .pushing import FollowingAIOConsumer, FollowingAIOProducer
from .starting import Prepared, prepare, prepare_with_serdes
from .trial_handles import DESERIALIZERS, SERIALIZERS

K = TypeVar("K")
V = TypeVar("V")

__all__ = [
    "AIOConsumer",
    "AIOProducer",
    "AsyncDeserializingConsumer",
    "AsyncSerializingProducer",
]


class AIOProducer(FollowingAIOProducer, aio.AIOProducer):
    """An asyncio producer that pushes its configuration before it is made."""

    def __init__(
        self,
        producer_conf: dict[str, Any] | Prepared,
        *args: Any,  # noqa: ANN401 - as upstream
        **kwargs: Any,  # noqa: ANN401 - as upstream
    ) -> None:
        prepared = _prepare_once(PRODUCER, producer_conf)
        self._begin(prepared)
        super().__init__(prepared.conf, *args, **kwargs)

    @classmethod
    async def create(cls, producer_conf: dict[str, Any], **kwargs: Any) -> Self:  # noqa: ANN401 - as upstream
        """Make a producer; the event loop goes on while the configuration is pushed."""
        prepared = await asyncio.to_thread(prepare, PRODUCER, producer_conf)
        return cls(prepared, **kwargs)


class AIOConsumer(FollowingAIOConsumer, aio.AIOConsumer):
    """An asyncio consumer that pushes its configuration before it is made."""

    def __init__(
        self,
        consumer_conf: dict[str, Any] | Prepared,
        *args: Any,  # noqa: ANN401 - as upstream
        **kwargs: Any,  # noqa: ANN401 - as upstream
    ) -> None:
        prepared = _prepare_once(CONSUMER, consumer_conf)
        self._begin(prepared)
        super().__init__(prepared.conf, *args, **kwargs)

    @classmethod
    async def create(cls, consumer_conf: dict[str, Any], **kwargs: Any) -> Self:  # noqa: ANN401 - as upstream
        """Make a consumer; the event loop goes on while the configuration is pushed."""
        prepared = await asyncio.to_thread(prepare, CONSUMER, consumer_conf)
        return cls(prepared, **kwargs)


class AsyncSerializingProducer(
    FollowingAIOProducer, aio.AsyncSerializingProducer[K, V]
):
    """An asyncio serializing producer; `await` it, as upstream."""

    async def __init__(self, conf: dict[str, Any], *args: Any, **kwargs: Any) -> None:  # type: ignore[misc] # noqa: ANN401 - as upstream
        prepared = await asyncio.to_thread(
            prepare_with_serdes, PRODUCER, conf, SERIALIZERS
        )
        self._begin(prepared)
        await super().__init__(prepared.conf, *args, **kwargs)


class AsyncDeserializingConsumer(
    FollowingAIOConsumer, aio.AsyncDeserializingConsumer[K, V]
):
    """An asyncio deserializing consumer; `await` it, as upstream."""

    async def __init__(self, conf: dict[str, Any], *args: Any, **kwargs: Any) -> None:  # type: ignore[misc] # noqa: ANN401 - as upstream
        prepared = await asyncio.to_thread(
            prepare_with_serdes, CONSUMER, conf, DESERIALIZERS
        )
        self._begin(prepared)
        await super().__init__(prepared.conf, *args, **kwargs)


def _prepare_once(client_type: str, conf: dict[str, Any] | Prepared) -> Prepared:
    return conf if isinstance(conf, Prepared) else prepare(client_type, conf)
