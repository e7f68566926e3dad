from pipelines.bridge.client_config_counters import ClientConfigCounters


def test_nothing_has_happened_yet():
    numbers = ClientConfigCounters(10).snapshot()
    assert {name for name, value in numbers.items() if isinstance(value, dict)} == {
        "policy-invocation-count", "policy-error-count", "policy-time-avg",
        "policy-time-max",
    }  # fmt: skip
    assert not any(numbers.values())


def test_numbers_per_instance_are_those_of_its_calls():
    counters = ClientConfigCounters(10)
    counters.note_policy("a", 4.0, has_failed=False)
    counters.note_policy("b", 1.0, has_failed=True)
    counters.note_policy("a", 2.0, has_failed=True)
    numbers = counters.snapshot()
    assert numbers["policy-invocation-count"] == {"a": 2, "b": 1}
    assert numbers["policy-error-count"] == {"a": 1, "b": 1}
    assert numbers["policy-time-avg"] == {"a": 3.0, "b": 1.0}
    assert numbers["policy-time-max"] == {"a": 4.0, "b": 1.0}


def test_only_the_instances_that_pushed_last_have_numbers():
    counters = ClientConfigCounters(2)
    for name in ("a", "b", "a", "c"):
        counters.note_policy(name, 1.0, has_failed=False)
    assert counters.snapshot()["policy-invocation-count"] == {"a": 2, "c": 1}


def test_an_instance_counts_once_however_many_connections_it_has():
    counters = ClientConfigCounters(1)
    for name in ("a", "a", "b"):
        counters.note_present(name)
    assert counters.snapshot()["instance-count"] == 2
    counters.note_gone("a")
    assert counters.snapshot()["instance-count"] == 2
    counters.note_gone("a")
    counters.note_gone("b")
    assert counters.snapshot()["instance-count"] == 0
