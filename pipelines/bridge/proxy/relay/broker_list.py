"""Which brokers there are, asked of any of them."""

from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.metadata.v12.response import MetadataResponse

from pipelines.bridge.cluster.client import ClusterClient
from pipelines.bridge.cluster.faults import ClusterFault
from pipelines.bridge.proxy.rules.brokers import Address


async def read_brokers(client: ClusterClient, place: str) -> list[tuple[int, Address]]:
    """Return the node id and the address of each broker that is there now.

    Args:
        client: Asks the cluster.
        place: What to call the cluster where it does not say.
    Raises: ClusterFault, also when there is none: then it has just begun itself.
    """
    request = MetadataRequest(
        topics=(),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    answer = await client.ask(request, MetadataResponse)
    if not answer.brokers:
        raise ClusterFault(f"Kafka at {place} names no broker")
    return [(int(one.node_id), (one.host, int(one.port))) for one in answer.brokers]
