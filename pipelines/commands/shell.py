"""shell: a Python prompt with Spark and the tables."""

from .call import Call
from .options import CONFIG, ENV, SET, Command


def run(call: Call) -> int:
    """Open it, until it is left."""
    from . import asking

    settings = call.read_settings()
    with call.session("shell") as spark:
        asking.open_shell(spark, settings)
    return 0


COMMAND = Command(
    name="shell",
    help="Open a PySpark shell with the tables registered",
    options=(ENV, CONFIG, SET),
    takes_spark_options=True,
    run=run,
)
