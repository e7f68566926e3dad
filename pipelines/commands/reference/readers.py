"""Pages about what readers find: tables, views, reasons in quarantine."""

from collections.abc import Iterator

from pipelines.reading.views.registry import FUNCTIONS, VIEWS
from pipelines.reading.views.view import Function
from pipelines.reading.views.view_names import find_maker
from pipelines.tables.contract import TableContract
from pipelines.tables.quarantine_reasons import QUARANTINE_REASONS
from pipelines.tables.registry import ALL_CONTRACTS
from pipelines.tables.telemetry import QUARANTINE

from .markdown import code, format_commands, format_page, format_table

_WHERE = (
    "Tables are folders below `tables.root_path`, or names of `tables.catalog_schema`. "
    "A newer contract version only adds columns that may be null."
)


def format_tables() -> str:
    """Return the page of all tables, from their contracts."""
    contracts = sorted(ALL_CONTRACTS, key=lambda contract: contract.name)
    index = format_table(
        ("table", "made by", "rows"),
        [
            (f"[{one.name}](#{one.name})", _name_makers(one), one.comment)
            for one in contracts
        ],
    )
    blocks = [block for one in contracts for block in _format_contract(one)]
    return format_page("Tables", _WHERE, index, *blocks)


def _name_makers(contract: TableContract) -> str:
    is_shared = contract is QUARANTINE
    return "every streaming job" if is_shared else code(find_maker(contract.name))


def _format_contract(contract: TableContract) -> Iterator[str]:
    yield f"## {contract.name}"
    yield contract.comment
    facts = [
        ("key", contract.merge_key),
        ("partitioned by", contract.partition_by),
        ("clustered by", contract.cluster_by),
        ("newest by", contract.newest_by),
    ]
    told = [f"{what} {', '.join(map(code, names))}" for what, names in facts if names]
    yield f"Contract version {contract.contract_version}; {'; '.join(told)}."
    if contract.has_deletion_vectors:
        yield "Rows change: readers must support the Delta feature `deletionVectors`."
    yield format_table(
        ("column", "type", "null", "meaning"),
        [
            (
                code(one.name),
                code(one.sql_type),
                "yes" if one.is_nullable else "no",
                one.comment,
            )
            for one in contract.columns
        ],
    )


def format_views() -> str:
    """Return the page of views and functions."""
    views = [(code(one.name), code(one.made_by), one.row) for one in VIEWS if one.row]
    functions, values = (
        [_describe(one) for one in FUNCTIONS if one.is_table is is_table]
        for is_table in (True, False)
    )
    examples = [
        f'./spark-submit.sh sql "{one.example}"' for one in FUNCTIONS if one.example
    ]
    return format_page(
        "Views",
        "`sql`, `configs`, `shell` and notebooks have every table by its name, and "
        "these; they are worked out when somebody asks.",
        "The job is the one whose tables they need first.",
        format_table(("view", "job", "one row is"), views),
        "## Functions",
        "A client is a `client_instance_id`, a `client_id` or a `logical_client`.",
        format_table(("function", "job", "one row is"), functions),
        format_table(("function", "job", "the value"), values),
        format_commands("functions", examples),
    )


def _describe(function: Function) -> tuple[str, str, str]:
    call = code(f"{function.name}({function.arguments})")
    job = "none" if function.made_by is None else code(function.made_by)
    return call, job, function.result


def format_quarantine_reasons() -> str:
    """Return the page of reasons."""
    return format_page(
        "Reasons in quarantine",
        "`topic`, `partition` and `offset` of a row lead to the record in Kafka; "
        "`detail` has names and places, never a part of the payload.",
        format_table(
            ("reason", "the record"),
            [(code(name), text) for name, text in QUARANTINE_REASONS.items()],
        ),
    )
