"""Counts how many pushed configuration entries one CPU-second judges, types, compares.

`python tests/bench/config_entries.py [--pushes N] [--rounds N]`: bodies as the bridge
writes them, the 11 default keys of KIP-1324's producer, every client with an id of its
own; the second case has 3 sensitive keys in 11, the third a secret in the value of one
push in a hundred, in the fourth client ids are random bytes in Base64. Decoding, rules, types, statuses and hashes together, and each alone.
It prints and never fails on a number.
"""

import argparse
import base64
import random
import statistics
import sys
import time
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.bridge.protocol.push_config import (  # noqa: E402 - path
    ClientConfig,
    write_push_config,
)
from pipelines.settings import load_config_catalogs, load_settings  # noqa: E402 - path
from pipelines.settings.rules import make_sensitive_key_rules  # noqa: E402 - path
from udfs.configs.defaults import (  # noqa: E402 - path
    DEFAULT_SCHEMA,
    compare_with_defaults,
    make_known_defaults,
)
from udfs.configs.described_configs import (  # noqa: E402 - path
    PLACE_COLUMNS,
    resolve_config_defaults,
)
from udfs.configs.entries import (  # noqa: E402 - path
    CONTEXT_COLUMNS,
    judge_config_entries,
)
from udfs.configs.pushes import decode_config_pushes  # noqa: E402 - path
from udfs.configs.value_columns import type_values  # noqa: E402 - path
from udfs.sensitive.sensitive_key_columns import judge_entries  # noqa: E402 - path
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES  # noqa: E402 - path
from udfs.text_codes import code_texts  # noqa: E402 - path

JAVA = "apache-kafka-java"
VERSIONS = ("3.9.2", "4.0.0", "4.3.1")
MAX_BYTES = 1 << 20
KEYS = [
    ("acks", "STRING", "all"), ("batch.size", "INT", "16384"),
    ("buffer.memory", "LONG", "33554432"), ("compression.type", "STRING", "none"),
    ("delivery.timeout.ms", "INT", "120000"), ("enable.idempotence", "BOOLEAN", "true"),
    ("linger.ms", "LONG", "5"), ("max.in.flight.requests.per.connection", "INT", "5"),
    ("request.timeout.ms", "INT", "30000"), ("retries", "INT", "2147483647"),
]  # fmt: skip
SENSITIVE = [
    ("ssl.keystore.password", "PASSWORD", "secret"),
    ("value.serializer", "CLASS", "com.acme.Json"), ("com.acme.token", "STRING", "secret"),
]  # fmt: skip
DEFAULTS = make_known_defaults(
    pa.Table.from_pylist(
        [
            dict(
                zip(
                    DEFAULT_SCHEMA.names,
                    (JAVA, version, "producer", key, default),
                    strict=True,
                )
            )
            for version in VERSIONS
            for key, _, default in KEYS
        ],
        DEFAULT_SCHEMA,
    )
)


def make_bodies(pushes, *, sensitive=0, secret_every=0, has_random_ids=False):
    bodies, random_numbers = [], random.Random(1)  # noqa: S311 - no secrets
    for number in range(pushes):
        client_id = f"app-{number}"
        if secret_every and number % secret_every == 0:
            client_id = f"app?password={number}"
        if has_random_ids:
            client_id = base64.b64encode(random_numbers.randbytes(16)).decode()
        entries = [("client.id", "STRING", client_id, False)]
        kept = KEYS[: len(KEYS) - sensitive]
        # Every third key is set by its user, every sixth to what is its default.
        entries += [
            (
                key,
                name,
                text if place % 6 or place % 3 else f"{number % 50}",
                place % 3 != 0,
            )
            for place, (key, name, text) in enumerate(kept)
        ]
        entries += [(*one, False) for one in SENSITIVE[:sensitive]]
        bodies.append(
            write_push_config(
                ClientConfig(key, text, CONFIG_TYPE_NAMES.index(name), is_default)
                for key, name, text, is_default in entries
            )
        )
    return pa.array(bodies, pa.binary())


def make_context(pushes):
    versions = [VERSIONS[number % len(VERSIONS)] for number in range(pushes)]
    columns = [[JAVA] * pushes, versions, ["producer"] * pushes, [""] * pushes]
    return pa.RecordBatch.from_arrays(
        [pa.array(one, pa.string()) for one in columns],
        names=[*PLACE_COLUMNS, "redactions"],
    )


def measure(name, entries, rounds, run):
    rates = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        rates.append(entries / (time.process_time() - start))
    print(
        f"  {name:<34} median {statistics.median(rates):11,.0f} entries per CPU-second"
        f" ({min(rates):,.0f} to {max(rates):,.0f})"
    )


def measure_case(bodies, context, rules, rounds):
    decoded = decode_config_pushes(bodies, max_bytes=MAX_BYTES)
    entries = len(decoded.pushes)
    keys = decoded.keys.texts.take(pa.array(decoded.keys.codes))
    types = decoded.type_names.texts.take(pa.array(decoded.type_names.codes))
    software, version, client_type = (
        context.column(place).take(pa.array(decoded.pushes)) for place in range(3)
    )

    def rules_types_defaults():
        coded = [
            code_texts(one)
            for one in (software, version, client_type, keys, types, decoded.values)
        ]
        *places, type_names, values = coded
        judge_entries(places[-1], values, type_names, places[0], rules)
        type_values(values, type_names)
        compare_with_defaults(places, type_names, values, DEFAULTS)

    def everything():
        pushes = decode_config_pushes(bodies, max_bytes=MAX_BYTES)
        judged = judge_config_entries(
            pushes, context.select(list(CONTEXT_COLUMNS)), rules=rules
        )
        resolve_config_defaults(
            judged.column("configs"),
            context.select(list(PLACE_COLUMNS)),
            rules=rules,
            defaults=DEFAULTS,
            has_references=False,
        )

    pieces = {
        "decoding": lambda: decode_config_pushes(bodies, max_bytes=MAX_BYTES),
        "rules": lambda: judge_entries(keys, decoded.values, types, software, rules),
        "types": lambda: type_values(decoded.values, types),
        "rules, types and defaults": rules_types_defaults,
        "all, statuses and hashes too": everything,
    }
    for name, run in pieces.items():
        measure(name, entries, rounds, run)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pushes", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rules = make_sensitive_key_rules(
        load_settings("base").sensitive_keys, load_config_catalogs()
    )
    cases = {
        "11 ordinary keys": {},
        "11 keys, 3 of them sensitive": {"sensitive": 3},
        "a secret in the value of one push in 100": {"secret_every": 100},
        "client ids in Base64": {"has_random_ids": True},
    }
    context = make_context(options.pushes)
    pa.set_cpu_count(1)
    for name, case in cases.items():
        bodies = make_bodies(options.pushes, **case)
        print(f"{name}, {options.pushes:,} pushes, {bodies.nbytes:,} bytes:")
        measure_case(bodies, context, rules, options.rounds)


if __name__ == "__main__":
    main()
