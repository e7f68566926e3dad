from pipelines.bridge.quotas.addresses import MAX_ADDRESSES, AddressRates
from pipelines.bridge.quotas.limits import CONNECTION_KEY, QuotaLimits, SetQuota
from pipelines.bridge.quotas.rates import QuotaWindows


def rates_of(**limits):
    rates = AddressRates(QuotaWindows())
    rates.update(
        QuotaLimits(
            SetQuota((("ip", None if name == "any" else name),), CONNECTION_KEY, value)
            for name, value in limits.items()
        )
    )
    return rates


def test_connections_come_at_the_rate_that_is_allowed():
    rates, now_ms, made = rates_of(any=5.0), 0, []
    while now_ms < 60_000:
        wait_ms = rates.connect("10.0.0.1", now_ms)
        assert wait_ms <= 1_000
        if not wait_ms:
            made.append(now_ms)
        now_ms += wait_ms or 1
    assert len([one for one in made if one < 100]) == 50
    assert abs(len([one for one in made if one >= 20_000]) / 40 / 5 - 1) < 0.1


def test_addresses_are_apart_and_an_own_limit_stands_before_the_default():
    rates = rates_of(**{"10.0.0.1": 1.0, "any": 100.0})
    assert [rates.connect("10.0.0.1", 0) > 0 for _ in range(11)][-2:] == [False, True]
    assert not any(rates.connect("10.0.0.2", 0) for _ in range(100))


def test_without_a_limit_nothing_is_kept():
    rates = rates_of(**{"10.0.0.9": 1.0})
    assert rates.are_limited
    assert rates.connect("10.0.0.1", 0) == 0
    assert len(rates) == 0
    assert not rates_of().are_limited


def test_however_many_addresses_come_few_are_kept():
    rates = rates_of(any=1.0)
    for number in range(MAX_ADDRESSES + 10):
        rates.connect(str(number), 0)
    assert len(rates) == MAX_ADDRESSES
