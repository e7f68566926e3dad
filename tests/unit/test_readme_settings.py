"""The settings that README.md shows are settings that load."""

import re
import shutil

import pytest

from pipelines.bridge.server import BridgeServer
from pipelines.secret_references import SecretReader
from pipelines.sensitive_rules import make_sensitive_key_rules
from pipelines.settings import CONF_PATH, load_config_catalogs, load_settings

README = (CONF_PATH.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
RULES = [block for block in BLOCKS if "[[rules]]" in block]
OTHERS = [block for block in BLOCKS if block not in RULES]


def test_both_kinds_are_there():
    assert RULES
    assert OTHERS


@pytest.mark.parametrize("block", OTHERS)
def test_a_block_is_an_environment_that_a_bridge_takes(tmp_path, block):
    conf = shutil.copytree(CONF_PATH, tmp_path / "conf")
    (conf / "mine.toml").write_text(block)
    settings = load_settings("mine", ["client_config.enabled=true"], conf)
    BridgeServer(settings, SecretReader(environ={}))


@pytest.mark.parametrize("block", RULES)
def test_a_rule_can_be_put_before_those_of_the_file(tmp_path, block):
    conf = shutil.copytree(CONF_PATH, tmp_path / "conf")
    path = conf / "sensitive_keys.toml"
    path.write_text(block + path.read_text())
    settings = load_settings("base", conf_path=conf).sensitive_keys
    rules = make_sensitive_key_rules(settings, load_config_catalogs(conf))
    assert rules.judge("com.acme.x", "STRING", "apache-kafka-java").rule == "our-keys"
