"""What stands in the topic of the cluster's feed, as a consumer of it reads it."""

import time

from confluent_kafka import Consumer, KafkaError, TopicPartition

from pipelines.feed.records import FeedRecord

PATIENCE_S = 60


class TopicReader:
    """Reads committed records in order, each with the time at which it came."""

    def __init__(self, kafka, topic):
        self._consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "reader-of-the-feed",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.metrics.push": False,
                "allow.auto.create.topics": False,
                "fetch.wait.max.ms": 50,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self.records = []
        self.came_s = []

    def poll(self, timeout_s=0.05):
        """Take one record, if one comes in time."""
        message = self._consumer.poll(timeout_s)
        if message is None:
            return None
        if message.error() is not None:
            assert message.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART
            return None
        headers = tuple((name, value) for name, value in message.headers() or ())
        record = FeedRecord(message.key().decode(), message.value(), headers)
        self.records.append(record)
        self.came_s.append(time.monotonic())
        return record

    def wait_for(self, is_wanted, *, start=0):
        """Return the place of the first record from a place on that is wanted."""
        deadline = time.monotonic() + PATIENCE_S
        place = start
        while True:
            for one in self.records[place:]:
                if is_wanted(one):
                    return place
                place += 1
            self.poll()
            assert time.monotonic() < deadline, [
                one.key for one in self.records[start:]
            ]

    def wait_for_key(self, key, *, start=0):
        """Return the first record of a key from a place on."""
        return self.records[self.wait_for(lambda one: one.key == key, start=start)]

    def wait_for_full_set(self, *, start=0):
        """Return the place behind the next full set."""
        return 1 + self.wait_for(
            lambda one: one.key.startswith("full_set/"), start=start
        )

    def close(self):
        self._consumer.close()
