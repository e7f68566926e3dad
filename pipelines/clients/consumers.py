"""Consumers that push their configuration; otherwise those of confluent_kafka."""

from typing import Any, TypeVar

import confluent_kafka

from .key_lists import CONSUMER, SHARE_CONSUMER
from .pushing import FollowingConsumer, FollowingShareConsumer
from .starting import prepare, prepare_with_serdes
from .trial_handles import DESERIALIZERS, PLAIN_DESERIALIZERS

K = TypeVar("K")
V = TypeVar("V")


class Consumer(FollowingConsumer, confluent_kafka.Consumer):
    """A consumer that pushes its configuration before it is made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as upstream
        prepared = prepare(CONSUMER, *args, **kwargs)
        self._begin(prepared)
        super().__init__(prepared.conf)


class DeserializingConsumer(
    FollowingConsumer, confluent_kafka.DeserializingConsumer[K, V]
):
    """A deserializing consumer that pushes its configuration before it is made."""

    def __init__(self, conf: dict[str, Any]) -> None:
        prepared = prepare_with_serdes(CONSUMER, conf, DESERIALIZERS)
        self._begin(prepared)
        super().__init__(prepared.conf)


class ShareConsumer(FollowingShareConsumer, confluent_kafka.ShareConsumer):
    """A share consumer that pushes its configuration before it is made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as upstream
        prepared = prepare(SHARE_CONSUMER, *args, **kwargs)
        self._begin(prepared)
        super().__init__(prepared.conf)


class DeserializingShareConsumer(
    FollowingShareConsumer, confluent_kafka.DeserializingShareConsumer
):
    """A deserializing share consumer that pushes its configuration first."""

    def __init__(self, conf: dict[str, Any]) -> None:
        prepared = prepare_with_serdes(SHARE_CONSUMER, conf, PLAIN_DESERIALIZERS)
        self._begin(prepared)
        super().__init__(prepared.conf)
