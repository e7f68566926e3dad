"""Which error codes of Kafka may be retried.

Source: Kafka 4.3, Errors.java: the codes whose exception is a RetriableException. A
test compares them with those of kio.
"""

THROTTLING_QUOTA_EXCEEDED = 89
RETRIABLE_ERROR_CODES = frozenset(
    {
        2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78,
        80, 83, 84, 88, THROTTLING_QUOTA_EXCEEDED, 100, 103, 106, 122, 123, 133,
    }
)  # fmt: skip
