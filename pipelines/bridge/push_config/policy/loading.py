"""Finds the operator's policy class and configures it, before anything starts."""

import importlib
from collections.abc import Mapping

from pipelines.errors import InvalidSetting

from .contract import ClientConfigPolicy, InvalidPolicySetting

_METHODS = ("configure", "process", "close")
_PLACE = "client_config.policy"


def load_policy(path: str, settings: Mapping[str, str]) -> ClientConfigPolicy | None:
    """Return the policy, configured; None where none is set.

    Exceptions of the operator's code are told by their type alone, unless they are
    InvalidPolicySetting, which is made to be told.

    Args:
        path: `package.module:Class`, or empty.
        settings: What configure() is given.
    Raises: InvalidSetting.
    """
    if not path:
        return None
    module_name, separator, class_name = path.partition(":")
    if not (separator and module_name and class_name.isidentifier()):
        raise InvalidSetting(f"{_PLACE}: expects package.module:Class")
    try:
        made = getattr(importlib.import_module(module_name), class_name)()
    except Exception as error:  # noqa: BLE001 - whatever an operator's code raises
        raise InvalidSetting(
            f"{_PLACE}: {path} cannot be made ({type(error).__name__})"
        ) from None
    missing = [one for one in _METHODS if not callable(getattr(made, one, None))]
    if missing:
        raise InvalidSetting(f"{_PLACE}: {path} has no {', '.join(missing)}")
    policy: ClientConfigPolicy = made
    try:
        policy.configure(dict(settings))
    except InvalidPolicySetting as error:
        raise InvalidSetting(f"client_config.policy_settings: {error}") from None
    except Exception as error:  # noqa: BLE001 - the same
        raise InvalidSetting(
            f"{_PLACE}: {path} refuses its settings ({type(error).__name__})"
        ) from None
    return policy
