"""What an operator's policy is given, and how it answers.

A policy is a class without constructor arguments, named by `client_config.policy`:

    class MyPolicy:
        def configure(self, settings): ...       # [client_config.policy_settings]
        def process(self, context, client_config_data): ...
        def close(self): ...

`process` sees each push after sensitive keys were taken out and before anything is
stored. It refuses one by raising PolicyViolation, whose text the client is told. Any
other exception is counted and logged by its type alone, and the push is accepted. It
runs in a thread of its own and must not block: a push that it is late with is accepted
without it.
Source: KIP-1324, ClientConfigPolicy.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pipelines.bridge.core.client_identity import ClientIdentity, uuid_text
from pipelines.bridge.push_config.rules import JudgedConfigs, type_name


class PolicyViolation(Exception):
    """Raised by a policy that refuses a push; its text goes to the client."""


class InvalidPolicySetting(ValueError):
    """Raised by configure(); its text is shown, so it must hold no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyContext:
    """Who has pushed."""

    client_instance_id: str
    """base64url, 22 characters, as Kafka prints it."""
    client_id: str | None
    client_software_name: str
    client_software_version: str
    principal: str
    listener: str
    client_source_address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfig:
    """One entry of a configuration."""

    key: str
    value: str = field(repr=False)
    """As text; `type` says what it means."""
    type: str
    """Name of the ConfigDef.Type; empty where the client sent another number."""
    is_default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfigData:
    """One push, without its sensitive entries."""

    configs: tuple[PolicyConfig, ...]
    timestamp_ms: int
    """When the bridge received it, in milliseconds since 1970-01-01T00:00:00Z."""


class ClientConfigPolicy(Protocol):
    """What a policy can do."""

    def configure(self, settings: Mapping[str, str]) -> None:
        """Take the settings; called once, before the first push.

        Raises: InvalidPolicySetting.
        """

    def process(
        self, context: PolicyContext, client_config_data: ClientConfigData
    ) -> None:
        """See one push.

        Raises: PolicyViolation.
        """

    def close(self) -> None:
        """Let go of everything; called once, after the last push."""


def make_policy_context(
    client_instance_id: uuid.UUID, identity: ClientIdentity
) -> PolicyContext:
    """Say who has pushed.

    Args:
        identity: Its connection's, with a client id that may be written.
    """
    return PolicyContext(
        client_instance_id=uuid_text(client_instance_id),
        client_id=identity.client_id,
        client_software_name=identity.client_software_name,
        client_software_version=identity.client_software_version,
        principal=identity.principal,
        listener=identity.listener,
        client_source_address=identity.client_source_address,
    )


def make_policy_data(judged: JudgedConfigs, now_ms: int) -> ClientConfigData:
    """Return the entries that keep their values.

    Units: now_ms is in milliseconds since 1970-01-01T00:00:00Z.
    """
    configs = tuple(
        PolicyConfig(
            key=one.config_key,
            value=one.config_value,
            type=type_name(one.config_type),
            is_default=one.is_default,
        )
        for one in judged.allowed
    )
    return ClientConfigData(configs=configs, timestamp_ms=now_ms)
