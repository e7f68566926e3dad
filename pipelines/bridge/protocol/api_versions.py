"""Answers to ApiVersions.

A version that is not served is answered in the form of version 0, error 35 and the
one range that the client needs to ask again. The others list what is served; from
version 4 on the answers look alike.
Source: KIP-511; Kafka, ApiVersionsRequest.java and RequestContext.java.
"""

import functools
import re

from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType

from .api_keys import API_VERSIONS, ServedApis
from .replies import NO_THROTTLE, encode_body, fill, fill_response
from .requests import Request
from .software import ClientSoftware

UNKNOWN_SOFTWARE = "unknown"
"""Kafka's word for the software of a client that has not said."""
_LAST_LAYOUT = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def is_valid_software(software: ClientSoftware) -> bool:
    """Say whether Kafka accepts a client's name and version.

    Source: Kafka, ApiVersionsRequest.java, SOFTWARE_NAME_VERSION_PATTERN.
    """
    return bool(
        _SOFTWARE.fullmatch(software.client_software_name)
        and _SOFTWARE.fullmatch(software.client_software_version)
    )


def answer_api_versions(request: Request, apis: ServedApis) -> bytes:
    """Return the body of the answer: the APIs, or why there are none.

    Errors: UNSUPPORTED_VERSION(35) with ApiVersions' own range, INVALID_REQUEST(42)
        without any, for a software name or version that Kafka does not accept.
    """
    own = apis[API_VERSIONS].versions
    if request.api_version not in own:
        return _encode(0, ErrorCode.unsupported_version, ((API_VERSIONS, own),))
    body = request.body
    if isinstance(body, ClientSoftware) and not is_valid_software(body):
        return _encode(request.api_version, ErrorCode.invalid_request, ())
    served = tuple((api.api_key, api.versions) for api in apis.values())
    return _encode(request.api_version, ErrorCode.none, served)


@functools.cache
def _encode(
    api_version: int, error_code: ErrorCode, served: tuple[tuple[int, range], ...]
) -> bytes:
    api_version = min(api_version, _LAST_LAYOUT)
    module = load_payload_module(API_VERSIONS, api_version, EntityType.response)
    ranges = tuple(
        fill(
            module.ApiVersion,
            api_key=api_key,
            min_version=versions.start,
            max_version=versions.stop - 1,
        )
        for api_key, versions in served
    )
    return encode_body(
        fill_response(
            API_VERSIONS,
            api_version,
            error_code=error_code,
            api_keys=ranges,
            throttle_time=NO_THROTTLE,
        )
    )
