"""A page holds its words, whatever clients sent, and no more bytes than it may."""

import base64
import dataclasses
import hashlib
import html.parser
import json
import re
import zlib

import pytest

from pipelines.report.fleet import Part
from pipelines.report.page import PAGE_BYTES, make_page
from pipelines.report.releases import Release
from tests.support.report.fleets import make_fleet
from tests.support.report.hostile_texts import HOSTILE_TEXTS

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
    assert all(re.fullmatch(r"(#[a-z0-9/-]+)?", one) for one in links)


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
