"""Shards of a test run: every shard runs whole files, and together they run all."""

import re

ALONE = ("test_demo_site.py",)
"""Names of files that take as long as all files of another shard together."""
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
    created in one shard only. A file of ALONE is a shard of its own, if there are
    enough shards.
    """
    files = sorted({item.path for item in items})
    alone = [one for one in files if one.name in ALONE][: number - 1]
    others = [one for one in files if one not in alone]
    if index < len(alone):
        chosen = {alone[index]}
    else:
        chosen = set(others[index - len(alone) :: number - len(alone)])
    kept = [item for item in items if item.path in chosen]
    return kept, [item for item in items if item.path not in chosen]
