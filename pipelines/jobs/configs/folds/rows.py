"""Types of the rows that the folds take and return."""

from dataclasses import dataclass

import pyarrow as pa

from pipelines.tables.configs import CLIENT_CONFIGS, CONFIG_DEFAULTS
from udfs.configs.default_reports import REPORT_SCHEMA
from udfs.configs.described_configs import ENTRY_TYPE
from udfs.files.config_push_files import PUSHED_SCHEMA

INSTANCE = "client_instance_id"
FAMILY = ("principal", "client_id")
"""Columns that logical clients with different client types share."""
WHO = (INSTANCE, *FAMILY)
"""Columns of pushes that determine the client type together. A client instance id is
not a secret, so pushes of another principal or client id do not count."""
NEWEST = CLIENT_CONFIGS.newest_by
PUSH_SCHEMA = pa.schema(
    [PUSHED_SCHEMA.field(name) for name in CLIENT_CONFIGS.column_names]
)
"""Columns of a push; configs are the stored entries without statuses."""
HELD_TYPE = pa.struct([field for field in ENTRY_TYPE if field.name != "config_key"])
CONFIG_SCHEMA = PUSH_SCHEMA.set(
    PUSH_SCHEMA.get_field_index("configs"),
    pa.field("configs", pa.map_(pa.string(), HELD_TYPE)),
)
"""Columns of client_configs."""
CONFIG_DEFAULT_SCHEMA = pa.schema(
    [
        *(REPORT_SCHEMA.field(place) for place in range(9)),
        ("conflicting_values", pa.list_(pa.string())),
    ]
)
"""Columns of config_defaults."""
PLACE = CONFIG_DEFAULTS.merge_key[:3]
"""Columns that determine which defaults apply to a client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedRows:
    """Rows of a table that differ from the known ones."""

    new: pa.Table
    changed: pa.Table
    gone: pa.Table

    @classmethod
    def none(cls, schema: pa.Schema) -> "FoldedRows":
        """Return no rows."""
        empty = schema.empty_table()
        return cls(new=empty, changed=empty, gone=empty)

    @property
    def count(self) -> int:
        """Return the number of rows."""
        return sum(part.num_rows for part in (self.new, self.changed, self.gone))
