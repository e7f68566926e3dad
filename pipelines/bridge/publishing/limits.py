"""Bounds of one push against bounds of what holds it."""

from pipelines.bridge.core.records import max_record_bytes
from pipelines.errors import InvalidSetting
from pipelines.settings.records import BridgeSettings

REQUEST_ROOM_BYTES = 1_024
"""Header of a request, client id included, and fields beside `metrics`."""


def check_limits(bridge: BridgeSettings) -> None:
    """Refuse limits that would let a push be offered and never taken.

    Raises: InvalidSetting.
    """
    request_bytes = bridge.telemetry_max_bytes + REQUEST_ROOM_BYTES
    record_bytes = max_record_bytes(bridge.telemetry_max_bytes)
    for name, limit, needed in (
        ("max_request_bytes", bridge.max_request_bytes, request_bytes),
        ("max_unacknowledged_bytes", bridge.max_unacknowledged_bytes, record_bytes),
    ):
        if limit < needed:
            raise InvalidSetting(
                f"bridge.{name}: is {limit}, and a push of bridge.telemetry_max_bytes "
                f"may take {needed}"
            )
