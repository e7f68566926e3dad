"""What a page carries beside its words: compact, and unable to break out of it.

Columns become JSON, deflated and in base64, whose letters no HTML reads. Clients are
one such text; details of clients are one of a few clients each, so that opening a
client reads no other.
"""

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import pyarrow as pa

from .fleet import CLIENTS, Detail, Part
from .texts import show, show_cell, show_text

DETAILS_IN_A_PACK = 20
_KEY_DIGITS = 12
"""Of a client's name in the page's address; 48 bits tell 100,000 clients apart."""
_ESCAPES = str.maketrans(
    {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
)
_MOST_CODES = 0.5
"""Part of different texts up to which a column is written as codes."""
_LEVEL = 6
"""Of zlib; 9 takes four times as long for two hundredths less."""
_MINUTE_MS = 60_000


def write_json(value: object) -> str:
    """Return JSON that may stand in a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)


def pack(value: object) -> str:
    """Return JSON, deflated (zlib's format), in base64."""
    plain = json.dumps(
        value, separators=(",", ":"), allow_nan=False, ensure_ascii=False
    )
    return base64.b64encode(zlib.compress(plain.encode(), _LEVEL)).decode("ascii")


def name_client(
    cluster_id: str | None,
    principal: str | None,
    client_id: str | None,
    client_type: str | None,
) -> str:
    """Return the name of a client in addresses of the page; it stays what it is."""
    parts = json.dumps([cluster_id, principal, client_id, client_type])
    return hashlib.blake2b(parts.encode(), digest_size=_KEY_DIGITS // 2).hexdigest()


def name_clients(clients: pa.Table) -> list[str]:
    """Return name_client of each row."""
    who = ("cluster_id", "principal", "client_id", "client_type")
    columns = [clients.column(name).to_pylist() for name in who]
    return [name_client(*row) for row in zip(*columns, strict=True)]


def pack_clients(clients: pa.Table, keys: Sequence[str], now_ms: int) -> str:
    """Return columns of CLIENTS, and the keys, packed.

    Units: first_seen and last_seen are minutes before now_ms there.
    """
    columns: dict[str, object] = {"key": {"values": list(keys)}}
    for field in CLIENTS:
        column = clients.column(field.name).combine_chunks()
        if pa.types.is_string(field.type):
            columns[field.name] = _write_texts(column)
        elif field.name.endswith("_seen"):
            columns[field.name] = {
                "values": [
                    None if at is None else (now_ms - at) // _MINUTE_MS
                    for at in column.to_pylist()
                ]
            }
        else:
            columns[field.name] = {"values": _round(column.to_pylist())}
    return pack({"rows": clients.num_rows, "columns": columns})


def _write_texts(column: pa.StringArray) -> dict[str, object]:
    coded = column.dictionary_encode()
    texts = [show_text(text) for text in coded.dictionary.to_pylist()]
    if len(texts) > _MOST_CODES * len(column):
        return {
            "values": [
                None if one is None else texts[one] for one in coded.indices.to_pylist()
            ]
        }
    return {"texts": texts, "codes": coded.indices.to_pylist()}


def _round(values: list[float | int | None]) -> list[float | int | None]:
    return [round_number(one) for one in values]


def round_number(value: float | None) -> float | int | None:
    """Return a number with four digits that count; null for what is none.

    Nobody reads more of them in a picture, and they are most of a page.
    """
    if value is None or isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


def pack_search(
    values: Mapping[str, Sequence[int]],
    found: Mapping[str, Sequence[int]],
    rows: int,
    room: int,
) -> tuple[str, int]:
    """Return what the page searches besides names, packed, and how much is left out.

    The most frequent values take the most bytes and are removed first.

    Args:
        values: As in Fleet.
        found: As in Fleet.
        rows: Clients on the page; later rows are left out.
        room: Maximum number of bytes.
    """
    kept = {show_text(text): _write_steps(own, rows) for text, own in values.items()}
    told = {rule: _write_steps(own, rows) for rule, own in found.items()}
    rarest = sorted(kept, key=lambda text: (len(kept[text]), text))
    packed = pack({"values": kept, "found": told})
    while len(packed) > room and rarest:
        # Each round removes at least one value.
        sizes = list(accumulate(len(kept[text]) for text in rarest))
        most = sizes[-1] * room / len(packed)
        rarest = [
            text
            for text, size in zip(rarest[:-1], sizes[:-1], strict=True)
            if size <= most
        ]
        kept = {text: kept[text] for text in rarest}
        packed = pack({"values": kept, "found": told})
    return packed, len(values) - len(kept)


def _write_steps(own: Sequence[int], rows: int) -> list[int]:
    """Return ascending rows as the first one and the distances of the others."""
    shown = [row for row in own if row < rows]
    return [row - before for before, row in zip([0, *shown], shown, strict=False)]


def pack_details(details: Sequence[Detail]) -> Iterator[tuple[int, str]]:
    """Return how many clients a pack holds, and the pack, in order."""
    for start in range(0, len(details), DETAILS_IN_A_PACK):
        some = details[start : start + DETAILS_IN_A_PACK]
        yield len(some), pack([_write_detail(one) for one in some])


def _write_detail(detail: Detail) -> dict[str, object]:
    return {
        "identity": [[name, show(value)] for name, value in detail.identity],
        "instances": write_part(detail.instances),
        "configs": write_part(detail.configs),
        "history": write_part(detail.history),
        "quotas": write_part(detail.quotas),
        "findings": write_part(detail.findings),
        "lines": [
            {
                "name": show(line.name),
                "unit": show(line.unit),
                "perStep": line.is_per_step,
                "points": [[step, round_number(value)] for step, value in line.points],
            }
            for line in detail.lines
        ],
        "marks": {name: list(steps) for name, steps in detail.marks.items()},
        "pushInterval": detail.push_interval_ms,
        "evaluated": detail.rules_evaluated,
        "notEvaluated": write_part(detail.rules_not_evaluated),
    }


def write_part(part: Part) -> dict[str, object]:
    """Return a table for the page's own script."""
    rows = [
        [show_cell(name, value) for name, value in zip(part.names, row, strict=True)]
        for row in part.rows
    ]
    return {
        "names": list(part.names),
        "rows": rows,
        "more": part.more,
        "missing": part.missing,
    }
