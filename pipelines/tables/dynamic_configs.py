"""What the tables of dynamic client configs promise to their readers (KIP-649).

All are functions of one topic with one partition, and of the registrations that another
one holds whenever the first one tells of new ones. Names that are empty stand for none,
so that they may be part of a key; nobody's client id is that in an entity.
"""

from .columns import COORDINATES, Column, required
from .contract import STATISTICS_PROPERTY, TableContract


def _statistics(*names: str) -> dict[str, str]:
    return {
        # Never of a value: statistics stay in the log when a value is taken out.
        STATISTICS_PROPERTY: ",".join((*names, "topic", "partition", "offset")),
    }


_ENTITY = (
    required("user_name", "STRING", "User of the entity, without `User:`."),
    required(
        "client_id",
        "STRING",
        "Client id of the entity; empty: of all of the user's, or the default.",
    ),
    required(
        "is_default_client_id",
        "BOOLEAN",
        "Whether it is of the user's default client id.",
    ),
)

DYNAMIC_CLIENT_CONFIGS = TableContract(
    name="dynamic_client_configs",
    comment="One value of a dynamic client config of an entity (KIP-649), for as long "
    "as it was set.",
    columns=(
        *_ENTITY,
        required("config_key", "STRING", "Key in the Java client's names."),
        required("config_value", "STRING", "Value that is set."),
        Column("altered_by", "STRING", "Principal that set it; null: not told."),
        required(
            "valid_from", "TIMESTAMP", "When it was set (UTC), by the bridge's clock."
        ),
        Column(
            "valid_to", "TIMESTAMP", "When it was no longer set; null: it still is."
        ),
        required("is_current", "BOOLEAN", "Whether it is set now."),
        *COORDINATES,
    ),
    merge_key=(
        "user_name",
        "client_id",
        "is_default_client_id",
        "config_key",
        "valid_from",
    ),
    contract_version=1,
    closes_by="valid_to",
    properties=_statistics("user_name", "client_id", "config_key", "valid_from"),
)

CLIENT_SUPPORTED_CONFIGS = TableContract(
    name="client_supported_configs",
    comment="The dynamic configs that clients of one user, client id and software have "
    "registered last as those that they can take.",
    columns=(
        required("user_name", "STRING", "User of the clients, without `User:`."),
        required("client_id", "STRING", "client.id; empty: the clients have none."),
        required("client_software_name", "STRING", "ClientSoftwareName."),
        required("client_software_version", "STRING", "ClientSoftwareVersion."),
        required("config_keys", "ARRAY<STRING>", "Keys, sorted."),
        required("registered_at", "TIMESTAMP", "When they were registered last (UTC)."),
        *COORDINATES,
    ),
    merge_key=(
        "user_name",
        "client_id",
        "client_software_name",
        "client_software_version",
    ),
    contract_version=1,
    properties=_statistics("user_name", "client_id", "client_software_name"),
)

DYNAMIC_CONFIG_CHANGES = TableContract(
    name="dynamic_client_config_changes",
    comment="One record of the topic of dynamic client configs, in order, with what it "
    "changed in one readable line. The ledger of its job: written last.",
    columns=(
        required(
            "record_type",
            "STRING",
            "alteration, registration, or registrations: other registrations were "
            "read from their own topic.",
        ),
        required("at", "TIMESTAMP", "When the bridge took it (UTC)."),
        Column("altered_by", "STRING", "Principal that asked; null: a registration."),
        required(
            "entity",
            "STRING",
            "users/alice/clients/<default>; percent-encoded. Empty: of nobody.",
        ),
        Column("change", "STRING", "What it changed; null: nothing."),
        *COORDINATES,
    ),
    merge_key=("topic", "partition", "offset"),
    contract_version=1,
    ages_by="at",
    # Rows are put by their key: a recreated topic has the same offsets again.
    properties=_statistics("at", "entity"),
)

DYNAMIC_CONFIG_CONTRACTS = (
    DYNAMIC_CLIENT_CONFIGS,
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CONFIG_CHANGES,
)
"""In the order in which the job writes them: the ledger last."""
