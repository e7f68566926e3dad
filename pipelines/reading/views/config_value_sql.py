"""Typed values of defaults, as SQL: what views make of texts that nobody pushed.

Pushed values are typed once, by udfs.sensitive.typed_values, before they are stored.
Defaults come from clients and catalogs and are few, and a view has no kernel: this is
the same for every default that the catalogs hold, which a test compares. A text that
this does not read, such as a hexadecimal double, has no typed value.
"""

# A text ends at \z alone: Java's `$` matches before a last line terminator as well,
# which may be U+0085 or U+2028.
# A run of blanks is looked at from its first one alone: Java's matcher would begin anew
# at each of them, and a value may hold thousands.
TRIMMED = (
    r"regexp_replace(config_value, "
    r"r'^[\x00-\x20]+|(?<![\x00-\x20])[\x00-\x20]+\z', '')"
)
"""Java's String.trim; PARSED reads it as the column `trimmed`."""

_WHOLE = r"r'^[+-]?[0-9]+\z'"
_DOUBLE = (
    r"r'^([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?"
    r"|[+-]?(NaN|Infinity))\z'"
)

PARSED = {
    "value_boolean": """CASE
      WHEN config_type <> 'BOOLEAN' THEN NULL
      WHEN lower(trimmed) = 'true' THEN true
      WHEN lower(trimmed) = 'false' THEN false
    END""",
    "value_long": f"""CASE
      WHEN NOT trimmed RLIKE {_WHOLE} THEN NULL
      WHEN config_type = 'INT' THEN bigint(try_cast(trimmed AS INT))
      WHEN config_type = 'SHORT' THEN bigint(try_cast(trimmed AS SMALLINT))
      WHEN config_type = 'LONG' THEN try_cast(trimmed AS BIGINT)
    END""",
    "value_double": rf"""CASE
      WHEN config_type = 'DOUBLE' AND trimmed RLIKE {_DOUBLE}
      THEN try_cast(regexp_replace(trimmed, r'(?<=[0-9.])[fFdD]\z', '') AS DOUBLE)
    END""",
    "value_list": r"""CASE
      WHEN config_type IS NULL OR config_type <> 'LIST' THEN NULL
      WHEN trimmed = '' THEN CAST(array() AS ARRAY<STRING>)
      ELSE transform(
        split(trimmed, ',', -1), item -> regexp_replace(item, r'^\s+|(?<!\s)\s+\z', '')
      )
    END""",
    "value_string": """CASE
      WHEN config_type IN ('STRING', 'CLASS') THEN trimmed
      WHEN config_type IN
        ('BOOLEAN', 'INT', 'SHORT', 'LONG', 'DOUBLE', 'LIST', 'PASSWORD') THEN NULL
      ELSE config_value
    END""",
}
"""Column to SQL over config_type, config_value and trimmed."""
