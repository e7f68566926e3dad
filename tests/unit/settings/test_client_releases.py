"""Releases of clients, their faults, and what releases of brokers serve."""

import csv

import pytest
from kio.index import load_request_schema

from pipelines.errors import InvalidSetting
from pipelines.settings import api_versions, client_releases
from pipelines.settings.api_versions import load_api_versions
from pipelines.settings.client_releases import (
    ENDED,
    METRICS_KIND,
    SUPPORTED,
    load_client_faults,
    load_client_releases,
)
from pipelines.settings.metric_semantics import load_metric_semantics
from pipelines.settings.places import CONF_PATH

RELEASES_HEAD = "software,release,released_on,core_release,support,note\n"
FAULTS_HEAD = (
    "family,client_type,from_release,fixed_in,severity,issue,fault,kind,condition_key,"
    "condition_value\n"
)
APIS_HEAD = "api_key,api_name,3.9,4.0\n"


def number(release):
    return tuple(map(int, release.split(".")))


def test_releases_are_in_order_and_name_cores_that_there_are():
    found = load_client_releases()
    by_software = {}
    for one in found:
        by_software.setdefault(one.software, []).append(one.release)
    for releases in by_software.values():
        assert releases == sorted(releases, key=number)
    for one in found:
        if one.core_release and one.software != "confluent-platform":
            assert one.core_release in by_software["librdkafka"]
    dated = {(one.software, one.release): str(one.released_on) for one in found}
    assert dated["apache-kafka-java", "4.2.2"] == "2026-09-18"
    assert dated["librdkafka", "2.15.1"] == "None"
    assert dated["librdkafka", "2.15.0"] == "2026-06-30"


def test_releases_of_one_minor_line_have_one_support():
    lines = {}
    for one in load_client_releases():
        if one.support in {SUPPORTED, ENDED}:
            line = (one.software, number(one.release)[:2])
            lines.setdefault(line, set()).add(one.support)
    assert len(lines) > 20
    assert [line for line, found in lines.items() if len(found) > 1] == []


@pytest.mark.parametrize(
    ("release", "has_it"),
    [("2.7.2", False), ("2.8.0", True), ("3.9.1", True), ("3.9.2", False),
     ("4.0.1", True), ("4.0.2", False), ("4.1.1", True), ("4.1.2", False),
     ("4.2.0", False)],
)  # fmt: skip
def test_faults_list_reused_buffers_per_release_line(release, has_it):
    found = [
        one
        for one in load_client_faults()
        if one.issue == "KAFKA-19012"
        and number(one.from_release) <= number(release) < number(one.fixed_in)
    ]
    assert (len(found) == 1) is has_it


def test_metric_semantics_wrong_metrics_are_usable_from_the_release_that_fixes_them():
    (fault,) = (one for one in load_client_faults() if one.kind == METRICS_KIND)
    named = [one.usable_from for one in load_metric_semantics() if one.usable_from]
    usable = [release for family, release in named if family == fault.family]
    assert set(usable) == {fault.fixed_in}
    assert len(usable) >= 2


def test_faults_are_of_ranges_that_end_after_they_begin():
    for one in load_client_faults():
        assert one.fixed_in
        assert not one.from_release or number(one.from_release) < number(one.fixed_in)


def test_names_of_apis_are_those_of_the_protocol():
    apis = load_api_versions()
    assert list(apis.releases) == ["3.9", "4.0", "4.1", "4.2", "4.3", "4.4"]
    for key in (0, 1, 3, 9, 18):
        schema = load_request_schema(key, apis.releases["4.0"][key].stop - 1)
        assert schema.__name__ == f"{apis.names[key]}Request"
    # What KIP-896 took away.
    lost = {
        apis.names[key]: (served.start, apis.releases["4.0"][key].start)
        for key, served in apis.releases["3.9"].items()
        if served.start < apis.releases["4.0"][key].start
    }
    assert lost["Produce"] == (0, 3)
    assert lost["Fetch"] == (0, 4)
    assert len(lost) == 19


def load_all(path):
    for load in (load_client_releases, load_client_faults, load_api_versions):
        load(path)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (client_releases.RELEASES_NAME, "a,b\n", "has other columns"),
        (client_releases.RELEASES_NAME, f"{RELEASES_HEAD}kgo,x,,,,\n", "release 'x'"),
        (
            client_releases.RELEASES_NAME,
            f"{RELEASES_HEAD}kgo,1.0.0,2026-02-30,,,\n",
            "line 2: released_on '2026-02-30'",
        ),
        (client_releases.RELEASES_NAME, f"{RELEASES_HEAD}kgo,1.0,,,old,\n", "'old'"),
        (client_releases.RELEASES_NAME, f"{RELEASES_HEAD}kgo,1.0,,,,,7\n", "line 2"),
        (
            client_releases.RELEASES_NAME,
            RELEASES_HEAD + "kgo,1.0,,,,\n" * 2,
            "line 3: kgo 1.0 is there twice",
        ),
        (client_releases.FAULTS_NAME, FAULTS_HEAD, "has no rows"),
        (
            client_releases.FAULTS_NAME,
            f"{FAULTS_HEAD}java,,,,error,,slow,,,\n",
            "line 2: issue ''",
        ),
        (
            client_releases.FAULTS_NAME,
            f"{FAULTS_HEAD}java,,,,error,K-1,slow,,acks,\n",
            "condition_key without condition_value",
        ),
        (api_versions.FILE_NAME, "api_key,api_name,new\n", "are no releases"),
        (api_versions.FILE_NAME, "api_key,name,4.0\n", "has other columns"),
        (api_versions.FILE_NAME, f"{APIS_HEAD}0,Produce,0-11,3\n", "line 2: 4.0 '3'"),
        (api_versions.FILE_NAME, f"{APIS_HEAD}0,P,,1-0\n", "line 2: 4.0 '1-0'"),
        (
            api_versions.FILE_NAME,
            f"{APIS_HEAD}0,P,0-1,0-1\n0,P,0-1,0-1\n",
            "line 3: API key 0 is there twice",
        ),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(tmp_path, name, text, reason):
    for one in (
        *(client_releases.RELEASES_NAME, client_releases.FAULTS_NAME),
        api_versions.FILE_NAME,
    ):
        original = (CONF_PATH / one).read_text("utf-8")
        (tmp_path / one).write_text(text if one == name else original, "utf-8")
    with pytest.raises(InvalidSetting, match=f"conf/{name}.*{reason}"):
        load_all(tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidSetting, match=r"conf/api_versions.csv: cannot be read"):
        load_api_versions(tmp_path)


def test_each_file_of_ours_is_written_as_csv_has_it():
    for path in CONF_PATH.glob("*.csv"):
        rows = list(csv.reader(path.read_text("utf-8").splitlines()))
        assert len({len(row) for row in rows}) == 1, path.name
