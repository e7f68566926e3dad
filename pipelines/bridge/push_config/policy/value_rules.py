"""The policy that comes with the bridge: rules for the values of some keys.

`[client_config.policy_settings]` has one rule a line:

    durable = "acks in all,-1 reject"
    quick = "linger.ms <= 100 log"

name, key, operator, value, action. A rule says what must hold; a push without the key
keeps it. Numbers are compared as numbers, and a text in the place of one breaks a rule.
"""

import logging
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from .contract import (
    ClientConfigData,
    InvalidPolicySetting,
    PolicyContext,
    PolicyViolation,
)

logger = logging.getLogger(__name__)

LOG, REJECT = "log", "reject"
_NUMBER_OPERATORS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TEXT_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "in": lambda value, wanted: value in wanted.split(","),
}
_RULE_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRule:
    """What the value of one key must be."""

    name: str
    key: str
    operator: str
    wanted: str
    action: str

    def holds(self, value: str) -> bool:
        """Say whether a value is as it must be."""
        if self.operator in _TEXT_OPERATORS:
            return _TEXT_OPERATORS[self.operator](value.strip(), self.wanted)
        number = _to_number(value)
        if number is None:
            return False
        return _NUMBER_OPERATORS[self.operator](number, Decimal(self.wanted))

    def describe(self) -> str:
        """Return what the client is told: what is wanted, not what it sent."""
        return f"{self.key} must be {self.operator} {self.wanted} ({self.name})"


def parse_value_rule(name: str, text: str) -> ValueRule:
    """Read one rule.

    Raises: InvalidPolicySetting, naming the rule and what is wrong.
    """
    words = text.split()
    if len(words) != _RULE_WORDS:
        raise InvalidPolicySetting(f"{name}: expects key operator value action")
    key, symbol, wanted, action = words
    if symbol not in {*_TEXT_OPERATORS, *_NUMBER_OPERATORS}:
        known = " ".join([*_TEXT_OPERATORS, *_NUMBER_OPERATORS])
        raise InvalidPolicySetting(f"{name}: the operator must be one of {known}")
    if symbol in _NUMBER_OPERATORS and _to_number(wanted) is None:
        raise InvalidPolicySetting(f"{name}: {symbol} compares with a number")
    if action not in {LOG, REJECT}:
        raise InvalidPolicySetting(f"{name}: the action must be {LOG} or {REJECT}")
    return ValueRule(name=name, key=key, operator=symbol, wanted=wanted, action=action)


class ValueRules:
    """A ClientConfigPolicy; see this file's first comment."""

    def __init__(self) -> None:
        self._rules: dict[str, list[ValueRule]] = {}

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the rules.

        Raises: InvalidPolicySetting.
        """
        for name, text in settings.items():
            rule = parse_value_rule(name, text)
            self._rules.setdefault(rule.key, []).append(rule)

    def process(
        self, context: PolicyContext, client_config_data: ClientConfigData
    ) -> None:
        """Check each value that has a rule.

        Raises: PolicyViolation, naming every broken rule that rejects.
        """
        rejections = []
        for one in client_config_data.configs:
            for rule in self._rules.get(one.key, ()):
                if rule.holds(one.value):
                    continue
                if rule.action == REJECT:
                    rejections.append(rule.describe())
                else:
                    logger.info(
                        "client instance %s breaks rule %s on %s",
                        context.client_instance_id,
                        rule.name,
                        rule.key,
                    )
        if rejections:
            raise PolicyViolation("; ".join(rejections))

    def close(self) -> None:
        """Have nothing to let go of."""


def _to_number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
