"""The plan of the site: what it promises of its clients."""

from collections import Counter

from pipelines.demo.site_plan import (
    CLIENTS,
    MENDED_QUOTAS,
    QUOTAS,
    ROLLED,
    TOPICS,
    Family,
)
from tests.support.documents import read_page

WRONG = [one for one in CLIENTS if one.rule]


def test_there_are_twelve_clients_of_three_families_and_half_of_them_are_wrong():
    assert len({one.client_id for one in CLIENTS}) == 12
    assert {one.family for one in CLIENTS} == {*Family}
    assert len({one.rule for one in WRONG}) == len(WRONG) == 6
    assert {one.topic for one in CLIENTS} == TOPICS.keys()
    groups = Counter(one.group_id for one in CLIENTS if one.group_id)
    assert set(groups.values()) == {1}


def test_each_fault_has_a_fix_that_is_not_there_yet():
    limited = {quota.entity.get("client-id") for quota in MENDED_QUOTAS}
    assert limited <= {quota.entity.get("client-id") for quota in QUOTAS}
    for one in WRONG:
        assert bool(one.fix) != (one.client_id in limited)
        assert one.mended().configs.items() >= one.fix.items()
        assert all(one.configs.get(key) != value for key, value in one.fix.items())


def test_right_clients_alone_are_rolled():
    right = {one.client_id for one in CLIENTS if not one.rule}
    assert ROLLED.keys() <= right


def test_the_guide_tells_each_client_and_each_fix():
    page = read_page("docs/guide/site.md")
    for one in CLIENTS:
        assert f"`{one.client_id}`" in page
        assert all(f"`{k}={v}`" in page for k, v in one.fix.items())
