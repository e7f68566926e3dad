"""The operator's class, found by name before anything starts."""

import pytest

from pipelines.bridge.publishing.part import list_topics
from pipelines.bridge.push_config.policy.loading import load_policy
from pipelines.bridge.server import BridgeServer
from pipelines.errors import InvalidSetting
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader

MODULE = "tests.unit.bridge.push_config.policies"


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("nothing", "expects package.module:Class"),
        (":Class", "expects package.module:Class"),
        ("a.b:", "expects package.module:Class"),
        ("a.b:c.d", "expects package.module:Class"),
        ("no_such_module:Class", "no_such_module:Class cannot be made (ModuleNotFoundError)"),
        (f"{MODULE}:NoSuchClass", f"{MODULE}:NoSuchClass cannot be made (AttributeError)"),
        (f"{MODULE}:NeedsArguments", f"{MODULE}:NeedsArguments cannot be made (TypeError)"),
        (f"{MODULE}:Incomplete", f"{MODULE}:Incomplete has no process, close"),
        (f"{MODULE}:Leaky", f"{MODULE}:Leaky refuses its settings (ValueError)"),
    ],
)  # fmt: skip
def test_a_policy_that_cannot_be_used_is_named_before_anything_starts(policy, reason):
    settings = load_settings(
        "base",
        ["client_config.enabled=true", f"client_config.policy={policy}",
         'client_config.policy_settings={token="canary"}'],
    )  # fmt: skip
    with pytest.raises(InvalidSetting) as raised:
        BridgeServer(settings, SecretReader(environ={}))
    assert str(raised.value) == f"client_config.policy: {reason}"
    assert "canary" not in str(raised.value)


def test_a_policy_may_say_which_of_its_settings_is_wrong():
    with pytest.raises(InvalidSetting, match=r"policy_settings: colour: must be blue"):
        load_policy(f"{MODULE}:Picky", {})


def test_no_policy_is_none():
    assert load_policy("", {"a": "b"}) is None


def test_a_policy_is_not_loaded_where_configurations_are_not_taken():
    settings = load_settings("base", ["client_config.policy=no.such:Class"])
    server = BridgeServer(settings, SecretReader(environ={}))
    assert not list(server.push_config.handlers())
    assert list_topics(settings) == [settings.topics.telemetry]
