"""The dashboard for Databricks: its format, its parts, and who deploys it.

What its queries answer is in tests/spark/test_gallery.py.
"""

import json

import jsonschema
import pytest
import yaml

from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent
OPERATIONS = ROOT / "docs/operations"
DASHBOARD = json.loads((OPERATIONS / "clients_overview.lvdash.json").read_text())
SCHEMA = json.loads((ROOT / "tests/support/lakeview_schema.json").read_text())
COLUMNS = 6
"""Of a page."""


def list_widgets():
    return [one for page in DASHBOARD["pages"] for one in page["layout"]]


def list_fields(encodings):
    """Return the names of fields that a widget shows."""
    if isinstance(encodings, dict):
        named = [encodings["fieldName"]] if "fieldName" in encodings else []
        return named + [name for one in encodings.values() for name in list_fields(one)]
    if isinstance(encodings, list):
        return [name for one in encodings for name in list_fields(one)]
    return []


def test_it_has_the_format_of_databricks():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(DASHBOARD, SCHEMA)


@pytest.mark.parametrize("gone", ["widgetType", "encodings", "frame"])
def test_the_format_is_looked_at(gone):
    broken = json.loads(json.dumps(DASHBOARD))
    chart = next(
        one["widget"]["spec"]
        for one in broken["pages"][0]["layout"]
        if one["widget"].get("spec", {}).get("version") == 3
    )
    del chart[gone]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)


def test_what_is_shown_is_asked_of_a_dataset_that_there_is():
    known = {one["name"] for one in DASHBOARD["datasets"]}
    used = set()
    for one in list_widgets():
        for asked in one["widget"].get("queries", ()):
            used.add(asked["query"]["datasetName"])
            fields = {field["name"] for field in asked["query"]["fields"]}
            assert fields == set(list_fields(one["widget"]["spec"]["encodings"]))
    assert used == known


def test_no_widget_lies_on_another():
    taken = set()
    for one in list_widgets():
        at = one["position"]
        cells = {
            (at["x"] + x, at["y"] + y)
            for x in range(at["width"])
            for y in range(at["height"])
        }
        assert not taken & cells
        assert max(x for x, _ in cells) < COLUMNS
        taken |= cells


def test_the_bundle_deploys_it_on_the_tables():
    bundle = yaml.safe_load((OPERATIONS / "databricks.yml").read_text())
    (dashboard,) = bundle["resources"]["dashboards"].values()
    # The bundle's file lies in the root of a checkout.
    assert (ROOT / dashboard["file_path"]).is_file()
    assert dashboard["dataset_catalog"] == "${var.catalog}"
    assert dashboard["dataset_schema"] == "${var.schema}"
    assert dashboard["warehouse_id"] == "${var.warehouse_id}"
    assert bundle["variables"]["warehouse_id"]["description"]
