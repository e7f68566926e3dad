"""Shards of a test run: every shard runs whole files, and together they run all."""

import re

SHARD = re.compile(r"(\d+)/([1-9]\d*)")


def parse_shard(text):
    """Return the index and the number of shards of a text such as `2/8`.

    Raises:
        ValueError: The text has another form, or the index is not below the number.
    """
    match = SHARD.fullmatch(text)
    if match is None or int(match[1]) >= int(match[2]):
        raise ValueError(f"--shard: must be INDEX/NUMBER with INDEX < NUMBER: {text}")
    return int(match[1]), int(match[2])


def split_items(items, index, number):
    """Return the tests of one shard, and those of all others.

    Files are dealt out in the order of their paths, so that fixtures of a module are
    created in one shard only.
    """
    files = sorted({item.path for item in items})
    chosen = set(files[index::number])
    kept = [item for item in items if item.path in chosen]
    return kept, [item for item in items if item.path not in chosen]
