"""The subject of a certificate as text, as Java prints it.

Strategy: the subject's DER is read here, since Java prints the raw bytes of some
values, which a parsed name no longer has. Nothing is reserved that the bytes do not
hold. What comes back when bytes are short or bad: ValueError.
Source: RFC 2253; OpenJDK 17, X500Principal.getName(), seen for the cases in
tests/golden/security.
"""

_SEQUENCE, _SET, _OBJECT_ID = 0x30, 0x31, 0x06
_LONG_LENGTH = 0x80
_MAX_LENGTH_BYTES = 4
_ARC_BITS = 7
_ARC_MORE = 0x80
# UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString: the types
# that Java prints as text, all of them as if they were UTF-8.
_TEXT_TAGS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_ESCAPED = frozenset(',=+<>#;"\\')
_OUTER_SPACE = " \r"


def format_distinguished_name(subject: bytes) -> str:
    """Return a name as RFC 2253 text: the last attribute first, no spaces between.

    Args:
        subject: DER of the Name.
    Raises: ValueError when it is none.
    """
    name, end = _read(subject, 0, _SEQUENCE)
    if end != len(subject):
        raise ValueError("bytes behind a distinguished name")
    parts = [
        "+".join(_format_attribute(*_read_attribute(attribute)) for attribute in each)
        for each in (_split(one, _SEQUENCE) for one in _split(name, _SET))
    ]
    return ",".join(reversed(parts))


def _read(data: bytes, start: int, tag: int | None = None) -> tuple[bytes, int]:
    """Return the contents of the element at a place, and where it ends."""
    header = data[start : start + 2]
    if len(header) < 2 or (tag is not None and header[0] != tag):  # noqa: PLR2004 - tag and length
        raise ValueError(f"no DER element of type {tag} at byte {start}")
    length, place = header[1], start + 2
    if length >= _LONG_LENGTH:
        count = length - _LONG_LENGTH
        if not 0 < count <= _MAX_LENGTH_BYTES:
            raise ValueError(f"a DER length of {count} bytes")
        length = int.from_bytes(data[place : place + count], "big")
        place += count
    end = place + length
    if end > len(data):
        raise ValueError(f"a DER element of {length} bytes at byte {start}")
    return data[place:end], end


def _split(data: bytes, tag: int) -> list[bytes]:
    """Return the contents of the elements that stand one behind the other."""
    found, place = [], 0
    while place < len(data):
        one, place = _read(data, place, tag)
        found.append(one)
    return found


def _read_attribute(data: bytes) -> tuple[str, bytes]:
    """Return an attribute's object id, and its value with tag and length."""
    object_id, place = _read(data, 0, _OBJECT_ID)
    _, end = _read(data, place)
    if end != len(data):
        raise ValueError("bytes behind an attribute of a distinguished name")
    return _format_object_id(object_id), data[place:]


def _format_object_id(data: bytes) -> str:
    if not data or data[-1] & _ARC_MORE:
        raise ValueError("an object id that does not end")
    arcs, value = [], 0
    for byte in data:
        value = value << _ARC_BITS | byte & ~_ARC_MORE
        if not byte & _ARC_MORE:
            arcs.append(value)
            value = 0
    first = min(arcs[0] // 40, 2)
    return ".".join(str(arc) for arc in (first, arcs[0] - 40 * first, *arcs[1:]))


def _format_attribute(object_id: str, value: bytes) -> str:
    keyword = _KEYWORDS.get(object_id)
    if keyword is None or value[0] not in _TEXT_TAGS:
        return f"{keyword or object_id}=#{value.hex()}"
    return f"{keyword}={_escape(_read(value, 0)[0].decode('utf-8', 'replace'))}"


def _escape(text: str) -> str:
    escaped = "".join(
        "\\00" if char == "\0" else f"\\{char}" if char in _ESCAPED else char
        for char in text
    )
    inner = escaped.strip(_OUTER_SPACE)
    if not inner:
        return "".join(f"\\{char}" for char in escaped)
    lead = len(escaped) - len(escaped.lstrip(_OUTER_SPACE))
    trail = len(escaped.rstrip(_OUTER_SPACE))
    before = "".join(f"\\{char}" for char in escaped[:lead])
    behind = "".join(f"\\{char}" for char in escaped[trail:])
    return f"{before}{inner}{behind}"
