"""The settings that documents show are settings that load."""

import json
import shutil

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from pipelines.bridge.server import BridgeServer
from pipelines.settings import CONF_PATH, load_config_catalogs, load_settings
from pipelines.settings.finding_rules import load_finding_rules
from pipelines.settings.rules import list_software, make_sensitive_key_rules
from pipelines.settings.secret_references import SecretReader
from tests.support.bridge.certificates import Authority
from tests.support.documents import list_blocks

FINDINGS_PAGE = "docs/guide/findings.md"
BLOCKS = [one.text for one in list_blocks("toml") if one.page != FINDINGS_PAGE]
FINDINGS = [one.text for one in list_blocks("toml") if one.page == FINDINGS_PAGE]
RULES = [block for block in BLOCKS if "[[rules]]" in block]
ETC, ISSUERS_KEYS = "/etc/kafka-clientele", "https://issuer.example.org/keys"
OTHERS = [block for block in BLOCKS if block not in RULES]


def test_both_kinds_are_there():
    assert RULES
    assert OTHERS


def fill_folder(folder, block):
    """Make the files that a block names; return it with their places."""
    if ETC not in block:
        return block
    authority = Authority(folder, "clients")
    files = authority.issue("chain", "CN=bridge")
    files.key.rename(folder / "key.pem")
    (folder / "users.jsonl").write_text("")
    shutil.copy(authority.path, folder / "issuer.pem")
    jwk = ECAlgorithm.to_jwk(
        ec.generate_private_key(ec.SECP256R1()).public_key(), as_dict=True
    )
    (folder / "keys.json").write_text(json.dumps({"keys": [jwk]}))
    block = block.replace(ISSUERS_KEYS, str(folder / "keys.json"))
    return block.replace(ETC, str(folder))


@pytest.mark.parametrize("block", OTHERS)
def test_a_block_is_an_environment_that_a_bridge_takes(tmp_path, block):
    conf = shutil.copytree(CONF_PATH, tmp_path / "conf")
    (conf / "mine.toml").write_text(fill_folder(tmp_path, block))
    settings = load_settings("mine", ["client_config.enabled=true"], conf)
    secrets = dict.fromkeys(("CONTROLLER_PASSWORD", "KAFKA_CLIENT_SECRET"), "sesame")
    BridgeServer(settings, SecretReader(environ=secrets))


@pytest.mark.parametrize(
    ("block", "before", "key", "value", "rule"),
    [
        (RULES[0], "custom-key", "com.acme.x", "a", "our-keys"),
        (RULES[1], "pem-value", "group.id", "pass: me", "our-group-ids"),
    ],
)
def test_a_rule_goes_before_the_one_that_the_page_names(
    tmp_path, block, before, key, value, rule
):
    conf = shutil.copytree(CONF_PATH, tmp_path / "conf")
    path = conf / "sensitive_keys.toml"
    head = f'[[rules]]\nname = "{before}"\n'
    text = path.read_text(encoding="utf-8")
    assert text.count(head) == 1
    path.write_text(text.replace(head, f"{block}\n{head}"), encoding="utf-8")
    settings = load_settings("base", conf_path=conf).sensitive_keys
    rules = make_sensitive_key_rules(settings, load_config_catalogs(conf))
    verdict = rules.judge_entry(key, value, "STRING", "apache-kafka-java")
    assert (verdict.rule, verdict.action) == (rule, "allow")
    type_rule = rules.judge("com.acme.ssl.keystore.x", "PASSWORD", "apache-kafka-java")
    assert type_rule.rule == "password-type"


@pytest.mark.parametrize("block", FINDINGS)
def test_a_block_of_findings_is_a_file_of_rules(tmp_path, block):
    (tmp_path / "own.toml").write_text(block)
    keys = load_settings("base").sensitive_keys
    found = load_finding_rules(
        str(tmp_path / "own.toml"),
        make_sensitive_key_rules(keys, load_config_catalogs()),
        list_software(keys),
    )
    assert found.rules[-1].name == "our-linger"
    assert len(found.silences) == 1
