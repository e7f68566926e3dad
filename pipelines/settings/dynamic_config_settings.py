"""The keys of conf/ about dynamic client configs (KIP-649)."""

from dataclasses import dataclass

from .client_config_settings import HIGHEST_API_KEY_OF_KAFKA, MAX_INT16
from .keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicConfigSettings:
    """Dynamic client configs (DescribeClientConfigs, AlterClientConfigs, KIP-649).

    Who alters and describes them is in bridge.admin_principals; each client may ask
    what applies to itself.
    """

    enabled: bool = key(
        "Whether both requests are served and advertised, at listeners and proxy, and "
        "topics.client_configs and topics.client_registrations are created and "
        "written.",
        default=False,
    )
    describe_api_key: int = key(
        "API key of DescribeClientConfigs. The proposal's belongs to another request "
        "of Kafka; a client must know the same.",
        low=HIGHEST_API_KEY_OF_KAFKA + 1,
        high=MAX_INT16,
        default=10_050,
    )
    alter_api_key: int = key(
        "API key of AlterClientConfigs, likewise.",
        low=HIGHEST_API_KEY_OF_KAFKA + 1,
        high=MAX_INT16,
        default=10_051,
    )
    keys_location: str = key(
        "File of the keys that may be set: name, client types, type, range or words. "
        "Empty: conf/dynamic_client_configs.toml.",
        default="",
    )
    alter_timeout_ms: int = key(
        "Longest wait until an alteration is committed and read back, before it is "
        "answered with REQUEST_TIMED_OUT; it may stand there all the same.",
        unit="ms",
        low=100,
        high=60_000,
        default=20_000,
    )
    max_registrations_per_user: int = key(
        "Versions of clients' software of one user whose supported keys are "
        "remembered, over all client ids; the oldest is forgotten first.",
        low=1,
        high=100_000,
        default=1000,
    )
    max_registrations_per_connection: int = key(
        "New registrations of supported keys that one connection may write. A client "
        "writes one, when its software or client ID is new.",
        low=1,
        high=100_000,
        default=10,
    )
    max_registrations_per_hour: int = key(
        "New registrations of supported keys that the clients of one user may write "
        "through one bridge process in an hour. Registrations above it are not written "
        "and counted as lost; the answer to the client is the same.",
        low=1,
        high=1_000_000,
        default=500,
    )
