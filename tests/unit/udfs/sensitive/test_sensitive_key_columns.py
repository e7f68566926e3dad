"""Columns are judged as single entries are."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from tests.unit.udfs.sensitive.secrets_in_values import SECRETS, write_secret
from udfs.sensitive.sensitive_key_columns import (
    VERDICT_TYPE,
    find_suspects,
    judge_entries,
    judge_keys,
)
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES, SensitiveKeyRule
from udfs.sensitive.sensitive_keys import compile_rules

RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
KEYS = sorted({key for one in load_config_catalogs().values() for key in one})
SOFTWARE = ("apache-kafka-java", "librdkafka", "sarama")
DISGUISES = st.sampled_from([str.upper, str.title, " {}".format, "{}\u200b".format])


def judge_column(rows):
    columns = [
        pa.array([row[place] for row in rows], pa.string()) for place in range(3)
    ]
    return judge_keys(*columns, RULES)


key_texts = st.one_of(
    st.sampled_from(KEYS),
    st.sampled_from(["max.open.requests", "db.password", "metric.reporters"]),
    st.builds(lambda key, wear: wear(key), st.sampled_from(KEYS), DISGUISES),
    st.builds("{}{}{}".format, st.text(max_size=4),
              st.sampled_from(["ssl.", ".sasl.", ".class", "_", "."]),
              st.text(max_size=4)),
    st.text(max_size=20),
    st.none(),
)  # fmt: skip
type_texts = st.one_of(
    st.sampled_from(CONFIG_TYPE_NAMES), st.text(max_size=3), st.none()
)
software_texts = st.one_of(st.sampled_from(SOFTWARE), st.text(max_size=3), st.none())


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(key_texts, type_texts, software_texts), max_size=30))
def test_a_column_is_judged_as_its_entries_are_one_by_one(rows):
    verdicts = judge_column(rows)
    assert verdicts.type == VERDICT_TYPE
    expected = [RULES.judge(key or "", t or "", s or "") for key, t, s in rows]
    assert verdicts.to_pylist() == [
        {"rule": one.rule, "action": one.action} for one in expected
    ]


value_texts = st.one_of(
    st.builds(
        write_secret, st.sampled_from([form for _, form in SECRETS]), st.integers(0, 9)
    ),
    st.builds(
        lambda form, cut: write_secret(form, 1)[cut:-cut],
        st.sampled_from([form for _, form in SECRETS]),
        st.integers(1, 9),
    ),
    st.from_regex(r"(password|sig|eyJ|a://|AKIA)[=:@. \n]{0,2}[a-zA-Z0-9]{0,24}"),
    st.sampled_from(["5", "true", "1.5", "range", "range,com.acme.X", "99999999999"]),
    st.sampled_from(["", "all", "5", "a\nb", "\u017fecret=1", "to\u212aen=x", "é@"]),
    st.from_regex(r"(%70|\\u0070|&#112;|\uff50|p\u0301)assword(%3D|\\=|=|%|\\)?[x%]?"),
    st.text(max_size=20),
    st.none(),
)
allowed_keys = st.sampled_from(["acks", "client.id", "enable.idempotency"])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(allowed_keys, key_texts), value_texts, type_texts, software_texts
        ),
        max_size=30,
    )
)
def test_a_column_with_values_is_judged_as_its_entries_are_one_by_one(rows):
    columns = [pa.array([row[at] for row in rows], pa.string()) for at in range(4)]
    expected = [RULES.judge_entry(*(text or "" for text in row)) for row in rows]
    for given_columns in (columns, [one.dictionary_encode() for one in columns]):
        verdicts = judge_entries(*given_columns, RULES)
        assert verdicts.type == VERDICT_TYPE
        assert verdicts.to_pylist() == [
            {"rule": one.rule, "action": one.action} for one in expected
        ]


@settings(max_examples=150, deadline=None)
@given(st.lists(value_texts.map(lambda text: text or ""), max_size=20))
def test_suspects_of_a_column_are_those_of_the_bridge(values):
    found = find_suspects(pa.array(values, pa.string()), RULES).tolist()
    assert found == [RULES.may_hide([value]) for value in values]


def test_suspects_are_found_wherever_values_are_cut_into_blocks():
    values = [f"app-{number}" for number in range(5_000)]
    values[::97] = [f"password=x{number}\n" for number in range(len(values[::97]))]
    # Only together with the next value do these look like a secret.
    values[5:4_000:50] = ["password="] * len(values[5:4_000:50])
    values[1_000] = "a\u0301" * 9_000 + "token=x"
    values[1_001] = "token=x"
    for column in (values, values[1_000:1_001], values[:1], []):
        found = find_suspects(pa.array(column, pa.string()), RULES).tolist()
        assert found == [RULES.may_hide([value]) for value in column]


def test_a_pattern_that_finds_nothing_at_all_finds_it_in_each_value():
    rules = compile_rules(
        [SensitiveKeyRule(name="any", action="redact", value_patterns=("z*",))], {}
    )
    for column in ([], [""], ["", "a", "zz", ""]):
        values = pa.array(column, pa.string())
        assert find_suspects(values, rules).tolist() == [True] * len(column)


def test_one_secret_value_does_not_touch_its_neighbours():
    keys = ["acks", "client.id", "acks", "ssl.x", "client.id"]
    values = ["all", "password=x", "password=x", "password=x", None]
    columns = [keys, values, ["STRING"] * 5, ["apache-kafka-java"] * 5]
    verdicts = judge_entries(*(pa.array(one, pa.string()) for one in columns), RULES)
    assert [one["rule"] for one in verdicts.to_pylist()] == [
        "", "named-secret-value", "named-secret-value", "security-key", "",
    ]  # fmt: skip


def test_no_rows_are_no_verdicts():
    assert judge_column([]).to_pylist() == []
    assert judge_column([]).type == VERDICT_TYPE


@pytest.mark.parametrize("rows", [[(None, None, None)], [("my.key", None, None)]])
def test_null_is_never_a_way_around_a_rule(rows):
    (verdict,) = judge_column(rows).to_pylist()
    assert verdict == {"rule": "custom-key", "action": "redact"}


def test_one_sensitive_entry_does_not_touch_its_neighbours():
    rows = [
        ("acks", "STRING", "apache-kafka-java"),
        ("ssl.key", "STRING", "apache-kafka-java"),
        ("acks", "STRING", "apache-kafka-java"),
    ]
    actions = [one["action"] for one in judge_column(rows).to_pylist()]
    assert actions == ["allow", "redact", "allow"]


def test_a_slice_of_a_column_is_judged_as_what_it_shows():
    keys = pa.array(["ssl.a", "acks", "linger.ms"], pa.string()).slice(1)
    types = pa.array(["STRING", "LONG"], pa.string())
    software = pa.array(["apache-kafka-java"] * 2, pa.string())
    actions = [
        one["action"] for one in judge_keys(keys, types, software, RULES).to_pylist()
    ]
    assert actions == ["allow", "allow"]


def test_column_judges_values_by_type_within_one_key():
    values = ["5", "hunter2", "5", None, "7", "range", "x"]
    keys = ["max.requests"] * 5 + ["partition.assignment.strategy"] * 2
    columns = [keys, values, ["INT"] * 5 + ["LIST"] * 2, ["sarama"] * 7]
    verdicts = judge_entries(*(pa.array(one, pa.string()) for one in columns), RULES)
    assert [one["rule"] for one in verdicts.to_pylist()] == [
        "typed-value", "custom-key", "typed-value", "custom-key", "typed-value",
        "known-class-list", "class-list",
    ]  # fmt: skip
