"""Which brokers there are, asked of any of them."""

from pipelines.bridge.core.client_identity import KnownCluster
from pipelines.bridge.proxy.rules.brokers import Place
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.cluster_ids import read_metadata
from pipelines.kafka_wire.faults import ClusterFault


async def read_brokers(
    client: ClusterClient, place: str, cluster: KnownCluster
) -> list[Place]:
    """Return the node id and the address of each broker that is there now.

    Args:
        client: Asks the cluster.
        place: What to call the cluster where it does not say.
        cluster: Told the id of the cluster, which is in the same answer.
    Raises: ClusterFault, also when there is none: then it has just begun itself.
    """
    answer = await read_metadata(client)
    if not answer.brokers:
        raise ClusterFault(f"Kafka at {place} names no broker")
    cluster.note(answer.cluster_id)
    return [(int(one.node_id), (one.host, int(one.port))) for one in answer.brokers]
