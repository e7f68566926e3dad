"""Records of a metadata transaction come together at its end, or not at all."""

from pipelines.feed.metadata_transactions import MetadataTransactions
from pipelines.feed.record_batches import LogRecord

BEGIN, END, ABORT, CONFIG = 23, 24, 25, 4


def take_all(transactions, *api_keys):
    """Return which offsets come out at which record."""
    records = (
        LogRecord(offset, 1, 0, api_key, b"") for offset, api_key in enumerate(api_keys)
    )
    return [[one.offset for one in transactions.take(record)] for record in records]


def test_records_outside_come_at_once_and_those_inside_at_the_end():
    transactions = MetadataTransactions()
    out = take_all(transactions, CONFIG, BEGIN, CONFIG, CONFIG, END, CONFIG)
    assert out == [[0], [], [], [], [2, 3], [5]]
    assert (transactions.begin_offset, transactions.dropped_count) == (None, 0)


def test_none_of_an_aborted_one_comes():
    transactions = MetadataTransactions()
    assert take_all(transactions, BEGIN, CONFIG, ABORT, CONFIG) == [[], [], [], [3]]
    assert transactions.dropped_count == 1


def test_an_open_one_says_where_to_read_again_from():
    transactions = MetadataTransactions()
    take_all(transactions, CONFIG, BEGIN, CONFIG)
    assert transactions.begin_offset == 1
    transactions.drop()
    assert (transactions.begin_offset, transactions.dropped_count) == (None, 1)
    assert take_all(transactions, CONFIG) == [[0]]


def test_a_second_beginning_drops_the_first_and_an_end_alone_ends_nothing():
    transactions = MetadataTransactions()
    out = take_all(transactions, END, ABORT, BEGIN, CONFIG, BEGIN, CONFIG, END)
    assert out == [[], [], [], [], [], [], [5]]
    assert transactions.dropped_count == 1
