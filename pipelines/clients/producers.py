"""Producers that push their configuration; otherwise those of confluent_kafka."""

from typing import Any, TypeVar

import confluent_kafka

from .key_lists import PRODUCER
from .pushing import FollowingProducer
from .starting import prepare, prepare_with_serdes
from .trial_handles import SERIALIZERS

K = TypeVar("K")
V = TypeVar("V")


class Producer(FollowingProducer, confluent_kafka.Producer):
    """A producer that pushes its configuration before it is made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as upstream
        prepared = prepare(PRODUCER, *args, **kwargs)
        self._begin(prepared)
        super().__init__(prepared.conf)


class SerializingProducer(FollowingProducer, confluent_kafka.SerializingProducer[K, V]):
    """A serializing producer that pushes its configuration before it is made."""

    def __init__(self, conf: dict[str, Any]) -> None:
        prepared = prepare_with_serdes(PRODUCER, conf, SERIALIZERS)
        self._begin(prepared)
        super().__init__(prepared.conf)
