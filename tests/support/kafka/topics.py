"""Topics as a cluster knows them, once every broker that is asked has heard of them.

A broker learns what its controller has decided a moment after who asked for it did, so
that the first answer about a new topic may be that there is none.
"""

import threading
import time

from confluent_kafka import KafkaError, KafkaException

PATIENCE_S = 180
PAUSE_S = 0.02
NOT_YET = (
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)


def wait_for(ask, is_right):
    """Ask until the answer is right; return it.

    Raises: AssertionError with the last answer, when it never is.
    """
    deadline = time.monotonic() + PATIENCE_S
    never = threading.Event()
    while not is_right(answer := ask()):
        assert time.monotonic() < deadline, answer
        never.wait(PAUSE_S)
    return answer


def find_partitions(client, topic):
    """Return {number: partition} of a topic that is there, or is about to be."""

    def ask():
        return client.list_topics(topic, PATIENCE_S).topics[topic]

    def has_leaders(found):
        partitions = found.partitions.values()
        return partitions and all(one.leader >= 0 for one in partitions)

    return wait_for(ask, has_leaders).partitions


def find_end(consumer, partition):
    """Return the offset behind a partition's last record."""

    def ask():
        try:
            return consumer.get_watermark_offsets(partition, PATIENCE_S)[1]
        except KafkaException as error:
            # The leader that was just chosen may not know it yet.
            if error.args[0].code() not in NOT_YET:
                raise
            return error

    return wait_for(ask, lambda found: isinstance(found, int))


def make_topic(admin, new_topic):
    """Create a topic and wait until it can be asked for; return its name."""
    name = new_topic.topic
    admin.create_topics([new_topic])[name].result(PATIENCE_S)
    find_partitions(admin, name)
    return name


def is_of_a_new_topic(error):
    """Say whether a broker answers so that has not heard of a topic yet."""
    return error.code() in NOT_YET
