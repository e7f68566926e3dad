"""What rules see of keys, by what was pushed, what was seen and what is usual."""

import math

import pyarrow as pa
import pytest

from udfs.configs.known_values import (
    KNOWN_TYPE,
    ValueWords,
    find_known_values,
    list_names,
)

KEYS = (
    *("acks", "auto.offset.reset", "buffer.memory", "delivery.timeout.ms"),
    *("enable.idempotence", "linger.ms", "request.timeout.ms"),
)
JAVA, LIBRDKAFKA = "java", "librdkafka"
ENTRY = pa.struct(
    [
        ("config_value", pa.string()),
        ("status", pa.string()),
        ("is_default", pa.bool_()),
        ("value_list", pa.list_(pa.string())),
    ]
)
STATED = pa.struct([("value", pa.string()), ("source", pa.string())])
TYPES = {
    "family": pa.string(),
    "client_type": pa.string(),
    "configs": pa.map_(pa.string(), ENTRY),
    "wired": pa.map_(pa.string(), pa.string()),
    "base": pa.map_(pa.string(), STATED),
}
WORDS = ValueWords(pushed="pushed", wire="wire", seen="seen")
KILOBYTES = "queue.buffering.max.kbytes"


def said(value, status="overridden", *, is_default=False):
    return {
        "config_value": value,
        "status": status,
        "is_default": is_default,
        "value_list": None,
    }


USUAL = said("x", "default", is_default=True)


def stated(**values):
    """Return defaults; a _ stands for a dot."""
    return {
        key.replace("_", "."): {"value": value, "source": "catalog"}
        for key, value in values.items()
    }


def client(configs=None, wired=None, base=None, family=JAVA, client_type="producer"):
    maps = {"configs": configs, "wired": wired, "base": base}
    known = {k: None if v is None else [*v.items()] for k, v in maps.items()}
    return {"family": family, "client_type": client_type} | known


def batch(clients):
    return pa.RecordBatch.from_pylist(clients, schema=pa.schema([*TYPES.items()]))


def know(*clients):
    """Return key to what is known, of each client."""
    found = find_known_values(batch(clients), KEYS, WORDS)
    assert found.type == KNOWN_TYPE
    found.validate(full=True)
    return [dict(one) for one in found.to_pylist()]


def texts(known):
    return {key: (one["text"], one["source"]) for key, one in known.items()}


def test_a_push_stands_before_the_wire_and_that_before_defaults():
    wired = {"acks": "1", "linger.ms": "2", "retries": "7"}
    base = stated(acks="all", linger_ms="0", delivery_timeout_ms="120000")
    pushed = {"acks": said("0", "set_to_default")}
    first, whole, without_push = know(
        client(pushed, wired, base),
        client(pushed | {"x": USUAL}, wired, base),
        client(None, wired, base),
    )
    assert first == {
        "acks": {
            "text": "0",
            "num": 0.0,
            "yes": None,
            "status": "set_to_default",
            "source": "pushed",
            "name": "acks",
        },
        "linger.ms": {
            "text": "2",
            "num": 2.0,
            "yes": None,
            "status": "seen",
            "source": "wire",
            "name": "linger.ms",
        },
        "delivery.timeout.ms": {
            "text": "120000",
            "num": 120000.0,
            "yes": None,
            "status": "default",
            "source": "catalog",
            "name": "delivery.timeout.ms",
        },
    }
    # Who pushes a default pushes them all; who has not pushed may have set anything.
    assert texts(whole) == {"acks": ("0", "pushed"), "linger.ms": ("2", "wire")}
    assert texts(without_push) == {"acks": ("1", "wire"), "linger.ms": ("2", "wire")}


def test_what_is_hidden_empty_or_no_value_is_not_known_by_anything_else():
    wired, base = {"acks": "1", "linger.ms": ""}, stated(acks="all", linger_ms="0")
    *unknown, usual, empty = know(
        *(
            client({"acks": one}, wired, base)
            for one in (
                said(None, "redacted"),
                said("many", "invalid_value"),
                said(""),
                said(None),
                said("", "default"),
                None,
            )
        ),
        client({"acks": said(None, "default", is_default=True)}, wired, base),
        client({"acks": said("all")}, None, stated(linger_ms="")),
    )
    assert unknown == [{}] * 6
    # It says that it has the default, and not which.
    assert texts(usual) == {"acks": ("all", "catalog")}
    assert texts(empty) == {"acks": ("all", "pushed")}


def test_names_and_units_of_librdkafka_become_javas():
    def pushed(client_type="producer", **values):
        given = {k.replace("_", "."): said(v) for k, v in values.items()}
        return client(given, None, None, LIBRDKAFKA, client_type)

    kilobytes, wrong, both, own, consumer, java = know(
        pushed(queue_buffering_max_kbytes=" 64 ", delivery_timeout_ms="0"),
        pushed(queue_buffering_max_kbytes="1M", message_timeout_ms="9"),
        pushed(queue_buffering_max_ms="7", linger_ms="5", acks=" -1"),
        pushed(request_timeout_ms="30000"),
        pushed("consumer", request_timeout_ms="30000", auto_offset_reset="Smallest"),
        client({KILOBYTES: said("64"), "delivery.timeout.ms": said("0")}),
    )
    assert kilobytes["buffer.memory"]["text"] == "65536"
    assert kilobytes["buffer.memory"]["num"] == 65536.0
    assert kilobytes["buffer.memory"]["name"] == KILOBYTES
    assert kilobytes["delivery.timeout.ms"]["num"] == math.inf
    assert wrong["buffer.memory"]["text"] is None
    assert wrong["delivery.timeout.ms"]["name"] == "message.timeout.ms"
    assert texts(both) == {"linger.ms": ("5", "pushed"), "acks": ("all", "pushed")}
    assert own == {}
    assert consumer["request.timeout.ms"]["text"] == "30000"
    assert consumer["auto.offset.reset"]["text"] == "earliest"
    assert java["delivery.timeout.ms"]["num"] == 0
    assert "buffer.memory" not in java
    assert {"acks", "request.required.acks", KILOBYTES} < {*list_names(KEYS)}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *((" 5 ", 5.0), ("+5.", 5.0), ("-.5e1", -5.0), ("5f", 5.0), ("5\t", 5.0)),
        *(("1e999", math.inf), ("-Infinity", -math.inf), ("+inf", math.inf)),
        *(("5 ms", None), ("1_000", None), ("inf.", None), ("5ff", None), (".", None)),
    ],
)
def test_texts_are_numbers_as_spark_reads_them(text, number):
    (known,) = know(client({"linger.ms": said(text)}))
    assert known["linger.ms"]["text"] == text
    assert known["linger.ms"]["num"] == number


def test_texts_say_yes_or_no():
    known = know(
        *(client({"enable.idempotence": said(t)}) for t in ("TRUE ", "false", "1"))
    )
    assert [one["enable.idempotence"]["yes"] for one in known] == [True, False, None]
    assert math.isnan(know(client({"linger.ms": said("NaN")}))[0]["linger.ms"]["num"])


def test_parts_of_a_batch_and_empty_ones_are_read_as_they_are():
    clients = [client({"acks": said(str(n)), "x": USUAL}) for n in range(5)]
    whole = batch([client(), *clients])
    for part in (whole, whole.slice(2, 3), whole.slice(3, 0)):
        found = find_known_values(part, KEYS, WORDS).to_pylist()
        acks = [dict(one)["acks"]["text"] if one else None for one in found]
        expected = [
            one and dict(one)["acks"]["config_value"]
            for one in part.column("configs").to_pylist()
        ]
        assert acks == expected
    assert know() == []
