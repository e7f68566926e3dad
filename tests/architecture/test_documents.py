"""Documents: who runs their commands, whether their links lead somewhere, how long."""

import ast
import re

import pytest

from pipelines.commands import COMMANDS
from tests.support.documents import (
    NOT_RUN,
    ROOT,
    RUN_ELSEWHERE,
    find_block,
    list_blocks,
    list_pages,
    read_page,
)
from udfs.envelopes.headers import CONFIG_HEADERS, HEADERS, WIRE_HEADERS

MAX_README_LINES = 150
COMMAND_LANGUAGES = ("bash", "python")
LISTED = {"toml": "tests/unit/settings/test_documented_settings.py"}
"""Languages whose blocks one test takes all."""
UNTITLED = {"mermaid"}
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`((?:pipelines|udfs|tests|conf|docs|notebooks)/[\w./-]*)`")


def list_found():
    """Return (page, title) of each call of find_block in the tests."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "find_block" not in text:
            continue
        constants = {
            one.targets[0].id: one.value.value
            for one in ast.parse(text).body
            if isinstance(one, ast.Assign)
            and isinstance(one.targets[0], ast.Name)
            and isinstance(one.value, ast.Constant)
        }
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "find_block":
                if isinstance(call.args[0], ast.Starred):
                    continue  # of a table of this file
                page, title = call.args
                is_named = isinstance(page, ast.Name)
                yield constants[page.id] if is_named else page.value, title.value


@pytest.fixture(scope="module")
def found():
    return set(list_found())


def test_every_block_has_a_title_of_its_own():
    blocks = [one for one in list_blocks() if one.language not in UNTITLED]
    named = [(one.page, one.title) for one in blocks]
    assert [page for page, title in named if title is None] == []
    assert len(set(named)) == len(named)


def test_every_block_of_commands_is_run_by_a_test(found):
    blocks = list_blocks(*COMMAND_LANGUAGES)
    named = {(one.page, one.title) for one in blocks}
    assert named
    assert named - found - NOT_RUN.keys() - RUN_ELSEWHERE.keys() == set()


def test_no_list_of_blocks_names_one_that_is_gone(found):
    named = {(one.page, one.title) for one in list_blocks()}
    assert (found | NOT_RUN.keys() | RUN_ELSEWHERE.keys()) - named == set()


def test_every_language_is_known():
    known = {*COMMAND_LANGUAGES, *LISTED, *UNTITLED, "text", "yaml"}
    assert {one.language for one in list_blocks()} <= known
    for path in LISTED.values():
        assert "list_blocks(" in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("place", RUN_ELSEWHERE, ids="#".join)
def test_a_test_that_runs_a_block_names_what_it_runs(place):
    file, word = RUN_ELSEWHERE[place]
    assert find_block(*place).text
    assert word in (ROOT / "tests" / file).read_text(encoding="utf-8")


def list_anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", read_page(page)), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", head.lower()) for head in heads]
    return {head.replace(" ", "-") for head in plain}


@pytest.mark.parametrize(
    "page", [*list_pages(), "DECISIONS.md", "CHANGELOG.md"], ids=str
)
def test_links_lead_somewhere(page):
    broken = []
    for target, anchor in LINK.findall(FENCE.sub("", read_page(page))):
        if "://" in target or target.startswith("mailto:"):
            continue
        path = (ROOT / page).parent / target if target else ROOT / page
        if not path.exists():
            broken.append(target)
        elif anchor and anchor not in list_anchors(path.resolve().relative_to(ROOT)):
            broken.append(f"{target}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", list_pages(), ids=str)
def test_paths_that_pages_name_are_there(page):
    named = [one for one in PATH.findall(read_page(page)) if "…" not in one]
    made = ("conf/mine.toml",)
    assert [one for one in named if not (ROOT / one).exists() and one not in made] == []


def test_the_readme_is_short_and_begins_with_the_two_commands():
    readme = read_page("README.md")
    assert len(readme.splitlines()) <= MAX_README_LINES
    first, second = list_blocks("bash")[:2]
    assert first.commands == ["./spark-submit.sh demo"]
    assert second.commands == ["tests/run.sh"]
    assert readme.index("tests/run.sh") < 1200  # the first screen


@pytest.mark.parametrize("page", list_pages(), ids=str)
def test_no_page_names_a_command_that_does_not_exist(page):
    known = {command.name for command in COMMANDS}
    used = set(re.findall(r"\./spark-submit\.sh ([a-z_-]+)", read_page(page)))
    assert used - {"command"} <= known


def test_the_page_of_topics_names_every_header():
    named = set(re.findall(r"`(\w+)`", read_page("docs/reference/topics.md")))
    headers = {one.name for one in (*HEADERS, *CONFIG_HEADERS, *WIRE_HEADERS)}
    assert headers <= named


def test_the_readme_names_the_versions_that_are_pinned():
    readme = read_page("README.md")
    pins = dict(
        re.findall(r"^\s+([\w-]+)==(\S+)$", read_page("setup.cfg"), re.MULTILINE)
    )
    assert f"pyspark {pins['pyspark']} with delta-spark {pins['delta-spark']}" in readme
    assert f"confluent-kafka {pins['confluent-kafka'].rpartition('.')[0]}" in readme
    script = read_page("spark-submit.sh")
    pythons = re.search(r"^ +(3\.\d+(?: \| 3\.\d+)*)\)$", script, re.MULTILINE)[1]
    assert f"| Python | {pythons.replace(' | ', ', ')};" in readme
    javas = re.search(r"^ +(\d+(?: \| \d+)+)\)$", script, re.MULTILINE)[1]
    assert f"| Java | {javas.replace(' | ', ', ')};" in readme
    (kafka,) = re.findall(r'name="kafka_2\.13" rev="(\S+)"', read_page("conf/ivy.xml"))
    assert f"tested with Apache Kafka {kafka};" in readme


def test_the_readme_names_the_commands_that_need_no_java():
    """The script knows which do."""
    starts = re.search(
        r"starts_jvm\(\) \{(.*?)esac", read_page("spark-submit.sh"), re.DOTALL
    )
    known = {command.name for command in COMMANDS} - {"setup"}
    named = re.search(
        r"\| Java \| .*? none for (.*) \|$", read_page("README.md"), re.MULTILINE
    )
    told = set(re.findall(r"`([\w-]+)`", named[1]))
    assert told == known - set(re.findall(r"[\w-]+", starts[1]))
