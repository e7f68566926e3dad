"""What a static config must be, and whether it is."""

from dataclasses import dataclass

from pyspark.sql import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """What was asked for; None asks nothing."""

    low: float | None = None
    high: float | None = None
    value: str | None = None


def judge(config: Row, constraint: Constraint) -> str | None:
    """Say how a config breaks a constraint; None: it does not.

    Args:
        config: Has config_value; null is a value, and no number.
    """
    value = config["config_value"]
    if constraint.value is not None and value != constraint.value:
        return f"breaks --value {constraint.value}"
    if constraint.low is None and constraint.high is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return "is no number"
    if constraint.low is not None and not number >= constraint.low:
        return f"breaks --min {_show(constraint.low)}"
    if constraint.high is not None and not number <= constraint.high:
        return f"breaks --max {_show(constraint.high)}"
    return None


def _show(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)
