"""Tables at a terminal."""

from pipelines.reading.text_tables import format_table


def test_numbers_stand_right_and_text_left_and_null_is_a_dash():
    assert format_table(
        ["name", "n"], [["a", 1], ["long name", None], [None, 2.5]]
    ) == (
        "name         n\n---------  ---\na            1\nlong name    -\n-          2.5"
    )


def test_no_rows_leave_the_head():
    assert format_table(["name"], []) == "name\n----"


def test_a_long_cell_is_cut_and_stays_on_its_line():
    table = format_table(["name"], [["abc\ndefgh"]], max_width=5)
    assert table.splitlines()[-1] == "abc …"


def test_a_text_cannot_move_the_cursor():
    table = format_table(["a"], [["\x1b[2Jhidden\x07\r\u202e"]])
    assert table.splitlines()[2] == "\ufffd[2Jhidden\ufffd\ufffd\ufffd"
