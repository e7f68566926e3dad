"""Lines of what clients run with, of rows made by hand."""

from pyspark.sql import Row

from pipelines.commands.configs.lines import describe_disagreements, describe_instance


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


def test_each_client_is_told_whether_its_active_instances_disagree():
    instances = [
        instance("app", "active"),
        instance("calm", "active"),
        instance("calm", "active"),
        instance("gone", "terminated"),
    ]
    rows = [
        value("app", "all", ["a", "b", "c", "d"], is_default=True),
        value("app", "1\x1b", ["e"]),
        value("seen", "0", ["f"]),
        value("seen", "1", ["g"]),
    ]
    assert list(describe_disagreements(instances, rows)) == [
        "Active instances of client-id app, client of User:a disagree:",
        "  acks",
        "    all (default) instances=4 a, b, c, …",
        "    1\N{REPLACEMENT CHARACTER}            instances=1 e",
        "2 active instances of client-id calm, client of User:a: no difference",
        "0 active instances of client-id gone, client of User:a: no difference",
        # Telemetry knows them, and the proxy has seen their values.
        "Active instances of client-id seen, client of User:a disagree:",
        "  acks",
        "    0 instances=1 f",
        "    1 instances=1 g",
    ]


def entry(key, value, **fields):
    known = {"config_key": key, "config_value": value, "config_type": "STRING"}
    known |= {"status": "overridden", "source": "pushed", "catalog_version": None}
    return Row(**known | {"dynamic_value": None} | fields)


def test_what_is_set_dynamically_stands_behind_the_entry():
    who = {"principal": "User:a", "client_id": "app", "client_type": "producer"}
    client = Row(
        client_instance_id="one",
        client_software_name="kafka",
        client_software_version="1",
        received_at=None,
        state="active",
        **who,
    )
    dynamic = {"dynamic_source": "dynamic_user", "state": "ignored"}
    entries = [
        entry("acks", "1", dynamic_value="all", is_obeyed=False, **dynamic),
        entry("x", "y"),
        entry("z", None, dynamic_value="2", is_obeyed=None, **dynamic),
    ]
    head, *rows = describe_instance(client, entries, is_all=True)
    assert head.endswith("producer of User:a, kafka 1, not pushed, active) are:")
    usual = "sensitive=false type=STRING status=overridden source=pushed"
    assert [" ".join(row.split()) for row in rows] == [
        f"acks=1 {usual} dynamic=all of=dynamic_user state=ignored obeyed=false",
        f"x=y {usual}",
        f"z=null {usual} dynamic=2 of=dynamic_user state=ignored obeyed=unknown",
    ]
    plain = list(describe_instance(client, entries[1:2], is_all=True))
    assert plain[1] == f"  x=y {usual}"
