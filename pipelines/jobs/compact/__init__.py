"""compact_tables: few files of past dates."""
