"""What the files of a table look like, by its contract."""

from collections.abc import Collection

from udfs.table_files import TableLayout

from .table_columns import names
from .tables import STATISTICS_PROPERTY, TableContract


def layout_of(
    contract: TableContract,
    *,
    uncompressed: frozenset[str] = frozenset(),
    without: Collection[str] = (),
) -> TableLayout:
    """Return the layout of the files of a table.

    Args:
        contract: What the table promises; it has statistics.
        uncompressed: Columns whose values are compressed already.
        without: Columns that the files lack, and that are null by that.
    """
    left_out = {*contract.partition_by, *without}
    columns = [c for c in contract.columns if c.name not in left_out]
    statistics = contract.properties[STATISTICS_PROPERTY].split(",")
    return TableLayout(
        table=contract.name,
        columns=names(columns),
        required=frozenset(c.name for c in columns if not c.is_nullable),
        statistics=tuple(name for name in statistics if name not in left_out),
        uncompressed=uncompressed,
    )
