"""Limits of a bridge that must fit each other."""

from pipelines.errors import InvalidSetting
from pipelines.setting_records import BridgeSettings

from .records import max_record_bytes


def check_limits(bridge: BridgeSettings) -> None:
    """Refuse limits that would let a push be offered and never taken.

    Raises: InvalidSetting.
    """
    record_bytes = max_record_bytes(bridge.telemetry_max_bytes)
    for name, limit in (
        ("max_request_bytes", bridge.max_request_bytes),
        ("max_unacknowledged_bytes", bridge.max_unacknowledged_bytes),
    ):
        if limit < record_bytes:
            raise InvalidSetting(
                f"bridge.{name}: is {limit}, and a push of bridge.telemetry_max_bytes "
                f"with its headers may take {record_bytes}"
            )
