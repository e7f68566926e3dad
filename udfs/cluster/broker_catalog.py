"""What is known of a broker's configs, and which of them it reports (KIP-1326).

Strategy: a config is reported if it has a validator, is no PASSWORD and is not NEVER.
What may be a secret is said first: a key that is both NEVER and unknown is NEVER. The
proposal marks NEVER in Kafka's code, which no release has; here it is a rule of names.
Source: KIP-1326, ControllerReportPolicy; ConfigDef of Kafka 4.3.1.
"""

from collections.abc import Mapping
from typing import NamedTuple

REPORTED = "reported"
NO_VALIDATOR = "no_validator"
PASSWORD = "password"  # noqa: S105 - a verdict
NEVER = "never"
UNKNOWN_KEY = "unknown_key"
VERDICTS = (REPORTED, NO_VALIDATOR, PASSWORD, NEVER, UNKNOWN_KEY)

NEVER_PREFIXES = ("ssl.", "sasl.", "security.")
NEVER_INFIXES = (".ssl.", ".sasl.", ".security.")
NEVER_SUFFIXES = (".class", ".classes", ".class.name")
NEVER_KEYS = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
_PASSWORD_TYPE = "PASSWORD"  # noqa: S105 - a type


class BrokerConfig(NamedTuple):
    """What the releases of the catalogue say of one config."""

    type_names: frozenset[str]
    """Names of ConfigDef.Type."""
    has_validator: bool


BrokerCatalog = Mapping[str, BrokerConfig]
"""By name of the config."""


def is_never(name: str) -> bool:
    """Return whether a config must not be reported, whatever else is known of it."""
    return (
        name.startswith(NEVER_PREFIXES)
        or name.endswith(NEVER_SUFFIXES)
        or name in NEVER_KEYS
        or any(infix in name for infix in NEVER_INFIXES)
    )


def judge_name(name: str, catalog: BrokerCatalog) -> str:
    """Say whether a broker reports one config; one of VERDICTS."""
    config = catalog.get(name)
    if config is not None and _PASSWORD_TYPE in config.type_names:
        return PASSWORD
    if is_never(name):
        return NEVER
    if config is None:
        return UNKNOWN_KEY
    return REPORTED if config.has_validator else NO_VALIDATOR
