"""A number and its noun, for people."""


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many there are: `1 row`, `2,000 rows`.

    Args:
        number: Of them.
        one: Noun for one of them.
        many: Noun for none or several, where it is not `one` and an s.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
