"""What a bridge finds for one client is what the kernel of quotas finds for many."""

import random

import pytest

from pipelines.bridge.core.client_identity import address_text
from pipelines.bridge.quotas.limits import QuotaLimits, SetQuota, Tags
from tests.support.quotas.quota_rows import (
    batch_of,
    client_batch,
    entity_rows,
    random_clients,
    random_entities,
)
from udfs.quotas import CONNECTION_KEY, quota_snapshot, resolve_quotas

KEYS = ("producer_byte_rate", "consumer_byte_rate", CONNECTION_KEY)


def limits_of(rows):
    """Return the same quotas as the bridge has them."""
    quotas = []
    for row in rows:
        entity = tuple(
            (kind, row[name])
            for kind, name, flag in (
                ("client-id", "client_id", "is_default_client_id"),
                ("ip", "ip", "is_default_ip"),
                ("user", "user_name", "is_default_user"),
            )
            if row[name] is not None or row[flag]
        )
        quotas.append(SetQuota(entity, row["quota_key"], row["quota_value"]))
    return QuotaLimits(quotas)


def test_limits_and_tags_are_those_of_the_kernel():
    choose = random.Random(20_261_126)  # noqa: S311 - no secret is made of it
    found = 0
    for _ in range(400):
        rows = random_entities(choose)
        limits, snapshot = limits_of(rows), quota_snapshot(batch_of(rows))
        clients = random_clients(choose, 5)
        resolved = resolve_quotas(client_batch(clients), snapshot, KEYS).to_pylist()
        for row in resolved:
            user, client_id, address = clients[row["client_index"]]
            if row["quota_key"] == CONNECTION_KEY:
                mine = limits.allow_address(address_text(address))
                assert mine == row["limit"]
                continue
            allowed = limits.allow(user, client_id, row["quota_key"])
            if row["limit"] is None:
                assert allowed is None
                continue
            found += 1
            assert allowed.limit == row["limit"]
            assert allowed.tags == Tags(row["user_tag"], row["client_id_tag"])
    assert found > 500


@pytest.mark.parametrize("spelled", ["::1", "0:0:0:0:0:0:0:1", "::ffff:10.0.0.1"])
def test_an_address_is_found_however_it_is_spelled(spelled):
    path = f"ips/{spelled.replace(':', '%3A')}"
    limits = limits_of(entity_rows([(path, {CONNECTION_KEY: 5})]))
    assert limits.has_addresses
    assert limits.allow_address(address_text(spelled)) == 5
    assert limits.allow_address("10.0.0.9") is None


def test_nothing_that_is_set_allows_everything():
    limits = QuotaLimits()
    assert not limits.has_addresses
    assert limits.allow("User:alice", None, "producer_byte_rate") is None
    assert limits.allow_address("10.0.0.1") is None
