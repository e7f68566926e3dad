"""What the table of clients' data behind the proxy promises to its readers."""

from .cluster import CLUSTER_ID
from .columns import COORDINATES, required
from .contract import STATISTICS_PROPERTY, TableContract

API_VERSIONS_TYPE = "ARRAY<STRUCT<api_key: INT, api_version: INT>>"

CLIENT_TRAFFIC = TableContract(
    name="client_traffic",
    comment="What one client behind the proxy has produced and fetched at one broker "
    "in one time, and the API versions that it used; a client that has done neither "
    "has only a row when one of its connections first used an API. The sum of the "
    "records of all bridges. The ledger of its job as well: each record of the topic "
    "is in a row that is as new.",
    columns=(
        CLUSTER_ID,
        required("principal", "STRING", "Authenticated principal of the client."),
        required("client_id", "STRING", "client.id; empty where the client has none."),
        required("broker_id", "INT", "Broker that it was connected to."),
        required(
            "window_start",
            "TIMESTAMP",
            "When the time began, by the bridge's clock: a multiple of "
            "proxy.traffic_interval_ms (UTC).",
        ),
        required(
            "window_ms",
            "INT",
            "From window_start to the last record, in milliseconds; less than a whole "
            "time where the bridge has ended in it.",
        ),
        required(
            "produced_bytes",
            "BIGINT",
            "Sizes of its Produce requests, as the broker's producer_byte_rate counts.",
        ),
        required(
            "fetched_bytes",
            "BIGINT",
            "Sizes of the answers to its Fetch requests, as consumer_byte_rate counts; "
            "ShareFetch is one.",
        ),
        required("produce_requests", "BIGINT", "Produce requests."),
        required("fetch_requests", "BIGINT", "Fetch and ShareFetch requests."),
        required(
            "throttle_ms_sum",
            "BIGINT",
            "ThrottleTimeMs of the answers to both, in milliseconds.",
        ),
        required("throttle_ms_max", "INT", "The greatest of them."),
        required("throttled_answers", "BIGINT", "Answers where it was not 0."),
        required("connections", "INT", "Connections that produced or fetched."),
        required(
            "client_software_name",
            "STRING",
            "ClientSoftwareName of ApiVersions of one of them; `unknown` when it was "
            "not sent.",
        ),
        required(
            "client_software_version",
            "STRING",
            "ClientSoftwareVersion of the same one; `unknown` when it was not sent.",
        ),
        required(
            "produce_throttle_ms_sum",
            "BIGINT",
            "The part of throttle_ms_sum that answers to Produce told.",
        ),
        required("received_at", "TIMESTAMP", "When the newest record was made (UTC)."),
        required("push_ids", "ARRAY<STRING>", "Of the records that are summed up."),
        *COORDINATES,
        required(
            "api_versions",
            API_VERSIONS_TYPE,
            "The version of the first request of each API on each of its connections.",
        ),
    ),
    merge_key=("cluster_id", "principal", "client_id", "broker_id", "window_start"),
    newest_by=("received_at",),
    contract_version=2,
    ages_by="window_start",
    properties={
        STATISTICS_PROPERTY: "cluster_id,principal,client_id,broker_id,window_start,"
        "topic,partition,offset",
    },
)
