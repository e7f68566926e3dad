"""Headers of a record, typed, and which push says what a client is."""
