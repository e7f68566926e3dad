"""Rules for secrets as conf/ has them, and answers of brokers."""

import pytest

from pipelines.settings import load_settings
from pipelines.settings.loading import load_broker_configs, load_config_catalogs
from pipelines.settings.rules import make_published_rules


@pytest.fixture(scope="session")
def rules():
    """What hides configs of a cluster."""
    settings = load_settings("local")
    return make_published_rules(
        settings.sensitive_keys, load_config_catalogs(), load_broker_configs()
    )
