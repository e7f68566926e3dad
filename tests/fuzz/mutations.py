"""Mutations of requests: lies about lengths, which leave the rest whole, and blind ones.

Those that know the protocol work on tokens, the blind ones on the joined bytes.
"""

import struct

from tests.fuzz.tokens import (
    COMPACT_LENGTH,
    CONTENT,
    KEY_AND_VERSION,
    LENGTH,
    NUMBER,
    TAGS,
    TEXTS,
    make_tags,
    uvarint,
)

_LIES = [0, 1, 2, 3, 127, 128, 255, 16_383, 16_384, 32_767, 65_535, 2**31 - 1, 2**31,
         2**32 - 1]  # fmt: skip
_ODD_VARINTS = [
    b"\x80", b"\x80\x00", b"\x81\x80\x80\x80\x00", b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\x01", b"\x80" * 12,
]  # fmt: skip
_SIZE = struct.Struct(">i")
_MAX_INT16, _MAX_INT32 = 2**15 - 1, 2**31 - 1


# ------------------------------------------------------------------ with the protocol


def lie_about_length(tokens, chance):
    where = _find(tokens, chance, LENGTH, COMPACT_LENGTH)
    kind, old = tokens[where]
    lie = chance.choice(_LIES)
    if kind == COMPACT_LENGTH:
        tokens[where] = kind, uvarint(lie % 2**32)
    else:
        tokens[where] = kind, (lie % 2 ** (8 * len(old))).to_bytes(len(old))


def break_varint(tokens, chance):
    where = _find(tokens, chance, COMPACT_LENGTH, TAGS)
    tokens[where] = tokens[where][0], chance.choice(_ODD_VARINTS)


def change_tags(tokens, chance):
    where = _find(tokens, chance, TAGS)
    tags = make_tags(chance)
    cut = chance.randrange(len(tags) + 1) if chance.random() < 0.3 else len(tags)
    tokens[where] = TAGS, tags[:cut]


def change_number(tokens, chance):
    where = _find(tokens, chance, NUMBER)
    size = len(tokens[where][1]) or 1
    value = chance.choice([0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1)])
    tokens[where] = NUMBER, value.to_bytes(size)


def change_content(tokens, chance):
    where = _find(tokens, chance, CONTENT)
    tokens[where] = CONTENT, chance.choice(TEXTS)


def drop_token(tokens, chance):
    if len(tokens) > 1:
        del tokens[chance.randrange(len(tokens))]


def repeat_token(tokens, chance):
    where = chance.randrange(len(tokens))
    tokens[where:where] = [tokens[where]] * chance.choice([1, 1, 2, 50])


def swap_tokens(tokens, chance):
    one, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]


def change_version(tokens, chance):
    key = chance.choice([0, 1, 3, 17, 18, 22, 32, 36, 44, 60, 71, 72, 74, 10_071, -1])
    if chance.random() < 0.7:
        key = KEY_AND_VERSION.unpack(tokens[0][1].ljust(4, b"\x00")[:4])[0]
    version = chance.choice([-1, 0, 1, 2, 3, 4, 5, 6, 9, 12, 13, 14, 99, _MAX_INT16])
    tokens[0] = NUMBER, KEY_AND_VERSION.pack(key, version)


def _find(tokens, chance, *kinds):
    found = [index for index, (kind, _) in enumerate(tokens) if kind in kinds]
    return chance.choice(found) if found else chance.randrange(len(tokens))


KNOWING = (
    lie_about_length, break_varint, change_tags, change_number, change_content,
    drop_token, repeat_token, swap_tokens, change_version,
)  # fmt: skip


# ------------------------------------------------------------------ blind


def flip_bits(data, chance):
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8])):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut_short(data, chance):
    return data[: chance.randrange(len(data) + 1)]


def cut_out(data, chance):
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.randrange(1, 9) :]


def put_in(data, chance):
    start = chance.randrange(len(data) + 1)
    return data[:start] + chance.randbytes(chance.choice([1, 2, 4, 64])) + data[start:]


def trail(data, chance):
    return data + chance.randbytes(chance.choice([1, 16, 1_000]))


def replace_all(data, chance):
    return chance.randbytes(chance.randrange(len(data) + 64))


BLIND = (flip_bits, flip_bits, cut_short, cut_out, put_in, trail, replace_all)


def mutate(tokens, chance):
    """Return one frame without its size; about one in six stays as it was."""
    tokens = list(tokens)
    draw = chance.random()
    if draw < 0.55:
        for _ in range(chance.choice([1, 1, 2, 3])):
            chance.choice(KNOWING)(tokens, chance)
    frame = b"".join([content for _, content in tokens])
    if draw > 0.72:
        for _ in range(chance.choice([1, 1, 2])):
            frame = chance.choice(BLIND)(frame, chance)
    return frame


def with_size(frame, chance):
    """Put a size before a frame; one in a hundred is wrong."""
    if chance.random() >= 0.01:
        return _SIZE.pack(len(frame)) + frame
    lie = chance.choice([-1, 0, 1, len(frame) + 1, _MAX_INT32, -_MAX_INT32])
    return _SIZE.pack(lie) + frame
