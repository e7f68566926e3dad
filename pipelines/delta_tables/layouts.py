"""What the files of a table look like, for those who write them by themselves."""

from collections.abc import Collection, Sequence

from pipelines.tables.columns import BODY, names
from pipelines.tables.contract import STATISTICS_PROPERTY, TableContract
from udfs.files.table_files import TableLayout


def layout_of(
    contract: TableContract,
    *,
    columns: Sequence[str] = (),
    without: Collection[str] = (),
) -> TableLayout:
    """Return the layout of the files of a table.

    Args:
        contract: What the table promises.
        columns: All of the table as it is, where a user may have added some; without
            them, the contract's.
        without: Columns that the files lack, and that are null by that.
    """
    left_out = {*contract.partition_by, *without}
    known = [c for c in contract.columns if c.name not in left_out]
    statistics = contract.properties.get(STATISTICS_PROPERTY, "").split(",")
    listed = columns or names(known)
    return TableLayout(
        table=contract.name,
        columns=tuple(name for name in listed if name not in left_out),
        required=frozenset(c.name for c in known if not c.is_nullable),
        statistics=tuple(n for n in statistics if n and n not in left_out),
        # Clients compress their payloads.
        uncompressed=frozenset({BODY.name} & {*contract.column_names}),
    )
