"""migrate_tables: tables of an older release become those of this one."""
