"""What rules see of a client's keys: one name and one unit, whoever is asked.

Strategy: the entries of all maps of a batch are looked at once, each name's place in
each row becomes a number, and then each key chooses between places, a column at a time.
Texts are taken by these places at the end, and each different one is read once.
What a client has pushed stands before what was seen of it, and that before defaults;
what is hidden, or no value of its key, is not known.
Source: librdkafka's CONFIGURATION.md. Its own `request.timeout.ms` of a producer is
another thing than Java's, which is its `socket.timeout.ms`, and so is its
`message.max.bytes` beside `max.request.size`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.text_codes import code_texts

from .key_lists import PRODUCER

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
"""A rule's key to librdkafka's names of it; the first one that is there counts. A
client that pushes for librdkafka may have said Java's."""
KNOWN_TYPE = pa.map_(
    pa.string(),
    pa.struct(
        [
            ("text", pa.string()),
            ("num", pa.float64()),
            ("yes", pa.bool_()),
            ("status", pa.string()),
            ("source", pa.string()),
            ("name", pa.string()),
        ]
    ),
)
"""A key to what rules see of it; name is the client's own one."""
_AMBIGUOUS = "request.timeout.ms"
_ENDLESS = "delivery.timeout.ms"
"""To librdkafka, 0 of it is without end."""
_KILOBYTES = "queue.buffering.max.kbytes"
_DEFAULT = "default"
_UNUSABLE = pa.array(["redacted", "invalid_value"])
_OFFSET_RESETS = {
    "smallest": "earliest",
    "beginning": "earliest",
    "largest": "latest",
    "end": "latest",
    "error": "none",
}
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?$"
_WHOLE_NUMBER = r"^[+-]?[0-9]{1,15}$"
_NAMED_NUMBERS = {
    f"{sign}{name}": number * factor
    for sign, factor in (("", 1), ("+", 1), ("-", -1))
    for name, number in (("inf", np.inf), ("infinity", np.inf), ("nan", np.nan))
}
_BLANKS = "".join(map(chr, range(0x21)))

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueWords:
    """What is said of values."""

    pushed: str
    """Source of what a client has pushed."""
    wire: str
    """Source of what was seen of it."""
    seen: str
    """Status of that."""


@dataclass(frozen=True, slots=True)
class _Names:
    """By which names the clients of each kind have keys, as numbers of `texts`."""

    keys: tuple[str, ...]
    texts: pa.StringArray
    by_key: tuple[tuple[tuple[tuple[int, ...], Mask], ...], ...]
    """For each key: names, in their order, and of which kinds they are."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is known, one a row and key, in the order of rows and keys."""

    rows: Places
    keys: Places
    names: Places
    items: Places
    """Place among the entries of pushes, then of what was seen, then of defaults."""


def list_names(keys: Sequence[str]) -> tuple[str, ...]:
    """Return every name by which clients may have these keys."""
    names = (name for key in keys for name in (key, *LIBRDKAFKA_NAMES.get(key, ())))
    return tuple(dict.fromkeys(names))


def find_known_values(
    clients: pa.RecordBatch, keys: Sequence[str], words: ValueWords
) -> pa.MapArray:
    """Say what is known of some keys of each client.

    Args:
        clients: family, client_type: string. configs: map of name to a struct of
            config_value, status and is_default among others, as it was pushed. wired:
            map of key to string, as it was seen. base: map of name to a struct of value
            and source, the defaults of clients of its kind.
        keys: Those that are looked for, by Java's names, each once.
        words: What is said of values.
    Returns: KNOWN_TYPE; num is null for no number, yes for neither true nor false.
    Shape: n rows in, n rows out, same order; keys of which nothing is known are absent.
    Nulls: A null map is an empty one. What a client that pushed no default leaves out
        has one; without a push at all, nothing is known by defaults. A text is null
        where it is in a unit of its own, and no number.
    Errors: Never raises for data.
    """
    names = _name_keys(keys)
    is_librdkafka = _as_mask(pc.equal(clients.column("family"), LIBRDKAFKA))
    is_producer = _as_mask(pc.equal(clients.column("client_type"), PRODUCER))
    kinds = is_librdkafka.astype(np.int64) + (is_librdkafka & is_producer)
    configs, wired, base = (clients.column(one) for one in ("configs", "wired", "base"))
    chosen = _choose(names, kinds, configs, wired, base)
    which = pa.array(chosen.items)
    pushed, stated = configs.items, base.items
    seen = pa.repeat(pa.scalar(words.seen, pa.string()), len(wired.items))
    default = pa.repeat(pa.scalar(_DEFAULT, pa.string()), len(stated))
    sources = [
        pa.repeat(pa.scalar(words.pushed, pa.string()), len(pushed)),
        pa.repeat(pa.scalar(words.wire, pa.string()), len(wired.items)),
        _texts(stated, "source"),
    ]
    values = [
        _texts(pushed, "config_value"),
        wired.items.cast(pa.string()),
        _texts(stated, "value"),
    ]
    statuses = [_texts(pushed, "status"), seen, default]
    text = _unify(pa.concat_arrays(values).take(which), names, chosen)
    is_endless = is_librdkafka[chosen.rows] & _is_key(names, chosen, _ENDLESS)
    entries = pa.StructArray.from_arrays(
        [
            *_read(text, is_endless),
            pa.concat_arrays(statuses).take(which),
            pa.concat_arrays(sources).take(which),
            names.texts.take(pa.array(chosen.names)),
        ],
        fields=list(KNOWN_TYPE.item_type),
    )
    counts = np.bincount(chosen.rows, minlength=len(clients))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    of_entries = names.texts.take(pa.array(chosen.keys))
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), of_entries, entries)


