"""README.md and docs/: their blocks by page and title, and who runs each."""

import re
from dataclasses import dataclass

from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent
_BLOCK = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = {
    ("README.md", "tests"): "it is what runs all tests",
    ("docs/dev/tests.md", "all-tests"): "it is what runs all tests",
    ("docs/dev/tests.md", "long-proofs"): "it takes hours",
    ("docs/dev/tests.md", "wide-tests"): ".ci/run runs one shard",
    ("docs/guide/cluster.md", "submit"): "it names a host of a cluster; "
    "tests/integration/test_cluster_submit.py submits to one of this machine",
    ("docs/operations/spark-cluster.md", "yarn"): "it names files of a cluster; "
    "tests/long/yarn_kills.py submits to one of this machine",
    ("docs/operations/spark-cluster.md", "yarn-cluster"): "as the one before",
    ("docs/operations/spark-cluster.md", "s3"): "it names a server of S3; "
    "tests/long/s3_tables.py has one of this machine",
    ("docs/tutorial.md", "kcat"): "kcat is no package of Python; the blocks before it "
    "do the same",
}
"""Blocks of commands that no test runs, each with its reason."""
RUN_ELSEWHERE = {
    ("README.md", "demo"): ("integration/test_demo.py", '"demo"'),
    ("docs/guide/client-library.md", "install"): (
        "unit/clients/test_wheel.py",
        "kafka_clientele",
    ),
    ("docs/guide/client-library.md", "push-config"): (
        "integration/test_push_config_command.py",
        "push-config",
    ),
    ("docs/guide/cluster-feed.md", "import-metadata"): (
        "integration/test_import_metadata.py",
        '"--files"',
    ),
    ("docs/guide/cluster-feed.md", "registration-request"): (
        "integration/test_import_metadata.py",
        '"--registration-request"',
    ),
    ("docs/guide/cluster-feed.md", "accept-cluster-id"): (
        "integration/test_feed_clusters.py",
        "accept-cluster-id",
    ),
    ("docs/guide/cluster-feed.md", "feed"): (
        "integration/test_feed_command.py",
        '"feed"',
    ),
    ("docs/guide/forwarding.md", "forward"): (
        "integration/test_forward.py",
        '"forward"',
    ),
    ("docs/guide/sample.md", "sample"): (
        "spark/test_fleet_numbers.py",
        "demo --sample",
    ),
    ("docs/guide/site.md", "site"): ("integration/test_demo_site.py", '"--site"'),
    ("docs/guide/listeners-and-login.md", "scram-credential"): (
        "integration/test_scram_credential.py",
        "scram-credential",
    ),
    ("docs/guide/proxy.md", "client-wire-configs-to-delta"): (
        "integration/test_proxy_wire_configs.py",
        "client_wire_configs_to_delta",
    ),
    ("docs/operations/quality.md", "check"): (
        "spark/test_quality_faults.py",
        "check_tables",
    ),
    ("docs/operations/quality.md", "check-html"): (
        "spark/test_quality_faults.py",
        "html=",
    ),
    ("docs/operations/upgrade.md", "pip"): (
        "unit/settings/test_places.py",
        "console_scripts",
    ),
    ("docs/operations/upgrade.md", "set-up"): (
        "integration/test_checkouts.py",
        "--without-java",
    ),
}
"""Blocks whose commands a test runs in words of its own: file, and a word in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of a page."""

    page: str
    language: str
    title: str | None
    text: str

    @property
    def commands(self):
        """Lines of a shell, for blocks that hold nothing longer."""
        return [line for line in self.text.splitlines() if line]


def list_pages():
    """Return the pages, but for decisions, as paths below the checkout."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [str(path.relative_to(ROOT)) for path in pages]
    return [name for name in names if not name.startswith("docs/decisions/")]


def read_page(page):
    return (ROOT / page).read_text(encoding="utf-8")


def list_blocks(*languages):
    """Return the blocks of all pages, or those in some languages."""
    return [
        Block(page=page, language=found[1], title=found[2], text=found[3])
        for page in list_pages()
        for found in _BLOCK.finditer(read_page(page))
        if not languages or found[1] in languages
    ]


def find_block(page, title):
    """Return the block that a page gives this title."""
    (block,) = (one for one in list_blocks() if (one.page, one.title) == (page, title))
    return block
