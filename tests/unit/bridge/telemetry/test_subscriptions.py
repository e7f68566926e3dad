import dataclasses

import pytest
from kio.schema.errors import ErrorCode

from pipelines.bridge.telemetry.selections import SubscriptionRegistry, combine
from pipelines.bridge.telemetry.subscriptions import (
    InvalidRule,
    load_subscriptions,
    parse_subscription,
)
from pipelines.errors import InvalidSetting
from pipelines.settings.records import SubscriptionSettings


def refused(name="s", **properties):
    texts = {key.replace("_", "."): value for key, value in properties.items()}
    with pytest.raises(InvalidRule) as caught:
        parse_subscription(name, texts)
    return caught.value.error_code, str(caught.value)


def make(name="s", metrics="a.", interval="60000", match=""):
    return parse_subscription(
        name, {"metrics": metrics, "interval.ms": interval, "match": match}
    )


def make_setting(**changes):
    values = {"name": "s", "metrics": ("a.",), "interval_ms": 60_000, "match": ()}
    return SubscriptionSettings(**{**values, **changes})


def test_name_must_not_be_empty():
    assert refused("", random="1") == (
        ErrorCode.invalid_request,
        "Subscription name can't be empty",
    )


def test_unknown_key_is_named():
    assert refused(random="1") == (
        ErrorCode.invalid_request,
        "Unknown client metrics configuration: random",
    )


@pytest.mark.parametrize("interval", ["99", "3600001", "-5", "0"])
def test_interval_out_of_range_is_an_invalid_request(interval):
    message = (
        f"Invalid value {interval} for interval.ms, "
        "interval must be between 100 and 3600000 (1 hour)"
    )
    assert refused(interval_ms=interval) == (ErrorCode.invalid_request, message)


@pytest.mark.parametrize("interval", ["abc", "", "1.5", "3000000000", "1e3", "1_000"])
def test_interval_that_is_no_int_is_an_invalid_config(interval):
    message = (
        f"Invalid value {interval} for configuration interval.ms: "
        f"Not a number of type INT"
    )
    assert refused(interval_ms=interval) == (ErrorCode.invalid_config, message)


@pytest.mark.parametrize(
    ("text", "interval"), [("100", 100), ("3600000", 3_600_000), (" +250 ", 250)]
)
def test_interval_in_range_is_taken(text, interval):
    assert make(interval=text).interval_ms == interval


@pytest.mark.parametrize(
    ("match", "shown"),
    [("10", "10"), ("client_id", "client_id"), ("client_id=", "client_id="),
     ("client_id= ", "client_id="), ("client_id=a=b", "client_id=a=b"), ("=a", "=a"),
     ("Client_Id=a", "Client_Id=a"), ("principal=x", "principal=x"), ("a,", "a"),
     ("client_id=a,", ""), ("client_id=[a", "client_id=[a"),
     ("client_id=a{1,2}", "client_id=a{1")],
)  # fmt: skip
def test_bad_selector_is_an_invalid_config_that_shows_it(match, shown):
    assert refused(match=match) == (
        ErrorCode.invalid_config,
        f"Illegal client matching pattern: {shown}",
    )


def test_pattern_that_only_a_broker_takes_is_refused_with_the_reason():
    with pytest.raises(InvalidRule) as caught:
        make(match="client_id=(?!secret).*")
    assert caught.value.error_code is ErrorCode.invalid_config
    assert str(caught.value) == (
        "Illegal client matching pattern: client_id=(?!secret).* "
        "(lookaround at character 1 is not supported by the bridge)"
    )
    assert caught.value.fault == (
        "lookaround at character 1 is not supported by the bridge"
    )


def test_fault_of_an_invalid_rule_holds_no_value():
    with pytest.raises(InvalidRule) as caught:
        make(match="secret=[")
    assert caught.value.fault == "invalid_config"


def test_unset_properties_have_kafkas_defaults():
    subscription = parse_subscription("s", {})
    assert subscription.metrics == ()
    assert subscription.interval_ms == 300_000
    assert subscription.match == {}