def _name_keys(keys: Sequence[str]) -> _Names:
    texts = [*keys, *(one for one in list_names(keys) if one not in set(keys))]
    numbers = {text: number for number, text in enumerate(texts)}

    def number(key: str) -> Iterator[tuple[tuple[int, ...], Mask]]:
        theirs = LIBRDKAFKA_NAMES.get(key, (key,))
        of_producers = tuple(one for one in theirs if (key, one) != (_AMBIGUOUS,) * 2)
        listed = ((key,), theirs, of_producers)
        for names in dict.fromkeys(listed):
            is_of = np.array([one == names for one in listed], np.bool_)
            yield tuple(numbers[one] for one in names), is_of

    return _Names(
        tuple(keys), pa.array(texts), tuple(tuple(number(key)) for key in keys)
    )


def _choose(
    names: _Names,
    kinds: Places,
    configs: pa.MapArray,
    wired: pa.MapArray,
    base: pa.MapArray,
) -> _Chosen:
    """Choose for each key between what was pushed, what was seen and defaults."""
    said, heard, stated = (_find(one, names) for one in (configs, wired, base))
    is_filled, is_plain = _judge(configs)
    is_incomplete = _find_incomplete(configs)
    is_heard, is_stated = _has_text(wired.items), _has_text(base.items, "value")
    items = np.full((len(kinds), len(names.keys)), -1, np.int64)
    own = np.full_like(items, -1)
    for key, ways in enumerate(names.by_key):
        place, name = _first(said, ways, kinds)
        default, default_name = _first(stated, ways, kinds)
        is_said, is_seen = place >= 0, heard[key] >= 0
        takes = is_filled[place]
        hears = ~is_said & is_heard[heard[key]]
        falls = np.where(is_said, is_plain[place], ~is_seen & is_incomplete)
        falls &= is_stated[default]
        for is_it, at, called in (
            (takes, place, name),
            (hears, heard[key] + len(configs.items), key),
            (falls, default + len(configs.items) + len(wired.items), default_name),
        ):
            np.copyto(items[:, key], at, where=is_it)
            np.copyto(own[:, key], called, where=is_it)
    rows, keys = np.nonzero(items >= 0)
    return _Chosen(rows, keys, own[rows, keys], items[rows, keys])


def _find(maps: pa.MapArray, names: _Names) -> Places:
    """Return where each name is in each row: a place among all entries, or -1."""
    rows, at = _list_entries(maps)
    found = pc.index_in(maps.keys.cast(pa.string()), value_set=names.texts)
    which = found.fill_null(-1).to_numpy()[at]
    is_named = which >= 0
    places = np.full((len(names.texts), len(maps)), -1, np.int64)
    places[which[is_named], rows[is_named]] = at[is_named]
    return places


def _list_entries(maps: pa.MapArray) -> tuple[Places, Places]:
    """Return the row of each entry, and its place among all."""
    offsets = maps.offsets.to_numpy().astype(np.int64)
    counts = np.where(_as_mask(maps.is_valid()), np.diff(offsets), 0)
    rows = np.repeat(np.arange(len(maps)), counts)
    before = np.cumsum(counts) - counts
    return rows, np.repeat(offsets[:-1] - before, counts) + np.arange(len(rows))


def _first(
    places: Places, ways: Sequence[tuple[tuple[int, ...], Mask]], kinds: Places
) -> tuple[Places, Places]:
    """Return of each row the place of the first name that is there, and the name."""
    found = np.full(len(kinds), -1, np.int64)
    named = np.full(len(kinds), -1, np.int64)
    for names, is_of in ways:
        is_theirs = is_of[kinds]
        for name in reversed(names):
            is_it = is_theirs & (places[name] >= 0)
            np.copyto(found, places[name], where=is_it)
            np.copyto(named, name, where=is_it)
    return found, named


