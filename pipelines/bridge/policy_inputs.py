"""What a policy is given of a push: only what may be written as well."""

import uuid

from .client_config_policy import ClientConfigData, PolicyConfig, PolicyContext
from .client_identity import ClientIdentity, uuid_text
from .push_config import JudgedConfigs, type_name


def make_policy_context(
    client_instance_id: uuid.UUID, identity: ClientIdentity
) -> PolicyContext:
    """Say who has pushed.

    Args:
        client_instance_id: Of the client.
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
