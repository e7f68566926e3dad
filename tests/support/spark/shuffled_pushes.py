"""Pushes of a fleet in any order, and what the tables must say of them in the end."""

import random
from collections import defaultdict
from dataclasses import dataclass

from tests.support.spark.config_records import START_MS, entry, make_record

PRODUCERS, CONSUMERS = frozenset({"producer"}), frozenset({"consumer"})
GROUPS = frozenset({"consumer", "share_consumer"})
NOBODY = frozenset({"producer", "consumer", "share_consumer", "admin", "streams"})
KEYS = {
    "acks": ("STRING", ["all", "1", "0"], PRODUCERS),
    "linger.ms": ("LONG", ["0", "5", " 5", "x"], PRODUCERS),
    "batch.size": ("INT", ["16384", "1"], PRODUCERS),
    "client.id": ("STRING", ["a", "b"], NOBODY),
    "com.acme.token": ("STRING", ["never-shown"], NOBODY),
    "ssl.key.password": ("PASSWORD", ["never-shown"], NOBODY),
    "max.poll.records": ("INT", ["500", "9"], GROUPS),
    "isolation.level": ("STRING", ["read_committed"], CONSUMERS),
}
"""Key to type, values, and who may have it; what all may have says nothing."""
OF_NOBODY = [key for key, (_, _, types) in KEYS.items() if types == NOBODY]
OF_PRODUCERS = [key for key, (_, _, types) in KEYS.items() if types == PRODUCERS]
OF_CONSUMERS = ["max.poll.records", "isolation.level"]
HIDDEN = {"com.acme.token", "ssl.key.password"}
INVALID = {("linger.ms", "x")}
OPEN_MS = 10**15


@dataclass(frozen=True)
class Push:
    """One push as it was sent."""

    number: int
    instance: str
    client_id: str
    received_at_ms: int
    entries: tuple
    """(key, value, type name, is default)"""
    is_cut: bool

    @property
    def push_id(self):
        return f"push-{self.number:05}"

    @property
    def order(self):
        return self.received_at_ms, self.push_id

    @property
    def who(self):
        return self.instance, self.client_id

    def record(self, offset):
        """Return it as a record of the topic."""
        headers = {
            "client_instance_id": self.instance,
            "client_id": self.client_id,
            "received_at_ms": str(self.received_at_ms),
            "push_id": self.push_id,
            "client_software_version": f"4.{self.number % 2}.0",
        }
        body = b"\x09cut" if self.is_cut else None
        made = [entry(*one[:3], is_default=one[3]) for one in self.entries]
        return make_record(offset, *made, body=body, **headers)


def make_pushes(count, seed):
    """Return pushes of instances that push up to some times, some at the same moment.

    Most have keys of a producer, of a consumer or such as say nothing of it; a few
    have keys of both. Some instances push as another client in between.
    """
    dice = random.Random(seed)  # noqa: S311 - to be repeatable
    pushes = []
    for number in range(count):
        instance = dice.randrange(1 + count // 3)
        telling = OF_CONSUMERS if instance % 5 == 0 else OF_PRODUCERS
        if dice.random() < 0.03:
            telling = [*OF_CONSUMERS, *OF_PRODUCERS]
        keys = [one for one in [*OF_NOBODY, *telling] if dice.random() < 0.5]
        dice.shuffle(keys)
        chosen = [
            (key, dice.choice(KEYS[key][1]), KEYS[key][0], dice.random() < 0.3)
            for key in keys
        ]
        pushes.append(
            Push(
                number=number,
                instance=f"{instance:022}",
                client_id=f"app-{(instance + (dice.random() < 0.1)) % 4}",
                received_at_ms=START_MS + dice.randrange(count) * 500,
                entries=tuple(chosen),
                is_cut=dice.random() < 0.03,
            )
        )
    return pushes


def find_type(pushes):
    """Return the only type of client that may have all keys of some pushes, or None."""
    types = NOBODY
    for push in pushes:
        for key, *_ in push.entries:
            types &= KEYS[key][2]
    return next(iter(types)) if len(types) == 1 else None


def find_types(pushes):
    """Return {(client instance, client id): type} by all that it pushed as that."""
    told = defaultdict(list)
    for push in pushes:
        if not push.is_cut:
            told[push.who].append(push)
    return {who: find_type(own) for who, own in told.items()}


def find_ends(pushes, seed):
    """Return client instance to the millisecond of its end, for some of them."""
    dice = random.Random(seed)  # noqa: S311 - to be repeatable
    instances = sorted({push.instance for push in pushes})
    chosen = dice.sample(instances, len(instances) // 4)
    return {one: START_MS + dice.randrange(len(pushes)) * 500 + 250 for one in chosen}


def expect_history(pushes, ends):
    """Return (client_id, type, key, value, from, to or OPEN_MS, instances), sorted."""
    rows = []
    for place, spans in find_spans(pushes, ends).items():
        spans.sort()
        while spans:
            start, stop, first = spans.pop(0)
            holders = {first}
            while spans and spans[0][0] <= stop:
                _, end, instance = spans.pop(0)
                stop = max(stop, end)
                holders.add(instance)
            rows.append((*place, start, stop, tuple(sorted(holders))))
    return sorted(rows, key=str)


def find_spans(pushes, ends):
    """Return {(client_id, type, key, value): [(from, to, instance)]}, push by push."""
    by_instance, newest, types = defaultdict(list), {}, find_types(pushes)
    for push in sorted(pushes, key=lambda one: one.order):
        if not push.is_cut:
            by_instance[push.instance].append(push)
            newest[push.client_id, types[push.who]] = push.received_at_ms
    spans = defaultdict(list)
    for instance, own in by_instance.items():
        stops = [later.received_at_ms for later in own[1:]]
        end, last = ends.get(instance, OPEN_MS), own[-1]
        newest_at = newest[last.client_id, types[last.who]]
        is_over = last.received_at_ms <= end < newest_at
        for push, stop in zip(own, [*stops, end if is_over else OPEN_MS], strict=True):
            if push.received_at_ms < stop:
                span = push.received_at_ms, stop, instance
                for key, value, _, _ in push.entries:
                    shown = None if key in HIDDEN else value
                    place = push.client_id, types[push.who], key, shown
                    spans[place].append(span)
    return spans


def expect_newest(pushes):
    """Return {client instance: (push_id, type, number)} of client_configs."""
    usable = sorted((one for one in pushes if not one.is_cut), key=lambda p: p.order)
    types = find_types(pushes)
    return {
        push.instance: (push.push_id, types[push.who], push.number) for push in usable
    }


def expect_defaults(pushes):
    """Return {(version, type, key): (default, pushes, other values)}, of what is shown.

    The type is what a push says by itself, empty for none. What does not fit its type
    is no default.
    """
    told = defaultdict(list)
    for push in sorted(pushes, key=lambda one: one.order):
        for key, value, _, is_default in push.entries:
            is_told = key not in HIDDEN and (key, value) not in INVALID
            if is_default and is_told and not push.is_cut:
                place = f"4.{push.number % 2}.0", find_type([push]) or "", key
                told[place].append(value)
    return {
        place: (values[0], len(values), sorted(set(values) - {values[0]}))
        for place, values in told.items()
    }
