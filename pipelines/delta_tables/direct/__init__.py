"""The accelerator: all that is private of Delta and Spark, for one version of each."""
