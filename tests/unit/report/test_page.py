"""A page holds its words, whatever clients sent, and no more bytes than it may."""

import base64
import dataclasses
import hashlib
import html.parser
import json
import random
import re
import zlib
from datetime import timedelta
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from pipelines.report.fleet import Part, Totals
from pipelines.report.packing import pack_search
from pipelines.report.page import PAGE_BYTES, make_page
from pipelines.report.releases import Release
from tests.support.report.fleets import MADE_AT, make_fleet
from tests.support.report.hostile_texts import HOSTILE_TEXTS

DOCUMENT_HOSTS = {"cwiki.apache.org", "issues.apache.org", "github.com"}
VEGA = "/* nothing */"


class Elements(html.parser.HTMLParser):
    """What a browser would make of a page: elements, and what scripts hold."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.texts, self._open = [], [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag in {"script", "style"}:
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, _tag):
        self._open = None

    def handle_data(self, data):
        if self._open in {"script", "style"}:
            attrs, said = self.scripts[-1]
            self.scripts[-1] = attrs, said + data
        else:
            self.texts.append(data)


def read_data(page):
    (text,) = (said for attrs, said in Elements(page.html).scripts if attrs.get("id"))
    return json.loads(text)


def unpack(packed):
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def find_policy(elements):
    (policy,) = (a["content"] for t, a in elements.tags if "http-equiv" in a)
    return dict(part.split(" ", 1) for part in policy.split("; "))


def test_what_clients_send_makes_no_element_and_no_script():
    plain = Elements(make_page(make_fleet(30, 25), VEGA, {}).html)
    fleet = make_fleet(30, 25, HOSTILE_TEXTS)
    hostile = Elements(make_page(fleet, VEGA, {}).html)
    assert {tag for tag, _ in hostile.tags} == {tag for tag, _ in plain.tags}
    for tag in ("script", "style", "meta", "section", "table"):
        counts = [[one for one, _ in each.tags].count(tag) for each in (plain, hostile)]
        assert counts[0] == counts[1], tag
    allowed = {name for _, attrs in plain.tags for name in attrs}
    assert {name for _, attrs in hostile.tags for name in attrs} == allowed
    scripts = [said for attrs, said in hostile.scripts if not attrs]
    assert scripts == [said for attrs, said in plain.scripts if not attrs]
    links = {a["href"] for tag, a in hostile.tags if tag == "a"}
    own = {one for one in links if not re.fullmatch(r"(#[a-z0-9/-]+)?", one)}
    assert all(urlsplit(one).netloc in DOCUMENT_HOSTS for one in own)


def test_the_policy_lets_the_pages_own_scripts_run_and_nothing_else():
    elements = Elements(make_page(make_fleet(), VEGA, {}).html)
    policy = find_policy(elements)
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(said.encode()).digest()).decode()}'"
        for attrs, said in elements.scripts
        if not attrs
    ]
    assert policy["style-src"].split() == digests[:1]
    assert policy["script-src"].split() == digests[1:]
    others = {name: said for name, said in policy.items() if "-src" not in name[-8:]}
    assert others == {"base-uri": "'none'", "form-action": "'none'"}
    assert policy["default-src"] == policy["connect-src"] == "'none'"


def test_a_page_in_one_file_names_no_other():
    elements = Elements(make_page(make_fleet(), VEGA, {}).html)
    asked = [(tag, a) for tag, a in elements.tags if {"src", "data"} & a.keys()]
    assert not asked
    assert not [a for tag, a in elements.tags if tag == "link"]


def test_a_folder_holds_what_its_page_names():
    page = make_page(make_fleet(), VEGA, {}, is_folder=True)
    elements = Elements(page.html)
    named = {
        a.get("src") or a["href"]
        for t, a in elements.tags
        if t in {"script", "link"} and ("src" in a or "href" in a)
    }
    assert named == {*page.files} == {"page.js", "vega.js", "page.css"}
    assert find_policy(elements)["script-src"] == "'self'"


def test_clients_are_all_there_and_texts_are_made_fit_to_see():
    fleet = make_fleet(30, 25, HOSTILE_TEXTS)
    data = read_data(make_page(fleet, VEGA, {}))
    columns = unpack(data["clients"])["columns"]
    texts = columns["client_id"].get("values") or [
        columns["client_id"]["texts"][code] for code in columns["client_id"]["codes"]
    ]
    assert len(texts) == 30
    assert all(one.isprintable() and len(one) < 220 for one in texts)
    # Texts that look alike, or are cut off alike, are still told apart.
    assert len({*texts}) == 30
    assert len({*columns["key"]["values"]}) == 30
    details = [one for pack in data["packs"] for one in unpack(pack)]
    assert len(details) == data["detailed"] == 25
    assert details[0]["configs"]["rows"][24] == [
        "sasl.jaas.config", None, "pushed", "redacted",
    ]  # fmt: skip


def test_a_hundred_thousand_clients_fit():
    fleet = make_fleet(100_000, 200)
    page = make_page(fleet, "x" * 900_000, {})
    assert len(page.html.encode()) <= PAGE_BYTES
    assert page.clients_left_out == page.details_left_out == 0
    assert unpack(read_data(page)["clients"])["rows"] == 100_000
    assert "100,000" in page.html


def test_what_a_page_has_no_room_for_is_counted(monkeypatch):
    fleet = make_fleet(3_000, 120)
    monkeypatch.setattr("pipelines.report.page.PAGE_BYTES", 600_000)
    monkeypatch.setattr("pipelines.report.page._CLIENTS_BYTES", 40_000)
    page = make_page(fleet, VEGA, {})
    data = read_data(page)
    rows = unpack(data["clients"])["rows"]
    assert 0 < rows == 3_000 - page.clients_left_out < 3_000
    assert data["detailed"] == 120 - page.details_left_out
    assert f"{page.clients_left_out:,} clients are left out of this table" in page.html


def test_ages_are_those_of_releases_where_they_are_known():
    made = make_fleet()
    released = made.made_at.date().replace(year=2025)
    known = Release(released=released, support="ended", faults="KAFKA-1")
    page = make_page(made, VEGA, {("librdkafka", "2.6.1"): known})
    assert "365 days old" in page.html
    assert "KAFKA-1" in page.html
    assert "The age of none of them is known" in make_page(made, VEGA, {}).html


def test_known_faults_of_a_release_are_whole():
    known = Release(released=None, support="", faults="it may end; " * 60 + "KAFKA-1")
    page = make_page(make_fleet(), VEGA, {("librdkafka", "2.6.1"): known})
    assert "it may end; KAFKA-1" in page.html


def test_examples_of_findings_name_the_cluster_if_there_are_several():
    fleet = make_fleet(4, 1)
    rule = fleet.rules[0]
    examples = [dataclasses.replace(rule.examples[0], cluster="Barcelona")]
    fleet = dataclasses.replace(
        fleet, rules=[dataclasses.replace(rule, examples=examples)]
    )
    assert "Barcelona" not in make_page(fleet, VEGA, {}).html
    names = fleet.clients.column("cluster_id").to_pylist()
    two = pa.array([*names[1:], "Barcelona"])
    clients = fleet.clients.set_column(0, "cluster_id", two)
    html = make_page(dataclasses.replace(fleet, clients=clients), VEGA, {}).html
    assert "<bdi>Barcelona</bdi>: <bdi>" in html


def test_page_marks_software_whose_metrics_are_wrong():
    wrong = Release(released=None, support="", faults="", has_wrong_metrics=True)
    html = make_page(make_fleet(), VEGA, {("librdkafka", "2.6.1"): wrong}).html
    performance = html[html.index('<section id="performance">') :]
    assert performance.count("are known to be wrong") == 1
    assert "librdkafka 2.6.1</bdi> are known to be wrong" in performance
    assert "are known to be wrong" not in make_page(make_fleet(), VEGA, {}).html


@pytest.mark.parametrize("part", [Part(missing="run this"), Part(names=("a",))])
def test_a_part_without_rows_says_why(part):
    page = make_page(dataclasses.replace(make_fleet(), brokers=part), VEGA, {})
    assert (part.missing or "No broker is known.") in page.html


def test_a_fleet_of_nobody_has_a_page():
    page = make_page(make_fleet(1, 0), VEGA, {})
    assert read_data(page)["packs"] == []


def read_parts(html):
    """Return the names in the navigation, and the headings, of a page."""
    navigation = re.search(r"<nav.*?</nav>", html, re.DOTALL)[0]
    names = re.findall(r">([^<]+)</a>", navigation)
    return names, re.findall(r"<h2>([^<]+)</h2>", html)


def test_names_in_the_navigation_are_the_headings():
    names, headings = read_parts(make_page(make_fleet(), VEGA, {}).html)
    assert names == headings
    assert len(names) == 10


@pytest.mark.parametrize(
    ("age_minutes", "interval_ms", "is_told"),
    [(14, 300_000, False), (16, 300_000, True), (2, 30_000, True), (600, None, False)],
)
def test_push_older_than_three_intervals_is_a_warning(
    age_minutes, interval_ms, is_told
):
    fleet = dataclasses.replace(
        make_fleet(),
        newest_push=MADE_AT - timedelta(minutes=age_minutes),
        push_interval_ms=interval_ms,
    )
    html = make_page(fleet, VEGA, {}).html
    assert ("No new push for" in html) == is_told
    assert "Newest push: <time>2026-03-01" in html


def test_findings_say_when_they_were_evaluated_and_how_many_clients_are_active():
    html = make_page(make_fleet(), VEGA, {}).html
    assert "evaluated at <time>2026-03-01 11:55</time>" in html
    assert "of them active; " in html


def test_first_screen_has_throughput_lag_errors_and_throttling():
    fleet = make_fleet()
    html = make_page(fleet, VEGA, {}).html
    for shown in ("48.5 MB/s", "91 MB/s", "1,000,000", "0.25/s", "2 clients"):
        assert f'<p class="value">{shown}</p>' in html
    one = dataclasses.replace(fleet, totals=Totals(errors=0.0))
    assert make_page(one, VEGA, {}).html.count("no active client reports it") == 4
    nothing = dataclasses.replace(fleet, totals=Totals())
    assert 'class="numbers"' not in make_page(nothing, VEGA, {}).html


def test_sentences_of_the_product_are_whole_and_names_in_them_are_cut():
    fleet = make_fleet()
    why = "It costs two rebalances. " * 40 + "Set `acks=all`."
    sentence = f"Client `{'x' * 500}` sends tiny batches."
    rule = fleet.rules[0]
    examples = [dataclasses.replace(rule.examples[0], sentence=sentence)]
    rules = [dataclasses.replace(rule, why=why, examples=examples)]
    html = make_page(dataclasses.replace(fleet, rules=rules), VEGA, {}).html
    assert "two rebalances. Set <code>acks=all</code>." in html
    assert f"{'x' * 150}" in html
    assert f"{'x' * 250}" not in html
    assert "sends tiny batches." in html


def test_what_all_clients_share_is_not_repeated():
    fleet = make_fleet(4, 1)
    data = read_data(make_page(fleet, VEGA, {}))
    columns = unpack(data["clients"])["columns"]
    assert data["cluster"] == "4L6g3nShT-eMCtK--X86sw"
    assert all(not one.startswith("User:") for one in read_texts(columns["principal"]))
    names = fleet.clients.column("cluster_id").to_pylist()
    two = pa.array([*names[1:], "another"])
    clients = fleet.clients.set_column(0, "cluster_id", two)
    groups = pa.array(["Group:a", *fleet.clients.column("principal").to_pylist()[1:]])
    clients = clients.set_column(1, "principal", groups)
    data = read_data(make_page(dataclasses.replace(fleet, clients=clients), VEGA, {}))
    assert data["cluster"] is None
    columns = unpack(data["clients"])["columns"]
    assert "User:billing" in read_texts(columns["principal"])


def read_texts(column):
    return column.get("values") or [column["texts"][code] for code in column["codes"]]


def test_address_of_a_client_does_not_depend_on_the_others():
    fleet = make_fleet(4, 1)
    principals = pa.array(["Group:a"] * 3 + ["User:ledger"])
    mixed = fleet.clients.set_column(1, "principal", principals)
    (key, *_), (other, *_) = (
        unpack(read_data(make_page(one, VEGA, {}))["clients"])["columns"]["key"][
            "values"
        ][3:]
        for one in (fleet, dataclasses.replace(fleet, clients=mixed))
    )
    assert key == other


def test_search_leaves_out_the_most_frequent_values_first():
    many = sorted(random.Random(1).sample(range(5_000), 2_000))  # noqa: S311 - rows
    values = {"acks=1": [3, 9], "linger.ms=5": many, "k=v": [1]}
    packed, left_out = pack_search(values, {"rule": [0, 4]}, 4_000, 200)
    told = unpack(packed)
    assert left_out == 1
    assert told == {"values": {"acks=1": [3, 6], "k=v": [1]}, "found": {"rule": [0, 4]}}
    assert len(packed) <= 200
    told = unpack(pack_search(values, {}, 4_000, 10_000)[0])
    assert sum(told["values"]["linger.ms=5"]) == max(one for one in many if one < 4_000)
