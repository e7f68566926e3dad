"""What is printed of a run."""

from datetime import UTC, datetime

from pipelines.quality.results import Outcome, format_key, format_run


def outcome(name, *, success, **fields):
    known = {
        "table": "client_quotas",
        "suite": "client_quotas",
        "expectation": name,
        "expectation_type": "expect_keys_to_be_unique",
        "meaning": "No two rows have the same name.",
        "observed": "0 of 1200 rows",
        "checked_rows": 1200,
        "failed_rows": 0,
        "examples": [],
        "scope": "all",
    }
    return Outcome(success=success, **(known | fields))


def test_what_holds_is_a_line_and_what_fails_is_told_in_words():
    told = format_run(
        [
            outcome("a", success=True),
            outcome(
                "b", success=False, observed="2 of 1200 rows", examples=['{"n": 1}']
            ),
            outcome("c", success=True, table="quarantine", checked_rows=1),
        ]
    )
    assert told.splitlines() == [
        "client_quotas (1,200 rows, all): 1 of 2 expectations FAILED",
        "  client_quotas.b: No two rows have the same name.",
        '    2 of 1200 rows, for example {"n": 1}',
        "quarantine (1 row, all): all of 1 expectation hold",
    ]


def test_a_key_has_times_in_utc_and_letters_as_they_are():
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    key = {"user": "Zoë", "valid_from": at, "offset": 7, "ip": None}
    assert format_key(key) == (
        '{"user": "Zoë", "valid_from": "2026-03-01T12:00:00.000000Z", "offset": 7, '
        '"ip": null}'
    )
