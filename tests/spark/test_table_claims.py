"""The first run of a job holds its tables, wherever they are."""

import pytest

from pipelines.errors import TablesInUse
from pipelines.settings import load_settings
from pipelines.streaming.table_claims import claim_tables


@pytest.mark.parametrize("schema", ["claimed", "spark_catalog.claimed_too"])
def test_tables_of_a_schema_that_is_new_are_claimed(spark, schema, tmp_path, caplog):
    tables = load_settings("base", [f"tables.catalog_schema={schema}"]).tables
    held = claim_tables(spark, tables, "job", f"{tmp_path}/checkpoint")
    assert not caplog.records
    with pytest.raises(TablesInUse, match=r"the tables at .* are in use by job on"):
        claim_tables(spark, tables, "job", f"{tmp_path}/another")
    held.release()
    claim_tables(spark, tables, "job", f"{tmp_path}/another").release()
