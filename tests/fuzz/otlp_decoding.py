"""Mutants through the decode kernel, each beside what the protobuf classes say."""

import time
from collections import Counter

from tests.fuzz.otlp_mutations import mutated_push
from tests.fuzz.otlp_seeds import seed_payloads
from tests.fuzz.otlp_trees import read_tree, remember
from tests.unit.udfs.otlp.comparison import decode, expected_rows, point_rows
from tests.unit.udfs.otlp.random_pushes import random_push, seeded

INPUTS_PER_BATCH = 400
INPUTS_PER_NEIGHBOUR = 20
NEIGHBOURS = 40
MAX_INPUT_S = 0.1


class Different(Exception):
    """The kernel and the protobuf classes disagree, or an input took too long."""


class FuzzedDecoder:
    """Feeds batches of mutants, with good pushes between them."""

    def __init__(self, seed):
        self._rng = seeded(seed)
        self._payloads = seed_payloads(self._rng)
        self._trees = [read_tree(payload) for payload in self._payloads]
        self._written = {}
        for tree in self._trees:
            remember(tree, self._written)
        good = [random_push(self._rng) for _ in range(NEIGHBOURS)]
        self._neighbours = [(push, expected_rows(push)) for push in good]
        self.statuses = Counter()
        self.points = 0
        self.slowest_s = 0.0

    def run(self, inputs):
        """Decode so many mutants; returns nothing, and counts what it saw.

        Raises: Different.
        """
        for first in range(0, inputs, INPUTS_PER_BATCH):
            self._run_batch(min(INPUTS_PER_BATCH, inputs - first))

    def _run_batch(self, inputs):
        payloads = [
            mutated_push(self._rng, self._trees, self._payloads, self._written)
            for _ in range(inputs)
        ]
        expected = [expected_rows(payload) for payload in payloads]
        is_mutant = [True] * inputs
        for at in range(inputs, -1, -INPUTS_PER_NEIGHBOUR):
            push, rows = self._rng.choice(self._neighbours)
            payloads.insert(at, push)
            expected.insert(at, rows)
            is_mutant.insert(at, False)
        began = time.thread_time()
        decoded = decode(payloads)
        self._note_time(time.thread_time() - began, payloads)
        statuses = decoded.pushes["decode_status"].to_pylist()
        self._compare(payloads, statuses, decoded, expected)
        mutants = [s for s, kept in zip(statuses, is_mutant, strict=True) if kept]
        self.statuses.update(mutants)

    def _note_time(self, seconds, payloads):
        """Time inputs one by one where a batch took longer than one of them may."""
        if seconds <= MAX_INPUT_S:
            self.slowest_s = max(self.slowest_s, seconds / len(payloads))
            return
        for payload in payloads:
            tries = []
            for _ in range(3):
                began = time.thread_time()
                decode([payload])
                tries.append(time.thread_time() - began)
            self.slowest_s = max(self.slowest_s, min(tries))
            if min(tries) > MAX_INPUT_S:
                raise Different(f"{min(tries):.3f} s: {payload.hex()}")

    def _compare(self, payloads, statuses, decoded, expected):
        rows = point_rows(decoded.points)
        self.points += len(rows)
        ends = decoded.offsets.to_pylist()
        for push, wanted in enumerate(expected):
            is_accepted = statuses[push] == "ok"
            if is_accepted != (wanted is not None):
                raise Different(f"{statuses[push]}: {payloads[push].hex()}")
            if rows[ends[push] : ends[push + 1]] != (wanted or []):
                raise Different(f"values differ: {payloads[push].hex()}")
