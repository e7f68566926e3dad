"""Secrets are named in conf/ and read where they are used, never before."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import UnresolvedSecret

SCOPE_AND_KEY = re.compile(r"[\w.@-]+/[\w.@-]+")
REFERENCE_FORMS = "env:NAME, file:PATH or scope/key"

ReadScope = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class SecretReference:
    """Where a secret stands; safe to print, for it is not the secret."""

    text: str
    """`env:NAME`, `file:PATH` or `scope/key`."""

    def __str__(self) -> str:
        return self.text


def parse_secret_reference(text: str) -> SecretReference:
    """Accept the three forms of a reference.

    A secret that happens to look like scope/key is taken for one: such a reference is
    not printed where it fails.

    Raises: ValueError, without the text, for it may be the secret itself.
    """
    is_known = text.startswith(("env:", "file:")) or SCOPE_AND_KEY.fullmatch(text)
    if not is_known or text in {"env:", "file:"}:
        message = f"expects a reference to a secret ({REFERENCE_FORMS}), not a value"
        raise ValueError(message)
    return SecretReference(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretReader:
    """Reads references; the process's edge supplies what it may read from."""

    environ: Mapping[str, str]
    """Environment variables for `env:NAME`."""
    read_scope: ReadScope | None = None
    """`dbutils.secrets.get` where there is one, for `scope/key`."""

    def read(self, reference: SecretReference) -> str:
        """Return the secret that a reference names, without the final newline.

        Raises: UnresolvedSecret, naming the reference only.
        """
        kind, _, name = reference.text.partition(":")
        if kind == "env" and name:
            return self._read_environ(name)
        if kind == "file" and name:
            return _read_file(name)
        if self.read_scope is None:
            raise UnresolvedSecret(
                "a secret given as scope/key is read from a Databricks secret "
                "scope, and there is none here; use env:NAME or file:PATH"
            )
        scope, _, key = reference.text.partition("/")
        return self.read_scope(scope, key)

    def _read_environ(self, name: str) -> str:
        value = self.environ.get(name)
        if value is None:
            raise UnresolvedSecret(
                f"secret env:{name}: the environment variable is not set"
            )
        return value


def _read_file(path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UnresolvedSecret(
            f"secret file:{path}: cannot be read ({error.strerror})"
        ) from None
    except UnicodeDecodeError:
        raise UnresolvedSecret(f"secret file:{path}: is not UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r")
