"""What a report says of a version is what conf/ knows of its release."""

from datetime import date

import pytest

from pipelines.errors import InvalidSetting
from pipelines.report.releases import find_release, load_releases
from pipelines.settings import CONF_PATH

RELEASES = """\
software,release,released_on,core_release,support,note
apache-kafka-java,3.0.0,2021-09-21,,ended,
apache-kafka-java,3.9.1,2025-05-21,,supported,
confluent-platform,7.9,2025-02-19,3.9.0,supported,
librdkafka,2.10.0,2025-04-17,,advised_against,
confluent-kafka-python,2.6.1,2024-11-18,2.6.1,ended,
kgo,1.18.0,,,,
kgo,1.19.0,,,,
kgo,1.21.3,,,,
kgo,1.21.4,,,,
"""
FAULTS = """\
family,client_type,from_release,fixed_in,severity,issue,fault,kind,condition_key,condition_value
java,producer,3.0.0,3.0.1,warning,K-1,is off,,,
java,,,3.9.1,advice,K-2,is slow,,acks,1
librdkafka,,2.6.0,,error,#5,is lost,,,
franz-go,,1.19.0,1.21.4,advice,G-1,reports wrong values,metrics,,
"""


@pytest.fixture
def releases(tmp_path):
    (tmp_path / "client_releases.csv").write_text(RELEASES)
    (tmp_path / "client_faults.csv").write_text(FAULTS)
    return load_releases(tmp_path)


@pytest.mark.parametrize(
    ("software", "version", "released", "faults"),
    [
        (
            "apache-kafka-java",
            "3.0.0",
            date(2021, 9, 21),
            "producer: is off (K-1); with acks=1: is slow (K-2)",
        ),
        ("apache-kafka-java", "3.9.1", date(2025, 5, 21), ""),
        (
            "apache-kafka-java",
            "7.9.2-ccs",
            date(2025, 2, 19),
            "with acks=1: is slow (K-2)",
        ),
        (
            "confluent-kafka-python",
            "2.6.1-rdkafka-2.6.1",
            date(2024, 11, 18),
            "is lost (#5)",
        ),
        ("rust-rdkafka", "0.1-rdkafka-2.10.0", date(2025, 4, 17), "is lost (#5)"),
    ],
)
def test_a_version_has_what_is_known_of_its_release(
    releases, software, version, released, faults
):
    known = find_release(releases, software, version)
    assert (known.released, known.faults) == (released, faults)


@pytest.mark.parametrize(
    "who", [("apache-kafka-java", "3.10.9"), ("unknown", "unknown"), ("kgo", "")]
)
def test_of_others_nothing_is_said(releases, who):
    assert find_release(releases, *who) is None


def test_support_is_told_in_words(releases):
    assert find_release(releases, "librdkafka", "2.10.0").support == "advised against"


def test_the_files_of_the_project_are_read():
    known = find_release(load_releases(CONF_PATH), "apache-kafka-java", "3.1.0")
    assert "KAFKA-13598" in known.faults


def test_a_wrong_file_is_refused_by_its_name(tmp_path):
    (tmp_path / "client_faults.csv").write_text(FAULTS)
    text = RELEASES.replace("2021-09-21", "soon")
    (tmp_path / "client_releases.csv").write_text(text)
    with pytest.raises(InvalidSetting, match=r"client_releases\.csv"):
        load_releases(tmp_path)


@pytest.mark.parametrize(
    ("version", "is_wrong"),
    [("v1.18.0", False), ("v1.19.0", True), ("v1.21.3", True), ("v1.21.4", False)],
)
def test_release_with_fault_of_metrics_is_marked(releases, version, is_wrong):
    assert find_release(releases, "kgo", version).has_wrong_metrics is is_wrong


def test_unlisted_patch_release_has_the_support_of_its_line(releases):
    # 3.9.10 is not 3.9.1.
    assert find_release(releases, "apache-kafka-java", "3.9.10").released is None
    found = find_release(releases, "apache-kafka-java", "3.0.9")
    assert (found.support, found.released, found.faults) == ("ended", None, "")
    assert find_release(releases, "apache-kafka-java", "3.5.0") is None
