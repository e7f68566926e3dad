"""Spark's classes are recorded once, whole, and mapped from then on."""

import shutil
from pathlib import Path

import pytest

from pipelines.command_line.class_archive import opened_archive
from pipelines.command_line.submit import Installation

JAVA = shutil.which("sh")
"""Any program: its path and time are what counts."""
ENDED_BY_SIGTERM = 143


@pytest.fixture
def open_archive(tmp_path):
    installation = Installation(root=tmp_path, python="/python")

    def open_archive(*words, java=JAVA):
        return opened_archive(installation, words, java=java)

    return open_archive


def option_of(archive):
    return archive.words[-1].split()[-1]


def record(archive, exit_code):
    """Do what a JVM does that was told to record."""
    path = Path(option_of(archive).removeprefix("-XX:ArchiveClassesAtExit="))
    path.write_text("classes")
    archive.recording.finish(exit_code)


def test_the_first_session_records_and_the_next_ones_map(open_archive):
    with open_archive() as first:
        record(first, ENDED_BY_SIGTERM)
    with open_archive("--conf", "a=b") as second:
        assert second.recording is None
        name, path = option_of(second).split("=", 1)
    assert name == "-XX:SharedArchiveFile"
    assert Path(path).read_text() == "classes"


def test_two_at_once_record_one(open_archive):
    with open_archive() as first, open_archive() as second:
        assert second.recording is None
        assert "Archive" not in option_of(second)
        first.recording.abandon()


def test_what_was_not_recorded_to_its_end_is_not_kept(open_archive):
    with open_archive() as archive:
        record(archive, 1)

    def interrupt():
        with open_archive():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with open_archive() as archive:
        assert archive.recording
        archive.recording.abandon()


@pytest.mark.parametrize(
    "words",
    [
        ["--master", "spark://host:7077"],
        ["--driver-java-options", "-XX:+UseG1GC"],
        ["--conf", "spark.driver.extraJavaOptions=-XX:+UseG1GC"],
        ["--packages", "a:b:1"],
    ],
)
def test_the_words_of_the_user_stand(open_archive, words):
    with open_archive(*words) as archive:
        assert archive.words == ()


def test_without_a_java_or_a_folder_there_is_none(open_archive, tmp_path):
    with open_archive(java=None) as archive:
        assert archive.words == ()
    (tmp_path / ".cache").write_text("no folder")
    with open_archive() as archive:
        assert archive.words == ()