@pytest.mark.parametrize(
    ("match", "client_id", "is_hit"),
    [("client_id=a=", "a", True), (" client_id = a.* ", "abc", True),
     ("client_id=a,client_id=b", "b", True), ("client_id=a,client_id=b", "a", False),
     ("", "a", True), ("", None, True), ("client_id=.*", None, False),
     ("client_id=producer", "producer-1", False),
     ("client_id=producer.*", "producer-1", True),
     ("client_id=PRODUCER-1", "producer-1", False),
     ("client_id=.*1,client_software_version=3.5.*", "producer-1", True),
     ("client_id=.*1,client_software_version=3.6.*", "producer-1", False),
     ("client_instance_id=tpzDWnpUR5Cqacwr1O5FOA", "a", True),
     ("client_instance_id=b69cc35a-7a54-4790-aa69-cc2bd4ee4538", "a", False),
     ("client_source_address=127.0.0.1,client_source_port=50123", "a", True),
     ("client_software_name=apache-kafka-java", "a", True)],
)  # fmt: skip
def test_all_selectors_must_match_the_whole_value(
    match, client_id, is_hit, identity, instance_id
):
    client = dataclasses.replace(identity, client_id=client_id)
    registry = SubscriptionRegistry([make(match=match)])
    requested = registry.select(client, instance_id).requested_metrics
    assert requested == (("a.",) if is_hit else ())


@pytest.mark.parametrize(
    ("metrics", "requested"),
    [(" a. , b.\t,c. ", ("c.", "b.", "a.")), ("a.,*", ("",)), ("a.*", ("a.*",)),
     ("a,,b", ("", "a", "b")), ("", ()), ("*", ("",))],
)  # fmt: skip
def test_requested_metrics_are_in_the_brokers_order(metrics, requested):
    assert combine([make(metrics=metrics)]).requested_metrics == requested


@pytest.mark.parametrize(
    ("intervals", "push_interval_ms"),
    [(["3600000"], 300_000), (["30000", "100"], 100), ([], 300_000)],
)
def test_shortest_interval_wins_and_none_is_above_the_default(
    intervals, push_interval_ms
):
    subscriptions = [
        make(f"s{number}", interval=interval)
        for number, interval in enumerate(intervals)
    ]
    assert combine(subscriptions).push_interval_ms == push_interval_ms


def test_subscription_that_does_not_match_is_left_out(identity, instance_id):
    registry = SubscriptionRegistry(
        [
            make("one", interval="30000"),
            make("two", interval="2000", metrics="b."),
            make("three", interval="1000", match="client_id=nobody"),
        ]
    )
    selection = registry.select(identity, instance_id)
    assert selection.push_interval_ms == 2_000
    assert set(selection.requested_metrics) == {"a.", "b."}


def test_each_client_gets_its_own_of_many_subscriptions(identity, instance_id):
    registry = SubscriptionRegistry(
        make(f"s{team}", metrics=f"m{team}.", match=f"client_id=team-{team}-.*")
        for team in range(100)
    )
    # More clients than the registry keeps verdicts of.
    for number in [*range(12_000), *range(100)]:
        client = dataclasses.replace(
            identity, client_id=f"team-{number % 100}-{number}"
        )
        selection = registry.select(client, instance_id)
        assert selection.requested_metrics == (f"m{number % 100}.",)
    nobody = dataclasses.replace(identity, client_id=None)
    assert registry.select(nobody, instance_id).requested_metrics == ()


def test_known_client_is_judged_anew_after_a_change(identity, instance_id):
    registry = SubscriptionRegistry([make(match="client_id=producer-1")])
    assert registry.select(identity, instance_id).requested_metrics == ("a.",)
    registry.put(make(match="client_id=producer-2"))
    assert registry.select(identity, instance_id).requested_metrics == ()


def test_version_grows_with_every_change_and_with_nothing_else(identity, instance_id):
    registry = SubscriptionRegistry()
    registry.put(make())
    before = registry.version
    registry.remove("not there")
    registry.select(identity, instance_id)
    assert registry.version == before
    registry.put(make(interval="500"))
    assert registry.version == before + 1
    assert registry.select(identity, instance_id).push_interval_ms == 500
    registry.remove("s")
    assert registry.version == before + 2
    assert registry.select(identity, instance_id).requested_metrics == ()


def test_settings_become_subscriptions():
    (one,) = load_subscriptions([make_setting(match=(" client_id = a ",))])
    assert (one.name, one.metrics, one.interval_ms) == ("s", ("a.",), 60_000)
    assert one.match["client_id"].pattern == "a"


@pytest.mark.parametrize(
    ("settings", "said"),
    [([make_setting(match=("client_id",))], "subscriptions: s: Illegal client"),
     ([make_setting(match=("client_id=a,b",))], "subscriptions: s: .* comma"),
     ([make_setting(metrics=("a,b",))], "subscriptions: s: .* comma"),
     ([make_setting(name="")], "subscriptions: .no name.: Subscription name"),
     ([make_setting(), make_setting()], "subscriptions: s: .* twice")],
)  # fmt: skip
def test_bad_setting_names_its_subscription(settings, said):
    with pytest.raises(InvalidSetting, match=said):
        load_subscriptions(settings)
