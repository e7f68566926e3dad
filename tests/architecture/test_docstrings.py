"""Every public function of udfs/ says what its users must know."""

import ast
import re

import pytest

from pipelines.settings import CONF_PATH

UDFS = CONF_PATH.parent / "udfs"
SECTIONS = ("Args", "Returns", "Shape", "Units", "Nulls", "Errors", "Raises", "Source")
MIN_SECTIONS = 2


def list_public_functions():
    for path in sorted(UDFS.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield pytest.param(node, id=f"{path.stem}.{node.name}")


@pytest.mark.parametrize("node", list(list_public_functions()))
def test_a_public_kernel_has_the_docstring_sections(node):
    text = ast.get_docstring(node) or ""
    found = [name for name in SECTIONS if re.search(rf"^{name}:", text, re.MULTILINE)]
    has_arguments = bool(node.args.args or node.args.kwonlyargs)
    assert len(found) >= MIN_SECTIONS, f"only {found}"
    assert "Args" in found or not has_arguments
