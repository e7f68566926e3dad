"""The rules for sensitive entries over whole columns.

Strategy: keys, types and software repeat all over a batch, so each different
combination is judged once, by the same SensitiveKeyRules that judge a single request,
and the verdicts are spread over the rows by index. Each different value is searched for
the rules' hiding patterns, many values joined at once, by the rules' own compiled
patterns: Arrow would compile them anew, and learn them anew, for each batch. Only where
one is found is the entry judged with its value, again by SensitiveKeyRules. Values that
may have another plain form are few, and they search that one by one. The loops are over
combinations, over blocks of values, over those few and over suspects. A combination on
which rules for value types or items have a say is judged once for each different set of
such rules that its values fit.
What a column lacks is the empty text, which no catalog knows: null is never a way
around a rule.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.text_codes import CodedTexts, Codes, code_texts, combine_codes, texts_at

from .plain_values import MAY_DIFFER
from .sensitive_key_rules import ALLOW, CompiledRule, Verdict
from .sensitive_keys import SensitiveKeyRules

VERDICT_TYPE = pa.struct([("rule", pa.string()), ("action", pa.string())])
_BLOCK = 1 << 13
"""Bytes that are searched at once: many short values, and little to begin again with
behind each find."""


def judge_keys(
    keys: pa.StringArray,
    type_names: pa.StringArray,
    software_names: pa.StringArray,
    rules: SensitiveKeyRules,
) -> pa.StructArray:
    """Decide many entries by all but their values.

    Args:
        keys: string, as they were sent.
        type_names: string, names of ConfigDef.Type, same length.
        software_names: string, client_software_name, same length.
        rules: From sensitive_keys.compile_rules.
    Returns: VERDICT_TYPE; what rules.judge says of each row.
    Shape: n rows in, n rows out, same order.
    Nulls: A null is judged as the empty text; no verdict is null.
    """
    columns = [code_texts(one) for one in (software_names, type_names, keys)]
    different, places = combine_codes(columns)
    verdicts = [rules.judge(*one) for one in _entries_at(different, columns)]
    return _spread(verdicts, places)


def judge_entries(
    keys: pa.StringArray,
    values: pa.StringArray,
    type_names: pa.StringArray,
    software_names: pa.StringArray,
    rules: SensitiveKeyRules,
) -> pa.StructArray:
    """Decide many entries.

    Args:
        keys: string, as they were sent.
        values: string, as they were sent, same length.
        type_names: string, names of ConfigDef.Type, same length.
        software_names: string, client_software_name, same length.
        rules: From sensitive_keys.compile_rules.
    Returns: VERDICT_TYPE; what rules.judge_entry says of each row.
    Shape: n rows in, n rows out, same order; any column may be dictionary-encoded.
    Nulls: A null is judged as the empty text; no verdict is null.
    """
    coded = [code_texts(one) for one in (keys, values, type_names, software_names)]
    verdicts, places = judge_coded(*coded, rules=rules)
    return _spread(verdicts, places)


def judge_coded(
    keys: CodedTexts,
    values: CodedTexts,
    type_names: CodedTexts,
    software_names: CodedTexts,
    *,
    rules: SensitiveKeyRules,
) -> tuple[list[Verdict], Codes]:
    """Decide many entries, as judge_entries, numbers in and numbers out.

    Args:
        keys: As they were sent.
        values: As they were sent.
        type_names: Names of ConfigDef.Type.
        software_names: client_software_name.
        rules: From sensitive_keys.compile_rules.
    Returns: Some verdicts; for each row the index of its own.
    """
    columns = [software_names, type_names, keys]
    different, places = combine_codes(columns)
    combinations = list(_entries_at(different, columns))
    verdicts = [rules.judge(*one) for one in combinations]
    asked = [rules.rules_on_value(*one) for one in combinations]
    parts = [*columns, values]
    verdicts, places = _judge_by_value(verdicts, places, asked, parts, rules=rules)
    is_allowed = np.array([one.action == ALLOW for one in verdicts], np.bool_)
    is_suspect = find_suspects(values.texts, rules)
    suspects = np.flatnonzero(is_suspect[values.codes] & is_allowed[places])
    if not suspects.size:
        return verdicts, places
    parts = [one.take(suspects) for one in parts]
    first, suspect_places = combine_codes(parts)
    more = [
        rules.judge_entry(key, value, type_name, software_name)
        for software_name, type_name, key, value in texts_at(first, parts)
    ]
    places[suspects] = len(verdicts) + suspect_places
    return [*verdicts, *more], places


def find_suspects(
    values: pa.StringArray, rules: SensitiveKeyRules
) -> npt.NDArray[np.bool_]:
    """Say which values a rule may hide for what they look like.

    Args:
        values: string, without nulls.
        rules: From sensitive_keys.compile_rules.
    Returns: bool for each value; where rules.may_hide says so of it alone.
    """
    is_suspect = np.zeros(len(values), np.bool_)
    if not (rules.hiding_searches and len(values)):
        return is_suspect
    is_asked = _find(values, MAY_DIFFER)
    for block in _blocks(values):
        found = rules.find_hiding(values[block].to_pylist())
        is_asked[block.start + np.array(found, np.int64)] = True
    rows = np.flatnonzero(is_asked)
    texts = values.take(pa.array(rows)).to_pylist()
    is_suspect[rows] = [rules.may_hide((one,)) for one in texts]
    return is_suspect


def _blocks(values: pa.StringArray) -> Iterator[slice]:
    """Cut a column where a block has enough to be worth a search, or one long value."""
    lengths = pc.binary_length(values).to_numpy(zero_copy_only=False)
    blocks = (np.cumsum(lengths, dtype=np.int64) + np.arange(len(lengths))) // _BLOCK
    edges = np.flatnonzero(np.diff(blocks)) + 1
    yield from map(slice, (0, *edges.tolist()), (*edges.tolist(), len(values)))


def _find(values: pa.StringArray, pattern: str) -> npt.NDArray[np.bool_]:
    found = pc.match_substring_regex(values, pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


def _entries_at(
    rows: Codes, columns: list[CodedTexts]
) -> Iterator[tuple[str, str, str]]:
    """Return key, type name and software name of some rows."""
    for software_name, type_name, key in texts_at(rows, columns):
        yield key, type_name, software_name


def _judge_by_value(
    verdicts: list[Verdict],
    places: Codes,
    asked: list[tuple[CompiledRule, ...]],
    columns: list[CodedTexts],
    *,
    rules: SensitiveKeyRules,
) -> tuple[list[Verdict], Codes]:
    """Judge entries again whose verdict depends on the type or items of their value.

    Args:
        verdicts: Verdict of each combination without a value.
        places: For each row the number of its combination.
        asked: For each combination the rules that depend on its values.
        columns: Software names, type names, keys and values.
    Returns: As judge_coded.
    """
    is_asked = np.array([bool(one) for one in asked], np.bool_)
    if not is_asked.any():
        return verdicts, places
    rows = np.flatnonzero(is_asked[places])
    parts = [one.take(rows) for one in columns]
    pairs, pair_of_row = combine_codes(parts)
    combinations = places[rows[pairs]].tolist()
    made, known = list(verdicts), dict[tuple[int, tuple[CompiledRule, ...]], int]()
    place_of_pair = []
    for combination, texts in zip(combinations, texts_at(pairs, parts), strict=True):
        software_name, type_name, key, value = texts
        fitting = tuple(one for one in asked[combination] if one.fits(value, type_name))
        if (combination, fitting) not in known:
            known[combination, fitting] = len(made)
            made.append(rules.judge(key, type_name, software_name, value))
        place_of_pair.append(known[combination, fitting])
    places[rows] = np.array(place_of_pair, np.int64)[pair_of_row]
    return made, places


def _spread(verdicts: list[Verdict], places: Codes) -> pa.StructArray:
    made = pa.StructArray.from_arrays(
        [
            pa.array([one.rule for one in verdicts], pa.string()),
            pa.array([one.action for one in verdicts], pa.string()),
        ],
        fields=list(VERDICT_TYPE),
    )
    return made.take(pa.array(places, pa.int64()))
