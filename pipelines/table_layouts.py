"""What the files of a table look like, for those who write them by themselves."""

from collections.abc import Sequence

from udfs.table_files import TableLayout

from .table_columns import names
from .tables import STATISTICS_PROPERTY, TableContract


def layout_of(
    contract: TableContract,
    *,
    columns: Sequence[str] = (),
    uncompressed: frozenset[str] = frozenset(),
) -> TableLayout:
    """Return the layout of a table.

    Args:
        contract: What the table promises.
        columns: All of the table as it is, where a user may have added some; without
            them, the contract's.
        uncompressed: Columns whose values are compressed already.
    """
    known = [c for c in contract.columns if c.name not in contract.partition_by]
    listed = columns or names(contract.columns)
    return TableLayout(
        table=contract.name,
        columns=tuple(c for c in listed if c not in contract.partition_by),
        required=frozenset(c.name for c in known if not c.is_nullable),
        statistics=tuple(contract.properties[STATISTICS_PROPERTY].split(",")),
        uncompressed=uncompressed,
    )
