"""Pushes of real metrics that can be told apart, and what tables must hold of them."""

import re
from collections import Counter

from tests.bench.generated_pushes import java_push
from tests.support.jobs.job_support import Expectation

PUSHES_PER_CLIENT = 10_000_000
_NUMBER = re.compile(rb"consumer-(\d+)-6f1c2d3e4b5a")
_MOST_POINTS = 5


def make_counted(key):
    """Return the payload of (run, pusher, number)."""
    number = number_of(key)
    return java_push(number, count_points(number))


def number_of(key):
    """Return what a payload says of (run, pusher, number)."""
    _, pusher, number = key
    return pusher * PUSHES_PER_CLIENT + number


def count_points(number):
    """Return how many points a payload has: one at least."""
    return 1 + number % _MOST_POINTS


def read_number(payload):
    """Return the number that a payload says."""
    return int(_NUMBER.search(payload)[1])


def expect_records(records):
    """Return how often each number was read, and what the tables must hold."""
    stored, expected = Counter(), Expectation()
    for record in records:
        number = read_number(record.value())
        stored[number] += 1
        said = {name: value.decode() for name, value in record.headers()}
        push_id = said["push_id"]
        place = record.topic(), record.partition(), record.offset()
        expected.pushes.append((*place, push_id))
        expected.points += [(push_id, n) for n in range(count_points(number))]
        push = int(said["received_at_ms"]), push_id, said["principal"]
        seen = expected.instances.setdefault(said["client_instance_id"], [])
        seen.append((*push, said["terminating"] == "true"))
    return stored, expected
