"""Certificates, verifiers and signing keys: read at the start, and again when changed.

Strategy: files are looked at every few seconds, in a thread of their own; what has
changed is read anew and serves new connections. A new file that cannot be used is told
of once, and the old one stays in force. The keys of a URL are asked for at their
interval, and soon after a token named one that is not known. Nothing here blocks the
event loop, and the thread is one that the process does not wait for.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pipelines.bridge.protocol.api_keys import ServedApis
from pipelines.bridge.security.sasl.credentials import (
    Credentials,
    InvalidCredentials,
    parse_credentials,
)
from pipelines.bridge.security.sasl.mechanisms import Mechanism, make_mechanism
from pipelines.bridge.security.sasl.steps import SaslRules
from pipelines.bridge.security.sasl.tokens import InvalidKeys, TokenRules, TokenVerifier
from pipelines.errors import InvalidSetting, MissingService, PipelineError
from pipelines.settings.listener_records import (
    OAUTHBEARER,
    AuthenticationSettings,
    ListenerSettings,
)
from pipelines.settings.secret_references import SecretReader

from .key_sets import UnreadableKeys, is_url, load_key_set
from .tls import InvalidCertificate, TlsContext, TlsFiles, make_context

Stamp = tuple[tuple[int, int, int] | None, ...]


class WatchedFiles:
    """Files behind one setting, since they were last looked at."""

    def __init__(
        self, key: str, paths: tuple[Path, ...], load: Callable[[], None]
    ) -> None:
        """Look at the files for the first time.

        Args:
            key: The setting that names them.
            paths: The files.
            load: Reads them.
        """
        self.key = key
        self.load = load
        self._paths = paths
        self._stamp = self._look()

    def has_changed(self) -> bool:
        """Say whether any file is another one than at the last look."""
        before, self._stamp = self._stamp, self._look()
        return self._stamp != before

    def _look(self) -> Stamp:
        return tuple(_stamp(path) for path in self._paths)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file does; None for one that is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


logger = logging.getLogger(__name__)

SOONEST_NEW_KEYS_S = 10.0
"""Tokens with unknown keys cannot make the bridge ask for keys more often."""
_NONCE_BYTES = 24
_MS = 1_000
_NS_PER_MS = 1_000_000


class SecurityFiles:
    """What clients are checked against, as it is now."""

    def __init__(
        self,
        listeners: Sequence[ListenerSettings],
        settings: AuthenticationSettings,
        secrets_reader: SecretReader,
        *,
        table: str = "listeners[{}]",
    ) -> None:
        """Read everything; errors call a listener by its table and index.

        Raises: InvalidSetting, which names the key; UnresolvedSecret; MissingService
            when a URL does not answer.
        """
        self._settings = settings
        self._secrets = secrets_reader
        self._contexts: dict[str, TlsContext] = {}
        self._credentials: Credentials | None = None
        self._verifier: TokenVerifier | None = None
        self._watched: list[WatchedFiles] = []
        self._keys_read_s = self._keys_due_s = 0.0
        self._wake = threading.Event()
        self._is_stopped = False
        mechanisms = {
            mechanism
            for listener in listeners
            if listener.security_protocol.startswith("SASL_")
            for mechanism in listener.sasl_mechanisms
        }
        for index, listener in enumerate(listeners):
            if listener.security_protocol.endswith("SSL"):
                self._watch_certificate(listener, table.format(index))
        if mechanisms - {OAUTHBEARER}:
            self._watch(
                "authentication.credentials_location",
                (Path(settings.credentials_location),),
                self._load_credentials,
            )
        self._has_key_url = False
        if OAUTHBEARER in mechanisms:
            self._watch_keys(settings.oauth_jwks_location)

    def context(self, listener: str) -> TlsContext:
        """Return a listener's TLS for a new connection."""
        return self._contexts[listener]

    def sasl_rules(self, listener: ListenerSettings, apis: ServedApis) -> SaslRules:
        """Return a listener's SASL; what it is checked against follows the files."""
        return SaslRules(
            apis=apis,
            mechanisms=listener.sasl_mechanisms,
            start=self._start_mechanism,
            now_ms=_now_ms,
            max_reauth_ms=self._settings.max_reauth_ms,
        )

    def start(self) -> threading.Thread | None:
        """Look at the files from here on, in the thread that comes back."""
        if not self._watched and not self._has_key_url:
            return None
        # Whoever ends the process does not wait for a look that is under way.
        thread = threading.Thread(
            target=self._keep_looking, name="security-files", daemon=True
        )
        thread.start()
        return thread

    def stop(self) -> None:
        """Look no more; does not wait for a look that is under way."""
        self._is_stopped = True
        self._wake.set()

    def look(self) -> None:
        """Read what has changed; what cannot be used is told of and left out."""
        for watched in self._watched:
            if watched.has_changed():
                self._reload(watched.key, watched.load)
        if self._has_key_url and time.monotonic() >= self._keys_due_s:
            self._reload("authentication.oauth_jwks_location", self._load_keys)

    def _keep_looking(self) -> None:
        while not self._is_stopped:
            self._wake.wait(self._settings.reload_interval_ms / _MS)
            self._wake.clear()
            if not self._is_stopped:
                self.look()

    def _reload(self, key: str, load: Callable[[], None]) -> None:
        try:
            load()
        except _UNUSABLE as error:
            logger.warning("%s: %s; what was read before stays in force", key, error)
        else:
            logger.info("%s: read anew", key)

    def _watch(
        self, key: str, paths: tuple[Path, ...], load: Callable[[], None]
    ) -> None:
        # Before it is read: a change meanwhile is seen at the next look.
        watched = WatchedFiles(key, paths, load)
        try:
            load()
        except PipelineError:
            raise
        except _UNUSABLE as error:
            raise InvalidSetting(f"{key}: {error}") from None
        self._watched.append(watched)

    def _watch_certificate(self, listener: ListenerSettings, place: str) -> None:
        def read() -> TlsFiles:
            password = listener.ssl_key_password
            return TlsFiles(
                certificate_location=listener.ssl_certificate_location,
                key_location=listener.ssl_key_location,
                key_password="" if password is None else self._secrets.read(password),
                ca_location=listener.ssl_ca_location,
                client_auth=listener.ssl_client_auth,
            )

        def load() -> None:
            self._contexts[listener.name] = make_context(read())

        key = f"{place}.ssl_certificate_location"
        self._watch(key, read().paths, load)

    def _load_credentials(self) -> None:
        path = Path(self._settings.credentials_location)
        self._credentials = parse_credentials(_read_text(path))

    def _watch_keys(self, location: str) -> None:
        if not is_url(location):
            self._watch(
                "authentication.oauth_jwks_location", (Path(location),), self._load_keys
            )
            return
        self._has_key_url = True
        try:
            self._load_keys()
        except UnreadableKeys as error:
            raise MissingService(
                f"authentication.oauth_jwks_location: {error}"
            ) from None
        except InvalidKeys as error:
            raise InvalidSetting(
                f"authentication.oauth_jwks_location: {error}"
            ) from None

    def _load_keys(self) -> None:
        settings = self._settings
        now_s = time.monotonic()
        # Also after a failure: the next try is soon, and not at once.
        self._keys_due_s = now_s + SOONEST_NEW_KEYS_S
        keys = load_key_set(
            settings.oauth_jwks_location, settings.oauth_jwks_ca_location
        )
        rules = TokenRules(
            issuer=settings.oauth_issuer,
            audience=settings.oauth_audience,
            algorithms=settings.oauth_algorithms,
            principal_claim=settings.oauth_principal_claim,
            clock_skew_ms=settings.oauth_clock_skew_ms,
        )
        self._verifier = TokenVerifier(keys, rules)
        self._keys_read_s = now_s
        self._keys_due_s = now_s + settings.oauth_jwks_refresh_ms / _MS

    def _want_new_keys(self) -> None:
        if self._has_key_url:
            self._keys_due_s = min(
                self._keys_due_s, self._keys_read_s + SOONEST_NEW_KEYS_S
            )
            self._wake.set()

    def _start_mechanism(self, name: str) -> Mechanism:
        return make_mechanism(
            name,
            credentials=self._credentials,
            verifier=self._verifier,
            nonce=secrets.token_urlsafe(_NONCE_BYTES),
            now_ms=_now_ms,
            on_unknown_key=self._want_new_keys,
        )


_UNUSABLE = (
    InvalidCertificate,
    InvalidCredentials,
    InvalidKeys,
    PipelineError,
    UnreadableKeys,
)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidCredentials(f"{path} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InvalidCredentials(f"{path} is not UTF-8 text") from None


def _now_ms() -> int:
    return time.time_ns() // _NS_PER_MS
