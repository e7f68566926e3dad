"""Beside a checkout: what pip installs has conf/ with it, and works from any folder."""

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.settings.places import PACKAGES_PATH

ROOMS = ("pipelines", "udfs")


def read_setup():
    setup = configparser.ConfigParser()
    setup.read(PACKAGES_PATH / "setup.cfg")
    return setup


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Packages as pip would put them: modules, and the data that setup.cfg names."""
    site = tmp_path_factory.mktemp("site")
    for room in ROOMS:
        for path in (PACKAGES_PATH / room).rglob("*.py"):
            copy = site / path.relative_to(PACKAGES_PATH)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    for package, patterns in read_setup()["options.package_data"].items():
        folder = Path(*package.split("."))
        for pattern in patterns.split():
            for path in (PACKAGES_PATH / folder).glob(pattern):
                if path.is_file():
                    copy = site / path.relative_to(PACKAGES_PATH)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, copy)
    return site


@pytest.fixture
def run(site, tmp_path):
    """Run a command as its entry point does, in a folder of the user's own."""
    script = read_setup()["options.entry_points"]["console_scripts"].split("= ")[-1]
    module, _, function = script.partition(":")

    def start(*words, **variables):
        return subprocess.run(
            [
                sys.executable,
                "-P",
                "-c",
                f"import {module} as m; m.{function}()",
                *words,
            ],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(site), **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return start


def test_all_of_conf_goes_with_it(site):
    conf = PACKAGES_PATH / "conf"
    files = {path.relative_to(conf) for path in conf.rglob("*") if path.is_file()}
    installed = site / "pipelines" / "conf"
    there = {path.relative_to(installed) for path in installed.rglob("*")}
    assert files <= there


def test_settings_are_found_and_paths_start_from_the_current_folder(run, tmp_path):
    done = run("settings", "--set", "bridge.node_id=7")
    assert done.returncode == 0, done.stderr
    assert "bridge.node_id = 7\n" in done.stdout
    assert f"tables.root_path = {tmp_path}/data/tables\n" in done.stdout


def test_help_names_the_entry_point(run):
    done = run("help")
    assert done.stdout.startswith("usage: kafka-clientele command [options]")
    assert "./spark-submit.sh" not in done.stdout


@pytest.mark.parametrize("name", ["demo", "kafka", "setup", "reference"])
def test_command_that_needs_a_checkout_is_refused_at_once_and_not_in_help(run, name):
    done = run(name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"kafka-clientele: {name} is not available in an installation by pip. Clone "
        "the repository and run ./spark-submit.sh there\n"
    )
    listed = run("help").stdout
    assert f"\n  {name} " not in listed
    assert f"kafka-clientele {name}\n" not in listed
    assert "\n  bridge " in listed


def test_rules_and_catalogs_go_with_it(run):
    done = run("explain-rule", "--key", "sasl.jaas.config", "--type", "PASSWORD")
    assert done.returncode == 0, done.stderr
    assert "password-type" in done.stdout
