"""Lines of what clients run with, of rows made by hand."""

from pyspark.sql import Row

from pipelines.commands.configs.lines import describe_disagreements


def instance(client, state):
    who = {"principal": "User:a", "client_id": client, "client_type": None}
    return Row(logical_client=client, state=state, **who)


def value(client, text, instances, *, is_default=False):
    who = {"principal": "User:a", "client_id": client, "client_type": None}
    return Row(
        logical_client=client,
        config_key="acks",
        config_value=text,
        is_default=is_default,
        client_instance_ids=instances,
        instances=len(instances),
        **who,
    )


def test_each_client_is_told_whether_its_live_instances_disagree():
    instances = [
        instance("app", "live"),
        instance("calm", "live"),
        instance("calm", None),
        instance("gone", "terminated"),
    ]
    rows = [
        value("app", "all", ["a", "b", "c", "d"], is_default=True),
        value("app", "1\x1b", ["e"]),
        value("seen", "0", ["f"]),
        value("seen", "1", ["g"]),
    ]
    assert list(describe_disagreements(instances, rows)) == [
        "Live instances of client-id app, client of User:a disagree:",
        "  acks",
        "    all (default) instances=4 a, b, c, …",
        "    1\N{REPLACEMENT CHARACTER}            instances=1 e",
        "2 live instances of client-id calm, client of User:a: no difference",
        "0 live instances of client-id gone, client of User:a: no difference",
        # Telemetry knows them, and the proxy has seen their values.
        "Live instances of client-id seen, client of User:a disagree:",
        "  acks",
        "    0 instances=1 f",
        "    1 instances=1 g",
    ]
