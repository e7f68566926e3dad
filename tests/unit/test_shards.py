"""A shard has whole files, and each test is in exactly one shard."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.shards import ALONE, parse_shard, split_items


@dataclass(frozen=True)
class Item:
    """A collected test."""

    path: Path
    name: str


ITEMS = [Item(Path(f"test_{file}.py"), name) for file in "cabed" for name in "xyz"]


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_shards_contain_each_test_once(number):
    shards = [split_items(ITEMS, index, number) for index in range(number)]
    kept = [item for shard, _ in shards for item in shard]
    assert sorted(kept, key=ITEMS.index) == ITEMS
    for shard, others in shards:
        assert sorted((*shard, *others), key=ITEMS.index) == ITEMS
        assert not {item.path for item in shard} & {item.path for item in others}


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_file_of_alone_is_a_shard_of_its_own_if_there_are_enough_shards(number):
    own = [Item(Path("d") / ALONE[0], name) for name in "xyz"]
    items = [*ITEMS, *own]
    shards = [split_items(items, index, number)[0] for index in range(number)]
    kept = [item for shard in shards for item in shard]
    assert sorted(kept, key=items.index) == items
    assert (own in shards) == (number > len(ALONE))


def test_shard_with_valid_text_is_parsed():
    assert parse_shard("0/1") == (0, 1)
    assert parse_shard("7/8") == (7, 8)


@pytest.mark.parametrize("text", ["", "8/8", "1", "-1/8", "1/0", "a/b", "1/8 "])
def test_shard_with_invalid_text_is_rejected(text):
    with pytest.raises(ValueError, match="must be INDEX/NUMBER"):
        parse_shard(text)
