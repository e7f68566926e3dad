"""Which cluster that is, asked of any of its brokers."""

from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.metadata.v12.response import MetadataResponse

from .client import REQUEST_TIMEOUT_S, ClusterClient

_REQUEST = MetadataRequest(
    topics=(),
    allow_auto_topic_creation=False,
    include_topic_authorized_operations=False,
)


async def read_metadata(
    client: ClusterClient, *, timeout_s: float = REQUEST_TIMEOUT_S
) -> MetadataResponse:
    """Return the brokers that are there now and the id of their cluster, no topics.

    Raises: ClusterFault.
    """
    return await client.ask(_REQUEST, MetadataResponse, timeout_s=timeout_s)
