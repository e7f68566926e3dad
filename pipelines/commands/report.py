"""report: one page about all clients, in a file, a folder, or on loopback."""

import re
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import ReportNotInstalled
from pipelines.settings.loading import BASE_NAME
from pipelines.settings.places import CONF_PATH
from pipelines.settings.records import Settings
from pipelines.time_ranges import parse_moment

from .call import Call
from .options import CONFIG, ENV, SET, Command, flag, option, whole_number
from .progress import report_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.report.page import Page

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_SPAN = re.compile(r"(\d{1,6})([mhd])")
_USUAL_SPAN = "24h"
_USUAL_REFRESH_SECONDS = 300
_HIGHEST_PORT = 65_535


def _parse_since(text: str) -> timedelta | datetime:
    """Return how long ago, or the moment, that a text says.

    Raises: ArgumentTypeError.
    """
    import argparse

    if (found := _SPAN.fullmatch(text)) and int(found[1]):
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    try:
        return parse_moment(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time span, such as 24h, 30m or 7d, and no date or time"
        ) from None


def run(call: Call) -> int:
    """Make the page, print where it is; with --serve, make it anew until it is ended.

    Raises: MissingTable, ReportNotInstalled, InvalidSetting.
    """
    words, settings = call.arguments, call.read_settings()
    _check_words(call)
    try:
        from pipelines.report.page import bundle_vega
        from pipelines.report.releases import load_releases
    except ModuleNotFoundError as error:
        raise ReportNotInstalled(
            f"report needs {error.name}: pip install 'kafka-clientele[report]', or "
            "./spark-submit.sh setup --with-report in a checkout"
        ) from error
    # What is wrong with a file is said before minutes are spent.
    load_releases(CONF_PATH)
    if words.out:
        _try_output(Path(words.out), is_folder=words.folder)
    vega = bundle_vega()
    with call.session("report") as spark:
        if words.serve:
            return _serve(call, spark, settings, vega)
        page = _make(call, spark, settings, vega)
    _write(page, Path(words.out), is_folder=words.folder)
    print(words.out)
    return 0


def _check_words(call: Call) -> None:
    words = call.arguments
    if not words.out and not words.serve:
        words.parser.error("--out says where the page goes; --serve serves it")
    if words.serve and (words.out or words.folder):
        words.parser.error("--serve writes no file: --out and --folder are for others")
    since = words.since
    if isinstance(since, datetime) and since >= datetime.now(tz=UTC):
        words.parser.error("--since is not in the past")


def name_settings(env: str, config: str | None) -> str:
    """Return the name that the page has for the settings in use."""
    return Path(config).stem if config and env == BASE_NAME else env


def _make(
    call: Call,
    spark: "SparkSession",
    settings: Settings,
    vega: str,
    report_part: Callable[[str], None] = report_progress,
) -> "Page":
    from pipelines.report.collecting import Request, collect
    from pipelines.report.page import make_page
    from pipelines.report.releases import load_releases

    words, now = call.arguments, datetime.now(tz=UTC)
    since = words.since if isinstance(words.since, datetime) else now - words.since
    request = Request(
        environment=name_settings(words.env, words.config),
        made_at=now,
        since=since,
        principals=tuple(words.principal),
        report_part=report_part,
    )
    fleet = collect(spark, settings, request)
    report_part("Making the page")
    return make_page(
        fleet,
        vega,
        load_releases(CONF_PATH),
        is_folder=words.folder,
        is_served=words.serve,
    )


def _serve(call: Call, spark: "SparkSession", settings: Settings, vega: str) -> int:
    """Serve the page and make it anew, until Ctrl-C or SIGTERM ends this process."""
    from pipelines.report.serving import PageServer

    server = PageServer(call.arguments.port)
    try:
        page = _make(call, spark, settings, vega)
        server.show(page.html, int(time.time() * 1_000))
        print(server.address, flush=True)
        while True:
            time.sleep(call.arguments.refresh)
            page = _make(call, spark, settings, vega, report_part=lambda _: None)
            server.show(page.html, int(time.time() * 1_000))
    finally:
        server.close()


def _try_output(out: Path, *, is_folder: bool) -> None:
    """Create the directory of a page, and try to write to it.

    Raises: InvalidSetting.
    """
    from pipelines.errors import InvalidSetting

    folder = out if is_folder else out.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidSetting(f"--out: cannot make {folder}: {error.strerror}") from None
    if not is_folder and out.is_dir():
        raise InvalidSetting(f"--out: {out} is a folder; --folder writes into one")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{out.name}."):
            pass
    except OSError as error:
        raise InvalidSetting(
            f"--out: cannot write to {folder}: {error.strerror}"
        ) from None


def _write(page: "Page", out: Path, *, is_folder: bool) -> None:
    """Write the files; each one is there as a whole, or as it was."""
    if not is_folder:
        _replace(out, page.html)
        return
    for name, text in page.files.items():
        _replace(out / name, text)
    _replace(out / "index.html", page.html)


def _replace(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as file:
        file.write(text)
    Path(file.name).replace(path)


COMMAND = Command(
    name="report",
    help="Write one page about all clients: software, problems and changes",
    options=(
        option(
            "--out", "File of the page, or with --folder its directory", metavar="PATH"
        ),
        option(
            "--principal",
            "Only clients of this principal; may be repeated (default: all)",
            default=[],
            action="append",
            metavar="NAME",
        ),
        option(
            "--since",
            "Start of changes and lines: 24h, 30m, 7d or a time (default: 24h)",
            type=_parse_since,
            default=_USUAL_SPAN,
            metavar="SPAN",
        ),
        flag("--folder", "Write a directory for a web server, with separate scripts"),
        flag("--serve", "Serve the page on loopback and refresh it until Ctrl-C"),
        option(
            "--port",
            "Port for --serve (default: a free port)",
            type=whole_number(0, _HIGHEST_PORT),
            default=0,
            metavar="PORT",
        ),
        option(
            "--refresh",
            f"Seconds between refreshes with --serve (default: "
            f"{_USUAL_REFRESH_SECONDS})",
            type=whole_number(1),
            default=_USUAL_REFRESH_SECONDS,
            metavar="SECONDS",
        ),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    run=run,
)
