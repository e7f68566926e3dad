"""Configs that a metadata log removes together with their topic.

A RemoveTopic record ends all configs of its topic, and no Config record says so. It
contains only the topic ID, so Topic records are followed to know each topic's name.
References: ConfigurationsDelta.replay(RemoveTopicRecord) of Kafka 4.3.1.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from udfs.cluster.record_bytes import read_topic_record
from udfs.cluster.record_fields import RECORD_FIELDS, TOPIC_FIELDS, name_record
from udfs.cluster.record_keys import (
    TOPIC_RESOURCE,
    config_entity,
    desanitize,
    record_key,
)
from udfs.cluster.record_writing import write_config

from .record_batches import LogRecord
from .records import FeedRecord
from .state import is_removal

TOPIC_KEYS = frozenset(one.api_key for one in TOPIC_FIELDS.values())
"""API keys of the records to read in addition to the published types."""
_TOPIC, _CONFIG = TOPIC_FIELDS["Topic"].api_key, RECORD_FIELDS["Config"].api_key
_PREFIX = record_key("Config", config_entity(TOPIC_RESOURCE, ""))


class UnknownTopic(Exception):
    """Raised when a topic was removed whose name was not read."""


class TopicConfigs:
    """Names of topics by ID, and the published configs of each topic."""

    def __init__(self, keys: Iterable[str] = (), *, is_whole: bool = True) -> None:
        """Follow a log from a position.

        Args:
            keys: Keys of the records that describe the state at that position.
            is_whole: Whether the log or snapshot is read from its start, so that all
                Topic records are seen.
        """
        self._is_whole = is_whole
        self._names: dict[str, str] = {}
        self._configs: dict[str, set[str]] = {}
        for key in keys:
            self._add(key)

    def expand(
        self, record: LogRecord, passed_over: Counter[str]
    ) -> Iterator[LogRecord]:
        """Yield the records to publish in place of a record of the log.

        A removed topic yields one Config record without a value for each config.

        Args:
            passed_over: Counts of unpublished records; gets the records about topics.

        Raises:
            UnknownTopic: Topic records before the position were not read.
        """
        if record.api_key not in TOPIC_KEYS:
            yield record
            return
        passed_over[name_record(record.api_key)] += 1
        fields = read_topic_record(record.value).fields
        if fields is None:
            return
        if record.api_key == _TOPIC:
            self._names[fields["topic_id"]] = fields["name"]
            return
        for value in self._remove(fields["topic_id"]):
            yield record._replace(api_key=_CONFIG, value=value)

    def note(self, record: FeedRecord) -> None:
        """Take a record that is published."""
        if not record.key.startswith(_PREFIX):
            return
        if is_removal(record):
            topic, config = _split(record.key)
            self._configs.get(topic, set()).discard(config)
        else:
            self._add(record.key)

    def _add(self, key: str) -> None:
        if key.startswith(_PREFIX):
            topic, config = _split(key)
            self._configs.setdefault(topic, set()).add(config)

    def _remove(self, topic_id: str) -> list[bytes]:
        name = self._names.pop(topic_id, None)
        if name is None:
            unnamed = self._configs.keys() - self._names.values()
            if unnamed and not self._is_whole:
                raise UnknownTopic
            return []
        configs = sorted(self._configs.pop(name, ()))
        return [write_config(TOPIC_RESOURCE, name, one, None) for one in configs]


def _split(key: str) -> tuple[str, str]:
    topic, _, config = key.removeprefix(_PREFIX).partition("/")
    return desanitize(topic), desanitize(config)
