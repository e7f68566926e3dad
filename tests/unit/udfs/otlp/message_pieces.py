"""Messages in pieces and out of order: what a decoder has to merge."""


def read_varint(payload, at):
    value, shift = 0, 0
    while True:
        byte = payload[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def write_varint(value):
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def split_fields(payload):
    """Return the fields of a message as (key, whole field, content of a LEN field)."""
    fields, at = [], 0
    while at < len(payload):
        start = at
        key, at = read_varint(payload, at)
        content = None
        if key & 7 == 0:
            _, at = read_varint(payload, at)
        elif key & 7 == 2:
            size, at = read_varint(payload, at)
            content = payload[at : at + size]
            at += size
        else:
            at += 8 if key & 7 == 1 else 4
        fields.append((key, payload[start:at], content))
    return fields


def shuffled(rng, payload, depth=0):
    """Return a message with fields doubled, reordered, and messages in two parts."""
    try:
        fields = split_fields(payload)
    except IndexError:
        return payload
    out = []
    for key, whole, content in fields:
        if content is not None and depth < 9 and rng.random() < 0.8:
            inner = shuffled(rng, content, depth + 1)
            # A string that happens to look like a message is broken by this; fine.
            if rng.random() < 0.15:
                cut = rng.randrange(len(inner) + 1)
                halves = (inner[:cut], inner[cut:])
            else:
                halves = (inner,)
            out += [write_varint(key) + write_varint(len(h)) + h for h in halves]
        else:
            out.append(whole)
        if rng.random() < 0.1:
            out.append(whole)
    if rng.random() < 0.15:
        rng.shuffle(out)
    if rng.random() < 0.1:
        out.insert(
            rng.randrange(len(out) + 1),
            rng.choice([b"\x9b\x06\x08\x05\x9c\x06", b"\xa0\x06\x01", b"\x9d\x06abcd"]),
        )
    return b"".join(out)


def holding(content, *numbers):
    """Put bytes into messages, the outermost field number first."""
    for number in reversed(numbers):
        content = bytes([number << 3 | 2]) + write_varint(len(content)) + content
    return content


def tiny_points(count):
    """One metric with many points of two bytes."""
    return holding(b"\x0a\x00" * count, 1, 2, 2, 5)
