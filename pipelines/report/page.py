"""The page: one file that asks nobody, or a folder of a few.

A page runs two scripts, named in its policy by their digests: Vega's and its own. What
clients sent stands in elements that templates have escaped, and in JSON that has no
letter of HTML; the page's own script makes text of it, never elements.
"""

import base64
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipelines import __version__

from .distinct import find_shared, leave_out_shared
from .fleet import ACTIVE, IDLE, SEVERITIES, STATES, TELEMETRY, UNKNOWN, Fleet
from .looks import millis
from .numbers import list_numbers
from .packing import (
    name_clients,
    pack_clients,
    pack_details,
    pack_search,
    write_json,
)
from .pictures import draw, draw_line
from .releases import Releases, find_release
from .texts import (
    SENTENCES,
    show,
    show_age,
    show_cell,
    split_code,
    split_sources,
)

PAGE_BYTES = 10_000_000
"""Most that a page has: what a mail takes, and a phone."""
_CLIENTS_BYTES = 7_000_000
"""Most of it that the table of all clients has."""
_WORDS_BYTES = 300_000
"""What is left for words and tables that the template writes."""
_TEMPLATES = Path(__file__).parent / "page"
_VEGA_LITE = "6.4"
"""Release that Altair 6.3 writes for."""
_SEARCH_BYTES = 1_500_000
"""Most of it that configured values have, for the search."""
_STALE_INTERVALS = 3
"""Push intervals after which the newest push should have had a successor."""
_WHOLE_FROM = 1_000
"""Numbers from which on nobody reads what is behind the point."""
_SHORT_NAME = 24
"""Letters of a name that stays on one line."""
_LONGEST_WORD = 32
"""Letters of a word that is never broken; longer ones are names that clients chose."""
_TITLES = {
    "now": "Now",
    "findings": "Findings",
    "changes": "Changes",
    "clients": "Clients",
    "software": "Software",
    "limits": "Quotas",
    "configuration": "Configuration",
    "performance": "Performance",
    "brokers": "Brokers",
    "gaps": "Missing data",
}
"""Parts of the page: the id of each, and its title in the navigation and above it."""
_ANCHOR = re.compile(r"[a-z][a-z0-9-]{0,63}")
_VEGA, _SCRIPT, _STYLE = "vega.js", "page.js", "page.css"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareRow:
    """One release of a client software, with who runs it."""

    software: str
    version: str
    clients: int
    live: int
    age_days: int | None
    support: str
    faults: str
    has_wrong_metrics: bool
    """Whether the metrics of its clients are known to be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page, by its files."""

    html: str
    files: Mapping[str, str]
    """Files beside it, by name; none where the page is all in one."""
    clients_left_out: int
    details_left_out: int
    """Clients of Fleet.details for which there was no room."""


