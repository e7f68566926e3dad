"""Where the Delta tables are, and how their files and rows change."""