def _judge(configs: pa.MapArray) -> tuple[Mask, Mask]:
    """Return which entries have a value to be used, and which just say it is usual.

    The last one, and so that of place -1, is neither.
    """
    status = _texts(configs.items, "status")
    is_usable = ~_as_mask(pc.is_in(status, value_set=_UNUSABLE))
    is_plain = _as_mask(pc.equal(status, _DEFAULT))
    is_plain &= ~_as_mask(_texts(configs.items, "config_value").is_valid())
    is_filled = _has_text(configs.items, "config_value")
    is_filled[:-1] &= is_usable
    return is_filled, np.append(is_plain, False)


def _find_incomplete(configs: pa.MapArray) -> Mask:
    """Return which clients have pushed, and no default."""
    rows, at = _list_entries(configs)
    is_default = _as_mask(pc.struct_field(configs.items, "is_default"))
    has_default = np.zeros(len(configs), np.bool_)
    has_default[rows[is_default[at]]] = True
    return _as_mask(configs.is_valid()) & ~has_default


def _has_text(items: pa.Array, field: str = "") -> Mask:
    """Return which have a text that is not empty; the last one, of place -1, has none.

    Args:
        field: Where items are structs.
    """
    texts = _texts(items, field) if field else items.cast(pa.string())
    return np.append(_as_mask(pc.not_equal(texts, "")), False)


def _unify(texts: pa.StringArray, names: _Names, chosen: _Chosen) -> pa.StringArray:
    """Return values as Java's clients say them."""
    trimmed = pc.utf8_trim(texts, " ")
    lower = pc.utf8_lower(trimmed)
    acks = pc.if_else(pc.equal(lower, "-1"), "all", lower)
    texts = pc.if_else(_is_key(names, chosen, "acks"), acks, texts)
    given = pa.array([*_OFFSET_RESETS])
    reset = pa.array([*_OFFSET_RESETS.values()]).take(pc.index_in(lower, given))
    is_reset = _is_key(names, chosen, "auto.offset.reset")
    texts = pc.if_else(is_reset, pc.coalesce(reset, lower), texts)
    if _KILOBYTES not in names.texts.to_pylist():
        return texts
    is_kilobytes = chosen.names == names.texts.index(_KILOBYTES).as_py()
    if not is_kilobytes.any():
        return texts
    return pc.if_else(is_kilobytes, _as_bytes(trimmed), texts)


def _as_bytes(kilobytes: pa.StringArray) -> pa.StringArray:
    """Return texts of kilobytes as those of bytes; null for what is no number."""
    numbers = pc.utf8_trim(kilobytes, _BLANKS)
    is_number = pc.match_substring_regex(numbers, _WHOLE_NUMBER)
    numbers = pc.if_else(is_number, pc.utf8_ltrim(numbers, "+"), None)
    return pc.multiply(numbers.cast(pa.int64()), 1024).cast(pa.string())


def _read(
    texts: pa.StringArray, is_endless: Mask
) -> tuple[pa.StringArray, pa.DoubleArray, pa.BooleanArray]:
    """Return texts, and what they are as numbers and as yes or no."""
    coded = code_texts(texts)
    trimmed = pc.utf8_trim(coded.texts, " ")
    which = pa.array(coded.codes)
    numbers = _parse_numbers(coded.texts).take(which)
    is_zero = _as_mask(pc.equal(trimmed, "0"))[coded.codes]
    numbers = pc.if_else(is_endless & is_zero, np.inf, numbers)
    said = pc.index_in(pc.utf8_lower(trimmed), pa.array(["true", "false"]))
    return texts, numbers, pa.array([True, False]).take(said).take(which)


def _parse_numbers(texts: pa.StringArray) -> pa.DoubleArray:
    """Return texts as Spark casts them to DOUBLE, but for hexadecimal ones."""
    trimmed = pc.utf8_trim(texts, _BLANKS)
    is_number = _as_mask(pc.match_substring_regex(trimmed, _NUMBER))
    digits = pc.utf8_rtrim(trimmed.filter(pa.array(is_number)), "dDfF")
    names = pa.array([*_NAMED_NUMBERS])
    found = pc.index_in(pc.utf8_lower(trimmed), names).fill_null(-1).to_numpy()
    numbers = np.array([*_NAMED_NUMBERS.values(), np.nan])[found]
    # Python's own reading: Arrow's has no leading +, and refuses what is too large.
    numbers[is_number] = [float(one) for one in digits.to_pylist()]
    return pa.array(numbers, mask=~is_number & (found < 0))


def _is_key(names: _Names, chosen: _Chosen, key: str) -> Mask:
    place = names.keys.index(key) if key in names.keys else -1
    return np.asarray(chosen.keys == place)


def _texts(items: pa.StructArray, field: str) -> pa.StringArray:
    return pc.struct_field(items, field).cast(pa.string())


def _as_mask(flags: pa.BooleanArray) -> Mask:
    """Return flags; null is false."""
    return np.asarray(pc.fill_null(flags, False).to_numpy(zero_copy_only=False))