def bundle_vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script; takes two seconds."""
    return vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=_VEGA_LITE
    )


def make_page(
    fleet: Fleet,
    vega: str,
    releases: Releases,
    *,
    is_folder: bool = False,
    is_served: bool = False,
) -> Page:
    """Make the page of a fleet.

    Args:
        vega: From bundle_vega.
        releases: From load_releases.
        is_folder: Whether scripts and styles are files beside the page.
        is_served: Whether the page may ask where it came from for a newer one.
    """
    script = (_TEMPLATES / _SCRIPT).read_text(encoding="utf-8")
    style = (_TEMPLATES / _STYLE).read_text(encoding="utf-8")
    scripts = {_SCRIPT: script, _VEGA: vega}
    names = name_clients(fleet.clients)
    shared = find_shared(fleet.clients)
    fleet = leave_out_shared(fleet, shared)
    software = list_software(fleet, releases)
    pictures = draw(fleet, {_name_version(one): one.clients for one in software})
    specs = {id_: one for id_, one in pictures.items() if not isinstance(one, str)}
    drawn = {"specs": specs, "line": draw_line(fleet)}
    room = PAGE_BYTES - len(vega) - len(script) - len(style) - _WORDS_BYTES
    room -= len(write_json(drawn))
    keys, clients, clients_left_out = _fit_clients(fleet, names)
    search, values_left_out = pack_search(
        fleet.values, fleet.found, len(keys), _SEARCH_BYTES
    )
    packs, details_left_out = _fit_details(fleet, room - len(clients) - len(search))
    anchors = name_rules(fleet)
    told = len(fleet.details) - details_left_out
    data = {
        "clients": clients,
        "search": search,
        "packs": packs,
        "rules": anchors,
        "sources": {
            one.rule: list(split_sources(one.source or "")) for one in fleet.rules
        },
        "cluster": shared.cluster,
        "detailed": told,
        "pictures": drawn,
        "madeAt": millis(fleet.made_at),
        "start": millis(fleet.axis.start),
        "end": millis(fleet.axis.end),
        "step": fleet.axis.step_ms,
    }
    html = (
        _environment()
        .get_template("page.html.j2")
        .render(
            fleet=fleet,
            version=__version__,
            data=Markup(write_json(data)),  # noqa: S704 - has no letter of HTML
            policy=_write_policy(
                scripts, style, is_folder=is_folder, is_served=is_served
            ),
            scripts={} if is_folder else {k: Markup(v) for k, v in scripts.items()},  # noqa: S704 - ours
            style=None if is_folder else Markup(style),  # noqa: S704 - ours
            is_served=is_served,
            keys=keys,
            pictures=pictures,
            anchors=anchors,
            parts=list(_TITLES.items()),
            titles=_TITLES,
            sentences=SENTENCES,
            push_interval=timedelta(milliseconds=fleet.push_interval_ms or 0),
            shared=shared,
            is_stale=is_stale(fleet),
            numbers=list_numbers(fleet),
            states=STATES,
            live_state=ACTIVE,
            counts=count_clients(fleet),
            severities=count_severities(fleet),
            active=count_severities(fleet, ACTIVE),
            software=software,
            oldest=_find_oldest(software),
            told=told,
            clients_left_out=clients_left_out,
            values_left_out=values_left_out,
        )
    )
    files = {**scripts, _STYLE: style} if is_folder else {}
    return Page(
        html=html,
        files=files,
        clients_left_out=clients_left_out,
        details_left_out=details_left_out,
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "show": show,
        "cell": show_cell,
        "number": _format_number,
        "time": _format_minute,
        "age": show_age,
        "look": _choose_look,
        "code": split_code,
        "sources": split_sources,
    }
    return environment


def _choose_look(value: object) -> str:
    """Return the class of a cell: number, whole (no line break), long or empty."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    if isinstance(value, datetime | date):
        return "whole"
    words = str(show(value)).split()
    if len(words) == 1 and len(words[0]) <= _SHORT_NAME:
        return "whole"
    return "long" if any(len(one) > _LONGEST_WORD for one in words) else ""


def _format_number(value: float) -> str:
    if isinstance(value, int) or abs(value) >= _WHOLE_FROM:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _format_minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def _write_policy(
    scripts: Mapping[str, str], style: str, *, is_folder: bool, is_served: bool
) -> str:
    """Return the page's Content-Security-Policy: nothing from anywhere else."""
    if is_folder:
        allowed, styles = "'self'", "'self'"
    else:
        allowed = " ".join(map(_name_digest, scripts.values()))
        styles = _name_digest(style)
    asks = "'self'" if is_served else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src {styles}; "
        f"connect-src {asks}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _name_digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _fit_clients(fleet: Fleet, keys: list[str]) -> tuple[list[str], str, int]:
    """Return the keys of clients, the clients packed, and how many are left out."""
    clients = fleet.clients
    now_ms = int(fleet.made_at.timestamp() * 1_000)
    packed = pack_clients(clients, keys, now_ms)
    while len(packed) > _CLIENTS_BYTES:
        # They are in order of need; the rest packs about as well.
        rows = int(clients.num_rows * _CLIENTS_BYTES / len(packed) * 0.98)
        clients = clients.slice(0, rows)
        packed = pack_clients(clients, keys[:rows], now_ms)
    left_out = fleet.clients.num_rows - clients.num_rows
    return keys[: clients.num_rows], packed, left_out


