"""Topics as a cluster knows them, once every broker that is asked has heard of them.

A broker learns what its controller has decided a moment after who asked for it did, so
that the first answer about a new topic may be that there is none.
"""

import threading
import time

PATIENCE_S = 180
PAUSE_S = 0.02


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


def make_topic(admin, new_topic):
    """Create a topic and wait until it can be asked for; return its name."""
    name = new_topic.topic
    admin.create_topics([new_topic])[name].result(PATIENCE_S)
    find_partitions(admin, name)
    return name
