"""Tables of a disturbed run beside those of a run that nobody disturbs."""

from tests.support.jobs.given_calls import run_line
from tests.support.spark.local_session import start_quick_session

COMPUTED_AT = "as_of"
"""When a row was computed: another time in each run."""


def find_differences(folder, root, jobs, say):
    """Run jobs here over the same topics; return in words which tables differ.

    Args:
        folder: Of `site.toml`, and of the tables that are made to compare with.
        root: Folder of the tables that were made elsewhere.
        jobs: Names of streaming jobs.
    """
    spark = start_quick_session(folder / "warehouse")
    try:
        return _compare(spark, folder, root, jobs, say)
    finally:
        spark.stop()


def _compare(spark, folder, root, jobs, say):
    undisturbed = folder / "undisturbed"
    own = (folder / "site.toml").read_text().splitlines()
    servers = next(line for line in own if line.startswith("kafka.bootstrap_servers"))
    # A path without a scheme would be one of HDFS.
    settings = [
        servers.replace(" = ", "=").replace('"', ""),
        f"tables.root_path=file://{undisturbed}",
    ]
    for name in jobs:
        progress = f"{name}.checkpoint_location=file://{folder}/progress/{name}"
        run_line(spark, f"./spark-submit.sh {name} --once", *settings, progress)
    faults = []
    for path in sorted(undisturbed.iterdir()):
        if not path.is_dir():
            continue
        expected = spark.read.format("delta").load(f"file://{path}")
        found = spark.read.format("delta").load(f"{root}/{path.name}")
        columns = [
            name
            for name in expected.columns
            if name in found.columns and name != COMPUTED_AT
        ]
        # A map has no order, so no set of rows can be made of it.
        expected, found = (
            frame.selectExpr(
                *(
                    f"to_json({name}) AS {name}"
                    if frame.schema[name].dataType.typeName() in {"map", "array"}
                    else name
                    for name in columns
                )
            ).cache()
            for frame in (expected, found)
        )
        missing = expected.exceptAll(found).count()
        extra = found.exceptAll(expected).count()
        say(f"{path.name}: {found.count()} rows, {missing} missing, {extra} extra")
        if missing or extra:
            faults.append(f"{path.name} has {missing} rows too few, {extra} too many")
    return faults
