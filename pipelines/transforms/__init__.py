"""Pure steps from DataFrame to DataFrame, one file per subject."""
