"""What great-expectations calls Data Docs: pages about suites and what they said."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.data_context.abstract_data_context import (
    AbstractDataContext,
)
from great_expectations.data_context.types.resource_identifiers import (
    ExpectationSuiteIdentifier,
    ValidationResultIdentifier,
)

_SITE = "checks"


def write_docs(
    context: AbstractDataContext,
    results: Sequence[ExpectationSuiteValidationResult],
    folder: Path,
    now: datetime,
) -> None:
    """Write a folder of pages; index.html is the first one.

    Args:
        results: From validate, so without values.
    """
    run_id = RunIdentifier(run_name="check_tables", run_time=now)
    for result in results:
        result.meta["run_id"] = run_id
        result.meta["validation_time"] = now.isoformat()
        identifier = ValidationResultIdentifier(
            expectation_suite_identifier=ExpectationSuiteIdentifier(result.suite_name),
            run_id=run_id,
            batch_identifier=result.suite_name,
        )
        context.validation_results_store.store_validation_results(result, identifier)
    context.add_data_docs_site(
        _SITE,
        {
            "class_name": "SiteBuilder",
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
            "store_backend": {
                "class_name": "TupleFilesystemStoreBackend",
                "base_directory": str(folder.resolve()),
            },
        },
    )
    context.build_data_docs(site_names=[_SITE])
