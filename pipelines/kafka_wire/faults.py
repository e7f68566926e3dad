"""Why the cluster has given no answer; each knows what a client is told of it.

Texts hold names, addresses and codes, never a password.
"""

from kio.schema.errors import ErrorCode

from pipelines.errors import MissingService


class ClusterFault(MissingService):
    """Raised when the cluster has not answered; it may do so later."""

    error_code = ErrorCode.request_timed_out


class ClusterRefusal(ClusterFault):
    """Raised when the cluster and the bridge do not accept each other."""

    error_code = ErrorCode.unknown_server_error


class MissingApi(ClusterFault):
    """Raised when the cluster is too old for a request."""

    error_code = ErrorCode.unsupported_version


class MissingRight(ClusterRefusal):
    """Raised when the bridge's principal lacks a right; the text names it."""

    error_code = ErrorCode.cluster_authorization_failed
