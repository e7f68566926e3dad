import pytest

from pipelines.errors import InvalidSetting
from pipelines.jobs.maintain.retention import check_retention
from pipelines.settings import list_environments, load_settings
from pipelines.settings.retention import TableRetention, load_retention
from pipelines.tables.registry import ALL_CONTRACTS

LONGEST_HOURS = load_settings("base").maintain_tables.longest_read_hours


@pytest.fixture
def load(tmp_path):
    def read(text):
        path = tmp_path / "kept.toml"
        path.write_text(text)
        retention = load_retention(str(path))
        check_retention(retention, ALL_CONTRACTS, LONGEST_HOURS)
        return retention

    return read


def test_every_table_whose_rows_may_go_says_how_long_they_stay():
    retention = load_retention("")
    check_retention(retention, ALL_CONTRACTS, LONGEST_HOURS)
    assert retention.place == "conf/retention.toml"
    for contract in ALL_CONTRACTS:
        kept = retention.of(contract.name)
        assert bool(kept.days) == bool(contract.ages_by), contract.name
        assert bool(kept.closed_days) == bool(contract.closes_by), contract.name
        assert bool(kept.ended_days) == contract.ends_with_instance, contract.name


def test_the_file_is_no_environment():
    assert "retention" not in list_environments()


def test_a_table_without_a_section_keeps_its_rows_for_ever(load):
    retention = load(
        "[every_table]\nvacuum_hours = 100\n[client_pushes]\ndays = 7\n"
        "[client_metrics]\ndays = 7\nlog_hours = 200\n"
        "[client_instances]\nended_days = 7\n[client_configs]\nended_days=6"
    )
    assert retention.of("quarantine") == TableRetention(vacuum_hours=100)
    assert retention.of("client_metrics") == TableRetention(
        days=7, vacuum_hours=100, log_hours=200
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("days = 1\n", "days: expects a section, [days]"),
        ("[", "is not TOML"),
        ("[quarantine]\ndays = -1", "quarantine.days: expects a whole number from 0"),
        ("[quarantine]\ndays = true", "quarantine.days: expects a whole number"),
        ("[quarantine]\nvacuum_hours = 0", "quarantine.vacuum_hours: expects a whole"),
        ("[quarantine]\nweeks = 1", "quarantine.weeks: unknown; known are days,"),
        (
            "[every_table]\ndays = 1",
            "every_table.days: unknown; known are vacuum_hours",
        ),
        ("[things]\ndays = 1", "things: there is no such table"),
        ("[client_config_pushes]\ndays = 1", "client_config_pushes.days: rows of this"),
        ("[quarantine]\nclosed_days = 1", "quarantine.closed_days: rows of this table"),
        ("[quarantine]\nended_days = 1", "quarantine.ended_days: rows of this table"),
        (
            "[quarantine]\nvacuum_hours = 47",
            "quarantine.vacuum_hours: 47 is less than maintain_tables.longest_read_hours",
        ),
        (
            "[every_table]\nlog_hours = 167",
            "every_table.log_hours: 167 is less than vacuum_hours, 168",
        ),
        (
            "[client_pushes]\ndays = 7",
            "client_metrics.days: for ever is longer than client_pushes.days, 7",
        ),
        (
            "[client_pushes]\ndays = 7\n[client_metrics]\ndays = 8",
            "client_metrics.days: 8 is longer than client_pushes.days, 7",
        ),
        (
            "[client_instances]\nended_days = 7",
            "client_configs.ended_days: for ever is longer than client_instances",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_file_and_key(load, tmp_path, text, fault):
    with pytest.raises(InvalidSetting) as refused:
        load(text)
    assert str(refused.value).startswith(f"{tmp_path}/kept.toml: {fault}")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidSetting, match=r"none\.toml: cannot be read \(No such"):
        load_retention(str(tmp_path / "none.toml"))
