"""One name and one unit a setting: rules have the Java client's, whoever is asked.

Source: librdkafka's CONFIGURATION.md. Its own `request.timeout.ms` of a producer is
another thing than Java's, which is its `socket.timeout.ms`, and so is its
`message.max.bytes` beside `max.request.size`.
"""

from collections.abc import Iterator, Sequence

from pipelines.reading.views.client_config_views import PUSHED
from pipelines.reading.views.wire_config_views import SEEN, WIRE

LIBRDKAFKA = "librdkafka"
LIBRDKAFKA_NAMES = {
    "acks": ("acks", "request.required.acks"),
    "buffer.memory": ("queue.buffering.max.kbytes", "buffer.memory"),
    "compression.type": ("compression.type", "compression.codec"),
    "delivery.timeout.ms": ("delivery.timeout.ms", "message.timeout.ms"),
    "fetch.max.wait.ms": ("fetch.wait.max.ms", "fetch.max.wait.ms"),
    "linger.ms": ("linger.ms", "queue.buffering.max.ms"),
    "max.in.flight.requests.per.connection": (
        "max.in.flight.requests.per.connection",
        "max.in.flight",
    ),
    "max.partition.fetch.bytes": (
        "fetch.message.max.bytes",
        "max.partition.fetch.bytes",
    ),
    "request.timeout.ms": ("socket.timeout.ms", "request.timeout.ms"),
    "retries": ("retries", "message.send.max.retries"),
}
"""A rule's key to librdkafka's names of it; the first one that has a value counts. A
client that pushes for librdkafka may have said Java's."""
_PRODUCERS = f"{LIBRDKAFKA} producer"
_OTHERS = ""
_KILOBYTES = "queue.buffering.max.kbytes"
_AMBIGUOUS = "request.timeout.ms"

NAMING_TYPE = "naming STRING, wanted ARRAY<STRUCT<key: STRING, names: ARRAY<STRING>>>"
NAMING_SQL = f"""CASE WHEN family <> '{LIBRDKAFKA}' THEN '{_OTHERS}'
  WHEN client_type = 'producer' THEN '{_PRODUCERS}' ELSE '{LIBRDKAFKA}' END"""
"""Over a client's row: which of list_namings is its."""

# What a client has pushed stands before what was seen of it, and that before defaults;
# what is hidden, or no value of its key, is not known. One expression for all keys:
# a plan with one for each would take longer to make than to run.
HELD_SQL = f"""
filter(transform(wanted, one -> transform(array(named_struct(
    'pushed', get(filter(one.names, n -> map_contains_key(configs, n)), 0),
    'stated', get(filter(one.names, n -> map_contains_key(base, n)), 0))),
  name -> named_struct('key', one.key, 'held', CASE
    WHEN name.pushed IS NOT NULL THEN CASE
      WHEN configs[name.pushed].status IN ('redacted', 'invalid_value') THEN NULL
      WHEN configs[name.pushed].config_value <> '' THEN named_struct(
        'text', configs[name.pushed].config_value,
        'status', configs[name.pushed].status, 'source', '{PUSHED}',
        'name', name.pushed)
      WHEN configs[name.pushed].config_value IS NULL
        AND configs[name.pushed].status = 'default' THEN named_struct(
        'text', base[name.stated].value, 'status', 'default',
        'source', base[name.stated].source, 'name', name.stated) END
    WHEN map_contains_key(wired, one.key) THEN named_struct(
      'text', nullif(wired[one.key], ''), 'status', '{SEEN}', 'source', '{WIRE}',
      'name', one.key)
    WHEN is_incomplete THEN named_struct(
      'text', base[name.stated].value, 'status', 'default',
      'source', base[name.stated].source, 'name', name.stated) END))[0]),
  one -> one.held.text IS NOT NULL)"""
"""Over a client's row: array of key and of held (text, status, source, name)."""
# To librdkafka, a delivery.timeout.ms of 0 is without end.
ENTRIES_SQL = f"""
map_from_entries(transform(transform(held, one -> named_struct('key', one.key,
  'held', one.held, 'text', CASE
    WHEN one.key = 'acks' THEN
      IF(trim(one.held.text) = '-1', 'all', lower(trim(one.held.text)))
    WHEN one.key = 'auto.offset.reset' THEN CASE lower(trim(one.held.text))
      WHEN 'smallest' THEN 'earliest' WHEN 'beginning' THEN 'earliest'
      WHEN 'largest' THEN 'latest' WHEN 'end' THEN 'latest'
      WHEN 'error' THEN 'none' ELSE lower(trim(one.held.text)) END
    WHEN one.held.name = '{_KILOBYTES}' THEN
      string(1024 * try_cast(trim(one.held.text) AS BIGINT))
    ELSE one.held.text END)),
  one -> struct(one.key, named_struct('text', one.text,
    'num', IF(family = '{LIBRDKAFKA}' AND one.key = 'delivery.timeout.ms'
        AND trim(one.text) = '0', double('Infinity'),
      try_cast(trim(one.text) AS DOUBLE)),
    'yes', CASE lower(trim(one.text)) WHEN 'true' THEN true WHEN 'false' THEN false END,
    'status', one.held.status, 'source', one.held.source, 'name', one.held.name))))"""
"""Over a client's row with `held`: map of key to what rules see of it."""


def list_names(keys: Sequence[str]) -> tuple[str, ...]:
    """Return every name by which clients may have these keys."""
    names = (name for key in keys for name in (key, *LIBRDKAFKA_NAMES.get(key, ())))
    return tuple(dict.fromkeys(names))


def list_namings(
    keys: Sequence[str],
) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """Return rows of NAMING_TYPE: by which names the clients of one kind have keys."""
    yield _OTHERS, [(key, [key]) for key in keys]
    named = [(key, [*LIBRDKAFKA_NAMES.get(key, (key,))]) for key in keys]
    yield LIBRDKAFKA, named
    yield (
        _PRODUCERS,
        [
            (key, [one for one in names if (key, one) != (_AMBIGUOUS, _AMBIGUOUS)])
            for key, names in named
        ],
    )
