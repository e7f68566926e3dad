"""Names that may be a principal's, however a client has proved who it is.

Names end in logs, tables and terminals. So a name has no control characters, nor others
that are not seen, as those of SCRAM have none after SASLprep: a login by such a name is
refused, and one that a broker has accepted leaves the principal unknown.
Source: RFC 4013, section 2.3; Unicode Standard, General Category.
"""

import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control and format characters, halves of surrogate pairs, separators of lines."""


def is_principal_name(name: str) -> bool:
    """Say whether a name may be a principal's; the empty one may not."""
    if name.isprintable():
        return bool(name)
    return all(unicodedata.category(char) not in _UNSEEN for char in name)
