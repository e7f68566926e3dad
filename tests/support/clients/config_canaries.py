"""Pushes full of unique secrets, in every place and spelling that a rule must see.

Every secret holds a canary: twelve digits from 900000000000 on, with no digit beside them.
Whatever searches for CANARY in bytes finds them all, whatever became of the rest.
They are that long since digests in hexadecimal hold shorter numbers by chance: of a
million secrets with nine digits, 23 seemed to stand in files.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator

from pipelines.bridge.protocol.push_config import ClientConfig
from pipelines.settings import load_config_catalogs
from tests.unit.udfs.sensitive.secrets_in_values import (
    FIRST_NUMBER,
    SECRETS,
    write_secret,
)
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES

CANARY = re.compile(rb"(?<![0-9])9[0-9]{11}(?![0-9])")
ORDINARY = "ordinary-value-that-must-be-found"
ALLOWED_KEYS = (
    "client.id", "group.id", "acks", "bootstrap.servers", "metric.reporters",
    "partition.assignment.strategy", "enable.idempotency", "linger.ms",
)  # fmt: skip
_MORE = 20
MORE_THAN_MAX_BYTES = 11_000
"""More than client.config.max.bytes."""
_HIDDEN = re.compile(r"^(sasl|security|ssl)\.|\.(sasl|security|ssl)\.|\.class(es)?$")
SPELLINGS = (
    str,
    str.upper,
    str.title,
    " {}".format,
    "{}\t".format,
    "{}\n".format,
    "\ufeff{}".format,
    "{}\u200b".format,
    "{}\0".format,
    lambda key: key.replace(".", "_"),
    lambda key: key.replace(".", "-"),
    lambda key: key.replace(".", " . "),
    lambda key: key.replace(".", "\u2024"),
    lambda key: key.replace("s", "\u017f"),
    lambda key: key.replace("a", "a\u0301"),
    lambda key: key.replace("s", "\U0001d4fc"),
    lambda key: "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in key),
    lambda key: f"com.acme.{key}",
    lambda key: key.swapcase(),
)
"""What a key may look like and still be the same to somebody."""


def list_sensitive_keys() -> list[str]:
    """Return every key of the catalogs whose type or name is sensitive."""
    return sorted(
        {
            key
            for catalog in load_config_catalogs().values()
            for key, types in catalog.items()
            if types & {"PASSWORD", "CLASS"} or _HIDDEN.search(key)
        }
    )


def make_canary_pushes(canaries: int, seed: int) -> Iterator[list[ClientConfig]]:
    """Yield pushes that hold so many canaries, or a few more, each of them once.

    Every sensitive key comes in every spelling, and every form of secret in every
    allowed key, as far as there are canaries for them. Each push has an ORDINARY value.
    """
    dice = random.Random(seed)  # noqa: S311 - spelling
    keys, count = list_sensitive_keys(), 0

    def next_number() -> int:
        nonlocal count
        count += 1
        return count

    def secret() -> str:
        return write_secret("s{n}e", next_number())

    def sensitive(place: int) -> ClientConfig:
        spell = SPELLINGS[place // len(keys) % len(SPELLINGS)]
        key = spell(keys[place % len(keys)])
        return ClientConfig(key, secret(), dice.randrange(-1, 9), dice.random() < 0.2)

    def suspicious(place: int) -> ClientConfig:
        _, form = SECRETS[place % len(SECRETS)]
        key = ALLOWED_KEYS[place // len(SECRETS) % len(ALLOWED_KEYS)]
        value = write_secret(form, next_number())
        return ClientConfig(key, value, dice.choice([1, 2, 6]), dice.random() < 0.2)

    def misplaced() -> ClientConfig:
        _, form = dice.choice(SECRETS)
        return ClientConfig(write_secret(form, next_number()), secret(), 1, False)

    place = 0
    while count < canaries:
        entries = [
            *(sensitive(3 * place + one) for one in range(3)),
            *(suspicious(3 * place + one) for one in range(3)),
            misplaced(),
            ClientConfig(f"com.acme.key{place % 10}", secret(), 1, False),
            ClientConfig(
                "retries", secret(), CONFIG_TYPE_NAMES.index("PASSWORD"), False
            ),
        ]
        dice.shuffle(entries)
        yield [ClientConfig("client.rack", ORDINARY, 1, False), *entries]
        place += 1


def _inflate(body: bytes) -> bytes:
    """Repeat the entries until they are more than any bridge takes."""
    times = MORE_THAN_MAX_BYTES // len(body) + 1
    return b"\x7f" + body[1:-1] * times + b"\0"


MANNERS: tuple[Callable[[bytes], bytes], ...] = (
    lambda body: body[:-2],
    lambda body: body[: len(body) // 2],
    lambda body: body + body[-20:],
    lambda body: b"\x7f" + body[1:],
    # The first key claims to be longer than what is there.
    lambda body: body[:1] + b"\xff\xff\x03" + body[2:],
    _inflate,
)
"""How a body of PushConfig may be malformed; the canaries in it stay."""


def spoil_bodies(bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Make each body malformed, in one manner after the other."""
    for number, body in enumerate(bodies):
        yield MANNERS[number % len(MANNERS)](body)


def find_canaries(data: bytes, canaries: int) -> set[bytes]:
    """Return those of so many canaries, and a few more, that stand in these bytes."""
    last = FIRST_NUMBER + canaries + _MORE
    return {one for one in CANARY.findall(data) if FIRST_NUMBER < int(one) <= last}
