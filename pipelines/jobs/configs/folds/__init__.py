"""Pure folds: pushes and known rows to rows that are new, changed or gone."""
