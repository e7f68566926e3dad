"""Properties of a Java client to those that the bridge's own client takes.

What a Java client would do and this one cannot is an error; what does not concern the
connection is passed over. No error holds a value of a secret.
Source: Kafka 4.3, SaslConfigs.java, SslConfigs.java, JaasConfig.java.
"""

import re
from collections.abc import Mapping

from pipelines.commands.options import CommandFault
from pipelines.kafka_client.properties import PROTOCOLS
from pipelines.settings.kafka import (
    ENDPOINT_URL,
    EXTENSION_PREFIX,
    LOGIN_MODULES,
    OIDC_LOGIN_HANDLER,
)
from pipelines.settings.listener_records import OAUTHBEARER

from .key_stores import read_key_store, read_trust_store

_JAVA_DEFAULT_MECHANISM = "GSSAPI"
_UNSUPPORTED = (
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.oauthbearer.jwt.retriever.class",
    "ssl.engine.factory.class",
)
_JAAS = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b"
    r'(?P<options>(?:[^";]|"(?:[^"\\]|\\.)*")*);\s*',
    re.DOTALL | re.IGNORECASE,
)
_JAAS_OPTION = re.compile(
    r'\s*(?P<name>[\w.]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s;"]+))\s*',
    re.DOTALL,
)
_KNOWN_CLASSES = {
    "sasl.login.callback.handler.class": (
        OIDC_LOGIN_HANDLER,
        # Its name until Kafka 4.
        OIDC_LOGIN_HANDLER.replace(".oauthbearer.", ".oauthbearer.secured."),
    )
}
_OIDC_OPTIONS = {
    "clientId": "sasl.oauthbearer.client.credentials.client.id",
    "clientSecret": "sasl.oauthbearer.client.credentials.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
"""Options of the login module, and the properties that stand before them."""
_JAAS_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def read_connection(
    bootstrap_server: str, properties: Mapping[str, str]
) -> dict[str, str]:
    """Return the connection in librdkafka's names; the values hold secrets.

    Raises: CommandFault, naming the property.
    """
    for name in _UNSUPPORTED:
        # What asks a token endpoint is done here as well.
        if properties.get(name, "") not in {"", *_KNOWN_CLASSES.get(name, ())}:
            raise CommandFault(f"{name}: classes of Java cannot be loaded here")
    protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol.lower() not in PROTOCOLS:
        known = ", ".join(PROTOCOLS).upper()
        raise CommandFault(f"security.protocol: must be one of {known}")
    connection = {
        "bootstrap.servers": bootstrap_server,
        "security.protocol": protocol,
    }
    if protocol.startswith("SASL_"):
        connection |= _read_sasl(properties)
    if protocol.endswith("SSL"):
        connection |= _read_ssl(properties)
    return connection


def _read_sasl(properties: Mapping[str, str]) -> dict[str, str]:
    mechanism = properties.get("sasl.mechanism", _JAVA_DEFAULT_MECHANISM).strip()
    if mechanism not in LOGIN_MODULES:
        raise CommandFault(
            f"sasl.mechanism: {mechanism} is not supported here; "
            f"{', '.join(LOGIN_MODULES)} are"
        )
    jaas = _JAAS.fullmatch(properties.get("sasl.jaas.config", ""))
    if jaas is None:
        raise CommandFault(
            "sasl.jaas.config: must be one login module with its options and a "
            "semicolon"
        )
    module = LOGIN_MODULES[mechanism]
    if jaas["module"] != module:
        raise CommandFault(f"sasl.jaas.config: {mechanism} needs {module}")
    options = _read_options(jaas["options"])
    if mechanism == OAUTHBEARER:
        return _read_oidc(properties, options)
    if options.get("tokenauth", "false").lower() == "true":
        raise CommandFault("sasl.jaas.config: delegation tokens are not supported here")
    if "username" not in options or "password" not in options:
        raise CommandFault("sasl.jaas.config: needs username and password")
    return {
        "sasl.mechanism": mechanism,
        "sasl.username": options["username"],
        "sasl.password": options["password"],
    }


def _read_oidc(
    properties: Mapping[str, str], options: Mapping[str, str]
) -> dict[str, str]:
    """Read how a token is asked for; tokens from files and of no issuer are Java's."""
    url = properties.get(ENDPOINT_URL, "").strip()
    if not url.startswith(("http://", "https://")):
        raise CommandFault(
            f"{ENDPOINT_URL}: OAUTHBEARER is supported with an http or https URL only"
        )
    read = {
        option: properties.get(name) or options.get(option, "")
        for option, name in _OIDC_OPTIONS.items()
    }
    if not read["clientId"] or not read["clientSecret"]:
        raise CommandFault("sasl.jaas.config: needs clientId and clientSecret")
    extensions = ",".join(
        f"{name.removeprefix(EXTENSION_PREFIX)}={value}"
        for name, value in options.items()
        if name.startswith(EXTENSION_PREFIX)
    )
    # The endpoint's certificates are options of the login module as well.
    trusted = read_trust_store(options)
    return {
        "sasl.mechanism": OAUTHBEARER,
        "sasl.oauthbearer.method": "oidc",
        ENDPOINT_URL: url,
        "sasl.oauthbearer.client.id": read["clientId"],
        "sasl.oauthbearer.client.secret": read["clientSecret"],
        "sasl.oauthbearer.scope": read["scope"],
        "sasl.oauthbearer.extensions": extensions,
        **{name.replace("ssl.", "https.", 1): one for name, one in trusted.items()},
    }


def _read_options(text: str) -> dict[str, str]:
    options, position = {}, 0
    rest = text.strip()
    while position < len(rest):
        found = _JAAS_OPTION.match(rest, position)
        if found is None:
            raise CommandFault('sasl.jaas.config: options are name="value"')
        plain = found["plain"]
        options[found["name"]] = _unquote(found["quoted"]) if plain is None else plain
        position = found.end()
    return options


def _unquote(text: str) -> str:
    return re.sub(
        r"\\(.)",
        lambda found: _JAAS_ESCAPES.get(found[1], found[1]),
        text,
        flags=re.DOTALL,
    )


def _read_ssl(properties: Mapping[str, str]) -> dict[str, str]:
    algorithm = properties.get("ssl.endpoint.identification.algorithm", "https")
    # Java switches the check off by an empty text.
    connection = {
        "ssl.endpoint.identification.algorithm": algorithm.strip().lower() or "none"
    }
    return connection | read_trust_store(properties) | read_key_store(properties)
