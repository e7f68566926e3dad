from pipelines.bridge.cluster.followed_subscriptions import FollowedSubscriptions
from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.bridge.telemetry.subscriptions import parse_subscription

OWN = parse_subscription("own", {"metrics": "own."})


def make(*own):
    registry = SubscriptionRegistry()
    return registry, FollowedSubscriptions(registry, own)


def metrics(registry, identity, instance_id):
    return set(registry.select(identity, instance_id).requested_metrics)


def test_own_subscriptions_are_in_force_before_the_cluster_is_asked(
    identity, instance_id
):
    registry, _ = make(OWN)
    assert metrics(registry, identity, instance_id) == {"own."}


def test_cluster_adds_changes_and_removes(identity, instance_id):
    registry, followed = make(OWN)
    changes = followed.update({"a": {"metrics": "a."}, "b": {"metrics": "b."}})
    assert (changes.put, changes.removed, changes.refused) == (("a", "b"), (), ())
    assert metrics(registry, identity, instance_id) == {"own.", "a.", "b."}
    changes = followed.update({"a": {"metrics": "A."}})
    assert (changes.put, changes.removed, changes.refused) == (("a",), ("b",), ())
    assert metrics(registry, identity, instance_id) == {"own.", "A."}


def test_same_answer_leaves_the_version_as_it_is():
    registry, followed = make(OWN)
    resources = {"a": {"metrics": "a."}, "bad": {"match": "client_id=(?!a)"}}
    followed.update(resources)
    before = registry.version
    changes = followed.update({name: dict(one) for name, one in resources.items()})
    assert (changes.put, changes.removed, changes.refused) == ((), (), ())
    assert registry.version == before


def test_only_what_changed_touches_the_registry():
    registry, followed = make()
    followed.update({f"s{number}": {"metrics": "a."} for number in range(50)})
    before = registry.version
    followed.update(
        {f"s{number}": {"metrics": "a."} for number in range(49)}
        | {"s49": {"metrics": "b."}}
    )
    assert registry.version == before + 1


def test_cluster_stands_before_our_own_of_that_name(identity, instance_id):
    registry, followed = make(OWN)
    followed.update({"own": {"metrics": "theirs."}})
    assert metrics(registry, identity, instance_id) == {"theirs."}
    changes = followed.update({})
    assert changes.put == ("own",)
    assert metrics(registry, identity, instance_id) == {"own."}


def test_resource_that_cannot_be_used_is_skipped_and_the_others_stay(
    identity, instance_id
):
    registry, followed = make(OWN)
    followed.update({"a": {"metrics": "a."}, "b": {"metrics": "b."}})
    changes = followed.update(
        {"a": {"metrics": "a.", "match": "client_id=(?!x).*"}, "b": {"metrics": "b."}}
    )
    assert changes.refused == (
        ("a", "lookaround at character 1 is not supported by the bridge"),
    )
    assert changes.removed == ("a",)
    assert metrics(registry, identity, instance_id) == {"own.", "b."}
    assert followed.update({"a": {"metrics": "a."}}).put == ("a",)


def test_refused_resource_still_stands_before_our_own(identity, instance_id):
    registry, followed = make(OWN)
    followed.update({"own": {"interval.ms": "1"}})
    assert metrics(registry, identity, instance_id) == set()


def test_resource_without_properties_is_none(identity, instance_id):
    registry, followed = make(OWN)
    changes = followed.update({"own": {}, "b": {}})
    assert (changes.put, changes.removed, changes.refused) == ((), (), ())
    assert metrics(registry, identity, instance_id) == {"own."}
