"""status: one screen about a whole site, for people and for scripts."""

import sys

from pipelines.commands.call import Call
from pipelines.commands.options import CONFIG, ENV, SET, Command, flag

WELL, NOT_WELL = 0, 1


def run(call: Call) -> int:
    """Look at the site and print it; 1 where something is not well."""
    from pipelines.settings.kafka import publisher_config
    from pipelines.watching.judging import find_problems
    from pipelines.watching.looking import look_at_site

    from .lines import format_json, format_screen

    settings = call.read_settings()
    kafka_config = publisher_config(settings.kafka, call.make_secret_reader())
    site = look_at_site(settings, kafka_config)
    problems = find_problems(site, settings.watching, env=call.arguments.env)
    format_site = format_json if call.arguments.json else format_screen
    sys.stdout.write(format_site(site, problems))
    return NOT_WELL if problems else WELL


COMMAND = Command(
    name="status",
    help="print on one screen how bridges, jobs and tables are; exit code 1 where "
    "something is not well",
    options=(ENV, CONFIG, SET, flag("--json", "print one JSON object")),
    run=run,
)