def _fit_details(fleet: Fleet, room: int) -> tuple[list[str], int]:
    """Return as many packs of details as there is room for; how many have none."""
    packs, told = [], 0
    for clients, packed in pack_details(fleet.details):
        room -= len(packed)
        if room < 0:
            break
        packs.append(packed)
        told += clients
    return packs, len(fleet.details) - told


def count_clients(fleet: Fleet) -> dict[str, int]:
    """Return how many clients are in each state, `all` included, and live instances."""
    counts = Counter(fleet.clients.column("state").to_pylist())
    active = sum(one or 0 for one in fleet.clients.column("active").to_pylist())
    known_by = Counter(fleet.clients.column("known_by").to_pylist())
    return {state: counts[state] for state in STATES} | {
        "all": fleet.clients.num_rows,
        "with_telemetry": known_by[TELEMETRY],
        "without_telemetry": fleet.clients.num_rows - known_by[TELEMETRY],
        "instances": active,
    }


def count_severities(fleet: Fleet, state: str | None = None) -> dict[str, int]:
    """Return how many clients have an open finding of each severity.

    Args:
        fleet: The page.
        state: Only clients in this state; null: all.
    """
    states = fleet.clients.column("state").to_pylist()
    columns = ("errors", "warnings", "advice")
    return {
        severity: sum(
            1
            for number, own in zip(
                fleet.clients.column(name).to_pylist(), states, strict=True
            )
            if number and state in {None, own}
        )
        for severity, name in zip(SEVERITIES, columns, strict=True)
    }


def is_stale(fleet: Fleet) -> bool:
    """Whether the newest push is so old that a job or a bridge may have stopped."""
    if fleet.newest_push is None or fleet.push_interval_ms is None:
        return False
    limit = _STALE_INTERVALS * timedelta(milliseconds=fleet.push_interval_ms)
    return fleet.made_at - fleet.newest_push > limit


def name_rules(fleet: Fleet) -> dict[str, str]:
    """Return the rules with open findings and the anchors of their places."""
    return {
        one.rule: one.rule if _ANCHOR.fullmatch(one.rule) else f"{place}"
        for place, one in enumerate(fleet.rules)
    }


def list_software(fleet: Fleet, releases: Releases) -> list[SoftwareRow]:
    """Return who runs what, the most usual first, against what is known of releases.

    Clients that have ended run nothing.
    """
    names = ("software", "version", "state")
    columns = [fleet.clients.column(one).to_pylist() for one in names]
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for software, version, state in zip(*columns, strict=True):
        if state not in {ACTIVE, IDLE}:
            continue
        counts[software or UNKNOWN, version or UNKNOWN].update(["all", state])
    rows = [
        _describe_software(*who, found, releases, fleet.made_at.date())
        for who, found in counts.items()
    ]
    return sorted(rows, key=lambda one: (-one.clients, one.software, one.version))


def _describe_software(
    software: str,
    version: str,
    counts: Mapping[str, int],
    releases: Releases,
    today: date,
) -> SoftwareRow:
    known = find_release(releases, software, version)
    released = known.released if known else None
    return SoftwareRow(
        software=software,
        version=version,
        clients=counts["all"],
        live=counts.get(ACTIVE, 0),
        age_days=(today - released).days if released else None,
        support=known.support if known else "",
        faults=known.faults if known else "",
        has_wrong_metrics=known.has_wrong_metrics if known else False,
    )


def _name_version(row: SoftwareRow) -> str:
    name = f"{row.software} {row.version}"
    return name if row.age_days is None else f"{name}, {row.age_days:,} days old"


def _find_oldest(software: Sequence[SoftwareRow]) -> SoftwareRow | None:
    dated = [one for one in software if one.age_days is not None]
    return max(dated, key=lambda one: one.age_days or 0, default=None)
