"""What Databricks has by itself, for a notebook that runs in Jupyter."""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from pipelines.commands.session import Environ, start_own_session

from .page import Shown, Utilities, Widgets, show

Display = Callable[[object], None]


class _Bundle:
    """One thing in all its forms, as Jupyter asks for them."""

    def __init__(self, forms: Shown) -> None:
        self._forms = forms

    def _repr_mimebundle_(self, **_: object) -> Shown:
        return self._forms


def start(
    jupyter_display: Callable[..., Any], environ: Environ, widgets: Mapping[str, str]
) -> tuple[SparkSession, Utilities, Display]:
    """Return spark, dbutils and display, as the cells of a notebook need them.

    Args:
        jupyter_display: Jupyter's own `display`.
        environ: Of this process; Spark is told some things by it alone.
        widgets: Values of widgets by their names; others have their defaults.
    Returns: The session of this process, which is started if there is none.
    """
    spark = SparkSession.getActiveSession()
    if spark is None:
        spark = start_own_session("notebook", (), environ)

    def display(shown: object) -> None:
        jupyter_display(_Bundle(show(shown)))

    return spark, Utilities(Widgets(dict(widgets))), display
