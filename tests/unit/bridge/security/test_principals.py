import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.bridge.security.distinguished_names import format_distinguished_name
from pipelines.bridge.security.principal_rules import (
    InvalidName,
    InvalidRule,
    NoMatchingRule,
    PrincipalRules,
)
from pipelines.settings import CONF_PATH

GOLDEN = CONF_PATH.parent / "tests" / "golden" / "security" / "distinguished_names.tsv"
CASES = [line.split("\t") for line in GOLDEN.read_text().splitlines()]
PLAIN = bytes.fromhex(CASES[0][1])

# Kafka's own examples: SslPrincipalMapperTest.java.
KAFKAS_RULES = """
    RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L,
    RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,
    RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U,
    RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U,
    DEFAULT
"""


@pytest.mark.parametrize(
    ("subject", "text"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_subject_reads_as_java_prints_it(subject, text):
    assert format_distinguished_name(bytes.fromhex(subject)) == json.loads(text)


@pytest.mark.parametrize("cut", range(len(PLAIN)))
def test_a_subject_that_is_cut_is_refused(cut):
    with pytest.raises(ValueError, match=r"DER|object id"):
        format_distinguished_name(PLAIN[:cut])


def test_bytes_behind_a_subject_are_refused():
    with pytest.raises(ValueError, match="bytes behind"):
        format_distinguished_name(PLAIN + b"\x00")


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_value_error(data):
    for subject in (data, b"\x30" + bytes([len(data)]) + data):
        try:
            format_distinguished_name(subject)
        except ValueError:
            continue


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
        ("cN=duke,OU=JavaSoft,O=Sun Microsystems", "DUKE"),
        ("OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"),
    ],
)
def test_kafkas_rules_give_kafkas_names(subject, name):
    assert PrincipalRules(KAFKAS_RULES).find_name(subject) == name


def test_a_comma_inside_a_value_stays():
    rules = PrincipalRules(r"RULE:^CN=((\\, *|\w)+)(,.*|$)/$1/,DEFAULT")
    assert rules.find_name(r"CN=Tkac\, Adam,OU=ITZ,DC=geodis,DC=cz") == r"Tkac\, Adam"


@pytest.mark.parametrize(
    "text",
    ["DEFAULT", "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
     "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, DEFAULT",
     "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L",
     "RULE:^cn=(.?),ou=(.?),dc=(.?),dc=(.?)$/$1@$2/U",
     "RULE:^CN=([^,ADEFLTU,]+)(,.*|$)/$1/", "RULE:^CN=([^,DEFAULT,]+)(,.*|$)/$1/",
     "", ",   , , ,      , , ,   "],
)  # fmt: skip
def test_rules_that_kafka_takes_are_taken(text):
    PrincipalRules(text)


@pytest.mark.parametrize(
    "text",
    ["default", "DEFAUL", "DEFAULT/L", "DEFAULT/U",
     "RULE:CN=(.*?),OU=ServiceUsers.*/$1", "rule:^CN=(.*?),OU=ServiceUsers.*$/$1/",
     "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U", "RULE:^CN=(.*?),OU=ServiceUsers.*$/L",
     "RULE:^CN=(.*?),OU=ServiceUsers.*$/U", "RULE:^CN=(.*?),OU=ServiceUsers.*$/LU",
     # Not Kafka's: what only fails there once a client comes.
     "RULE:(?=a)b/c/", "RULE:(a)\\1/c/", "RULE:a(/b/", "RULE:a/$1/", "RULE:(a)/$x/",
     "RULE:a{1000}{1000}/b/"],
)  # fmt: skip
def test_rules_that_cannot_be_used_are_refused_at_the_start(text):
    with pytest.raises(InvalidRule):
        PrincipalRules(text)


@pytest.mark.parametrize(
    ("text", "subject", "name"),
    [
        ("RULE:a/$0$0/", "a", "aa"),
        ("RULE:(a)(b)/$2$1$12$3/", "ab", "baa2$3"),
        (r"RULE:(a)/\$1\\/", "a", "$1\\"),
        ("RULE:.*/x/", "abc", "xx"),
        ("RULE:()b|(a)/[$2]/", "a", "[a]"),
        ("RULE:   /     / ,  DEFAULT  ", "   ", "     "),
        (r"RULE:\/\\\(\)/\/\//", "/\\()", "//"),
        (r"RULE:,RULE:,/,RULE:,\//U,DEFAULT", ",RULE:,", ",RULE:,/"),
        ("RULE:, DEFAULT, /DEFAULT/,DEFAULT", ", DEFAULT, ", "DEFAULT"),
        (",,RULE://,,,DEFAULT,,", "O=a", "O=a"),
    ],
)
def test_a_replacement_reads_as_javas_does(text, subject, name):
    assert PrincipalRules(text).find_name(subject) == name


@pytest.mark.parametrize("text", ["", "RULE:CN=(.*)/$1/"])
def test_a_subject_that_no_rule_matches_has_no_name(text):
    with pytest.raises(NoMatchingRule) as raised:
        PrincipalRules(text).find_name("O=secret")
    assert "secret" not in str(raised.value)


def test_a_pattern_that_would_backtrack_for_ever_does_not():
    with pytest.raises(NoMatchingRule):
        PrincipalRules("RULE:(a+)+b/x/").find_name("a" * 100_000)


@pytest.mark.parametrize(
    "char", ["\n", "\r", "\x1b", "\x7f", "\x85", "\u2028", "\u202e"]
)
@pytest.mark.parametrize("rules", ["DEFAULT", "RULE:^CN=((?s).*?),.*$/$1/L, DEFAULT"])
def test_a_subject_with_control_characters_names_no_principal(rules, char):
    with pytest.raises(InvalidName) as raised:
        PrincipalRules(rules).find_name(f"CN=al{char}ice,O=Org")
    assert "ice" not in str(raised.value)


def test_what_java_writes_for_a_zero_byte_is_a_name():
    assert PrincipalRules("DEFAULT").find_name("CN=al\\00ice") == "CN=al\\00ice"
