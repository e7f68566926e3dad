"""Tables are read by delta-rs' pyarrow readers, which know no deletion vectors."""

from pathlib import Path

from deltalake import DeltaTable

from pipelines.settings import load_settings
from pipelines.tables.registry import ALL_CONTRACTS
from tests.support.spark.empty_tables import make_tables

ROWS_CHANGE = {
    "broker_registrations", "broker_static_configs", "client_config_history",
    "client_configs", "client_findings", "client_instances",
    "client_metrics_subscriptions", "client_quotas", "client_supported_configs",
    "client_traffic", "client_wire_configs", "config_defaults",
    "dynamic_client_config_changes", "dynamic_client_configs", "effective_quotas",
    "resource_configs",
}  # fmt: skip


def test_append_only_tables_are_read_by_pyarrow(spark, tmp_path):
    settings = load_settings("base", [f"tables.root_path={tmp_path}"])
    made = [one for one in ALL_CONTRACTS if one.name not in ROWS_CHANGE]
    assert len(made) == len(ALL_CONTRACTS) - len(ROWS_CHANGE)
    make_tables(spark, settings.tables, made)
    for contract in made:
        table = DeltaTable(Path(tmp_path, contract.name))
        assert table.protocol().reader_features is None, contract.name
        assert table.to_pyarrow_table().num_rows == 0, contract.name
