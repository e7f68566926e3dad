"""status: one screen about a whole site, for people and for scripts."""

import shlex
import sys

from pipelines.commands.call import Call
from pipelines.commands.options import CONFIG, ENV, SET, Command, flag
from pipelines.settings.loading import CONFIG_OPTION, choose_env

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
    problems = find_problems(site, settings.watching, options=_repeat_options(call))
    format_site = format_json if call.arguments.json else format_screen
    sys.stdout.write(format_site(site, problems))
    return NOT_WELL if problems else WELL


def _repeat_options(call: Call) -> str:
    """Return the options that give another command the same settings."""
    env, config = call.arguments.env, call.arguments.config
    of_file = [] if config is None else [CONFIG_OPTION, config]
    is_default = config is not None and env == choose_env(config)
    return shlex.join(of_file if is_default else ["--env", env, *of_file])


COMMAND = Command(
    name="status",
    help="Print the state of bridges, jobs and tables; exit code 1 for a problem",
    options=(ENV, CONFIG, SET, flag("--json", "Print one JSON object")),
    run=run,
)
