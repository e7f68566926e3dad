"""Columns are judged as single entries are."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.sensitive_rules import make_sensitive_key_rules
from pipelines.settings import load_config_catalogs, load_settings
from udfs.sensitive_key_columns import VERDICT_TYPE, judge_keys
from udfs.sensitive_keys import CONFIG_TYPE_NAMES

RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
KEYS = sorted({key for one in load_config_catalogs().values() for key in one})
SOFTWARE = ("apache-kafka-java", "librdkafka", "unknown")
DISGUISES = st.sampled_from([str.upper, str.title, " {}".format, "{}\u200b".format])


def judge_column(rows):
    columns = [
        pa.array([row[place] for row in rows], pa.string()) for place in range(3)
    ]
    return judge_keys(*columns, RULES)


key_texts = st.one_of(
    st.sampled_from(KEYS),
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


def test_no_rows_are_no_verdicts():
    assert judge_column([]).to_pylist() == []
    assert judge_column([]).type == VERDICT_TYPE


@pytest.mark.parametrize("rows", [[(None, None, None)], [("acks", None, None)]])
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
