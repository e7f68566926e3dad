from pipelines.embedded.log_lines import is_port_clash, last_useful_lines

CLASH = """\
2026-01-01 broker 1 WARN  NetworkClient: no connection yet
2026-01-01 broker 1 ERROR BrokerServer: Socket server failed to bind to 127.0.0.1:1
java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
"""


def test_lines_of_a_fault_are_shown_without_stack_frames():
    assert last_useful_lines(CLASH, []) == (
        "2026-01-01 broker 1 ERROR BrokerServer: Socket server failed to bind to "
        "127.0.0.1:1 | java.net.BindException: Address already in use"
    )


def test_without_a_fault_the_last_lines_are_shown():
    lines = [f"line {number}" for number in range(7)]
    assert last_useful_lines("\n".join(lines), []) == " | ".join(lines[-5:])


def test_a_secret_is_not_shown_even_where_a_line_is_cut():
    log = f"Exception {'x' * 285} hunter2hunter2 tail"
    shown = last_useful_lines(log, ["hunter2hunter2"])
    assert "***" in shown
    assert "hunter" not in shown


def test_an_empty_log_is_said_to_be_empty():
    assert last_useful_lines("", []) == "its log is empty"


def test_a_port_clash_is_told_from_another_fault():
    assert is_port_clash(CLASH)
    assert not is_port_clash("java.lang.OutOfMemoryError: Java heap space")
