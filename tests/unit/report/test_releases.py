"""conf/client_releases.csv is read as it is, or refused by file and line."""

from datetime import date

import pytest

from pipelines.errors import InvalidSetting
from pipelines.report.releases import Release, find_release, load_releases

HEAD = "software,release,date,support,faults\n"


def write(folder, text):
    (folder / "client_releases.csv").write_text(text)
    return load_releases(folder)


def test_no_file_says_nothing(tmp_path):
    assert load_releases(tmp_path) is None


def test_a_build_has_what_is_known_of_its_release(tmp_path):
    rows = 'java,3.9.1,2025-05-21,supported,"K-1, K-2"\nlibrdkafka,2.16.0,,,\n'
    releases = write(tmp_path, f"# a word on it\n{HEAD}{rows}")
    known = Release(released=date(2025, 5, 21), support="supported", faults="K-1, K-2")
    assert find_release(releases, "java", "3.9.1") == known
    assert find_release(releases, "java", "3.9.1-ccs") == known
    assert find_release(releases, "java", "3.9.10") is None
    assert find_release(releases, "librdkafka", "2.16.0").released is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("software,release\nj,1\n", "expects the columns software, release, date"),
        (f"{HEAD}j,1,soon,,\n", "line 2: 'soon' is no date"),
    ],
)
def test_a_wrong_file_is_refused_by_its_name(tmp_path, text, said):
    with pytest.raises(InvalidSetting, match=said) as refused:
        write(tmp_path, text)
    assert "client_releases.csv" in str(refused.value)
