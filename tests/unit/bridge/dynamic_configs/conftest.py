import asyncio

import pytest

from pipelines.bridge.dynamic_configs.dynamic_counters import DynamicConfigCounters
from pipelines.bridge.dynamic_configs.rules import AlterationRules
from pipelines.bridge.dynamic_configs.state import DynamicState
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.dynamic_config_keys import load_dynamic_config_keys
from pipelines.settings.rules import make_sensitive_key_rules
from tests.unit.bridge.dynamic_configs.store_bridge import Bridge

KEYS = """
[[keys]]
name="linger.ms"
client_types=["producer"]
type="LONG"
low=0
high=900
[[keys]]
name="client.rack"
client_types=["consumer"]
type="STRING"
[[keys]]
name="bootstrap.servers"
client_types=["consumer"]
type="LIST"
[[keys]]
name="enable.idempotence"
client_types=["producer"]
type="BOOLEAN"
[[keys]]
name="sticky.partitioning.linger.ms"
client_types=["producer"]
type="DOUBLE"
high=1.5
[[keys]]
name="retries"
client_types=["producer"]
type="INT"
high=9
[[keys]]
name="fetch.error.backoff.ms"
client_types=["producer"]
type="DOUBLE"
"""


@pytest.fixture(scope="session")
def secret_rules():
    settings = load_settings("base").sensitive_keys
    return make_sensitive_key_rules(settings, load_config_catalogs())


@pytest.fixture(scope="session")
def judge(secret_rules, tmp_path_factory):
    """The proposal's keys, and one of each type."""
    path = tmp_path_factory.mktemp("keys") / "keys.toml"
    path.write_text(KEYS)
    names = ["apache-kafka-java", "librdkafka"]
    own = load_dynamic_config_keys(str(path), secret_rules, names)
    usual = load_dynamic_config_keys("", secret_rules)
    return AlterationRules({**usual, **own}, secret_rules)


@pytest.fixture
def counters():
    return DynamicConfigCounters(is_enabled=True)


@pytest.fixture
def state(judge, counters):
    return DynamicState(judge, counters)


@pytest.fixture
def bridge(judge, secret_rules, state, counters):
    return Bridge(judge, secret_rules, state, counters)


@pytest.fixture
def run(bridge):
    """Run a scene of a test while the bridge writes."""

    def play(scene):
        async def play_beside():
            writing_task = asyncio.create_task(bridge.writer.run())
            try:
                await scene()
            finally:
                writing_task.cancel()
                await asyncio.gather(writing_task, return_exceptions=True)

        asyncio.run(play_beside())

    return play
