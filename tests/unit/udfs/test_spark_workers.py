import gc

from udfs import spark_workers


def test_a_worker_passes_over_what_it_has_loaded_once_its_first_kernel_has_run():
    spark_workers.keep_loaded.cache_clear()
    batches = object(), object()
    try:
        kernel = spark_workers.keeping_loaded(lambda given: iter([*given, None]))
        made = kernel(iter(batches))
        assert next(made) is batches[0]
        assert gc.get_freeze_count() == 0
        assert [*made] == [batches[1], None]
        frozen = gc.get_freeze_count()
        assert frozen > 0
        assert [*kernel(iter(()))] == [None]
        # Nothing was added; an object whose last reference went has left.
        assert 0 < gc.get_freeze_count() <= frozen
    finally:
        gc.unfreeze()
        spark_workers.keep_loaded.cache_clear()
