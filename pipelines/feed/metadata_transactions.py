"""Metadata transactions: their records together at the end, none of an aborted one.

Source: KIP-868; BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord.
"""

from udfs.cluster.record_fields import (
    ABORT_TRANSACTION,
    BEGIN_TRANSACTION,
    END_TRANSACTION,
)

from .record_batches import LogRecord

TRANSACTION_KEYS = frozenset({BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION})
"""API keys that must be wanted of a log, beside those of the records themselves."""


class MetadataTransactions:
    """Holds back records of a transaction whose end has not come."""

    def __init__(self) -> None:
        self._held: list[LogRecord] | None = None
        self.begin_offset: int | None = None
        """Offset of the open transaction's beginning: where to read again from."""
        self.dropped_count = 0
        """Records of transactions that did not end."""

    def take(self, record: LogRecord) -> list[LogRecord]:
        """Add a record; returns what may be published now, in order.

        Of two beginnings in a row the first has not ended; an end without a beginning
        ends nothing.
        """
        if record.api_key not in TRANSACTION_KEYS:
            if self._held is None:
                return [record]
            self._held.append(record)
            return []
        held, self._held, self.begin_offset = self._held or [], None, None
        if record.api_key == END_TRANSACTION:
            return held
        self.dropped_count += len(held)
        if record.api_key == BEGIN_TRANSACTION:
            self._held, self.begin_offset = [], record.offset
        return []

    def drop(self) -> None:
        """Forget what is held: it will be read again, or its log ends here."""
        self.dropped_count += len(self._held or [])
        self._held = self.begin_offset = None
