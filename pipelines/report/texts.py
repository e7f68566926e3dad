"""Texts that clients chose, made fit to be looked at.

A page never runs them: templates escape, the page's own script writes text nodes. But
they could hide one another: by marks that turn the direction of writing, by what cannot
be seen, by length. What is changed here is named by a digest as well, so that two
clients that look alike still have two names.
"""

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

LONGEST_TEXT = 200
"""Characters of a cell; client ids may have 32,767, attributes of metrics more."""
LONGEST_SENTENCE = 4_000
"""Characters of a sentence of the product; only names in it are longer than planned."""
SENTENCES = frozenset(
    {
        *("what is wrong", "why", "set", "to", "what it expects", "reason"),
        "known faults",
    }
)
"""Columns whose texts the product wrote: shown whole."""
_WORD = re.compile(r"\S+")
_CODE = re.compile(r"`([^`]*)`")
_DAY_MINUTES, _HOUR_MINUTES = 1_440, 60
_KIPS = "https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals"
_JIRA = "https://issues.apache.org/jira/browse/"
_LIBRDKAFKA = "https://github.com/confluentinc/librdkafka"
_DOCUMENTS = re.compile(
    r"(?P<kip>KIP-\d{1,4})|(?P<jira>KAFKA-\d{1,5})"
    r"|librdkafka (?:issue )?#?(?P<issue>\d{2,5})|(?P<keys>CONFIGURATION\.md)"
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_DIGEST_BYTES = 4
_HIDDEN = "\N{EN DASH}"
"""A null among values; alone it stays null, and the page draws it so."""


def show_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text in one line, without what cannot be seen, and not too long."""
    if len(text) <= longest and text.isprintable():
        return text
    shown = "".join(
        one if one.isprintable() else _REPLACEMENT for one in text[:longest]
    )
    digest = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{shown}{'…' if len(text) > longest else ''} #{digest}"


def show(value: object) -> object:
    """Return what a cell says: numbers as they are, all else as a text; null: null."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if abs(value) < float("inf") else None
        case datetime():
            return show_time(value)
        case date():
            return value.isoformat()
        case list() | tuple():
            told = (_HIDDEN if one is None else str(show(one)) for one in value)
            return show_text(", ".join(told))
        case _:
            return show_text(str(value))


def show_time(moment: datetime) -> str:
    """Return a time in UTC, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def name_client_id(client_id: str | None) -> str:
    """Return a client id as a name that can be seen."""
    if client_id is None:
        return "(no client id)"
    return client_id or "(empty client id)"


def show_sentence(text: str) -> str:
    """Return a sentence of the product, with only the names of clients shortened.

    A name that a client chose is a word longer than any word of the product.
    """
    shown = _WORD.sub(lambda word: show_text(word[0]), text)
    if len(shown) > LONGEST_SENTENCE:
        return show_text(shown, LONGEST_SENTENCE)
    return shown if shown.isprintable() else " ".join(shown.split())


def show_cell(column: str, value: object) -> object:
    """Return the content of a cell: the product's sentences whole, all else as show."""
    if column in SENTENCES and isinstance(value, str):
        return show_sentence(value)
    return show(value)


def split_code(sentence: str) -> Iterator[tuple[str, bool]]:
    """Return the parts of a sentence, and whether each is between backticks."""
    for place, part in enumerate(_CODE.split(sentence)):
        if part:
            yield part, place % 2 == 1


def split_sources(source: str) -> Iterator[tuple[str, str | None]]:
    """Return the parts of a rule's source, each with the address of its document."""
    end = 0
    for found in _DOCUMENTS.finditer(source):
        if found.start() > end:
            yield source[end : found.start()], None
        yield found[0], _find_document(found)
        end = found.end()
    if end < len(source):
        yield source[end:], None


def _find_document(found: re.Match[str]) -> str:
    if found["kip"]:
        # The list has a link to each; browsers scroll to the text.
        return f"{_KIPS}#:~:text={found['kip']}:"
    if found["jira"]:
        return _JIRA + found["jira"]
    if found["issue"]:
        return f"{_LIBRDKAFKA}/issues/{found['issue']}"
    return f"{_LIBRDKAFKA}/blob/master/CONFIGURATION.md"


def show_age(age: timedelta) -> str:
    """Return a duration in its largest units: `45 s`, `3 h 20 min`, `2 days`."""
    seconds = max(0, int(age.total_seconds()))
    minutes = seconds // 60
    if minutes < 1:
        return f"{seconds} s"
    if minutes < _HOUR_MINUTES:
        return f"{minutes} min"
    if minutes < _DAY_MINUTES:
        rest = minutes % _HOUR_MINUTES
        return f"{minutes // _HOUR_MINUTES} h" + (f" {rest} min" if rest else "")
    days = minutes // _DAY_MINUTES
    return f"{days} day" if days == 1 else f"{days} days"
