"""The rules for sensitive keys over whole columns.

Strategy: keys, types and software repeat all over a batch, so each different
combination is judged once, by the same SensitiveKeyRules that judge a single request,
and the verdicts are spread over the rows by index. The loop is over combinations.
What a column lacks is the empty text, which no catalog knows: null is never a way
around a rule.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .sensitive_keys import SensitiveKeyRules

VERDICT_TYPE = pa.struct([("rule", pa.string()), ("action", pa.string())])


def judge_keys(
    keys: pa.StringArray,
    type_names: pa.StringArray,
    software_names: pa.StringArray,
    rules: SensitiveKeyRules,
) -> pa.StructArray:
    """Decide many entries.

    Args:
        keys: string, as they were sent.
        type_names: string, names of ConfigDef.Type, same length.
        software_names: string, client_software_name, same length.
        rules: From sensitive_keys.compile_rules.
    Returns: VERDICT_TYPE; what rules.judge says of each row.
    Shape: n rows in, n rows out, same order.
    Nulls: A null is judged as the empty text; no verdict is null.
    """
    columns = [_encode(one) for one in (keys, type_names, software_names)]
    codes = np.zeros(len(keys), np.int64)
    for numbers, texts in columns:
        codes = codes * len(texts) + numbers
    different, places = np.unique(codes, return_inverse=True)
    verdicts = []
    for code in different.tolist():
        parts = []
        for _, texts in reversed(columns):
            code, number = divmod(code, len(texts))  # noqa: PLW2901 - digits, last first
            parts.append(texts[number])
        software_name, type_name, key = parts
        verdicts.append(rules.judge(key, type_name, software_name))
    made = pa.StructArray.from_arrays(
        [
            pa.array([one.rule for one in verdicts], pa.string()),
            pa.array([one.action for one in verdicts], pa.string()),
        ],
        fields=list(VERDICT_TYPE),
    )
    return made.take(pa.array(places, pa.int64()))


def _encode(texts: pa.StringArray) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return a number for each row, and the text that each number means."""
    encoded = pc.fill_null(texts, "").dictionary_encode()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers, encoded.dictionary.to_pylist() or [""]
