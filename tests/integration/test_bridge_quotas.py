"""Kafka's own tools show and alter quotas at the endpoint, and through the proxy.

The calls of `kafka-configs` share JVMs: to start is most of what one of them does.
"""

import os
import shlex
import threading
from typing import NamedTuple

import pytest

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.call import Call
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.bridge.proxy_support import find_servers, proxy_settings
from tests.support.kafka.kafka_commands import run_configs, run_each_configs
from tests.support.quotas.asked_quotas import ask, component, entity_words, try_line
from tests.unit.udfs.quotas.test_alterations import REFUSED, TAKEN

USER = ("--entity-type", "users", "--entity-name", "quoted alice")
USERS = ("--entity-type", "users")
DEFAULT_USER = (*USERS, "--entity-default")
CLIENT = ("--entity-type", "clients", "--entity-name", "c1")
CLIENTS = ("--entity-type", "clients")
DEFAULT_CLIENT = (*CLIENTS, "--entity-default")
IPS = ("--entity-type", "ips")
DEFAULT_IP = (*IPS, "--entity-default")
RATED = (
    USER,
    CLIENT,
    (*USER, *CLIENT),
    (*USER, *DEFAULT_CLIENT),
    DEFAULT_USER,
    DEFAULT_CLIENT,
    (*DEFAULT_USER, *CLIENT),
    (*DEFAULT_USER, *DEFAULT_CLIENT),
)
LISTED = (USERS, CLIENTS, (*USERS, *CLIENTS), (*USER, *CLIENTS), IPS)
# Nobody is slowed down by them: the broker is all tests'.
RATES = {
    "endpoint": "producer_byte_rate=900000001",
    "proxy": "request_percentage=9000.5",
    "broker": "consumer_byte_rate=900000003",
}
ADDRESSES = {"endpoint": "10.8.0.1", "proxy": "10.8.0.2", "broker": "10.8.0.3"}
CREATION = "connection_creation_rate"
CREATED = f"{CREATION}=900000"
MISTAKES = (
    (*USER, "--add-config", "producer_byte_rate=0"),
    (*USER, *CLIENT, "--add-config", "request_percentage=-1"),
    (*CLIENT, "--add-config", "producer_byte_rate=1.5"),
    (*USER, "--add-config", f"{CREATION}=5"),
    (*IPS, "--entity-name", "10.8.0.1", "--add-config", "consumer_byte_rate=5"),
)
SCRAM = "SCRAM-SHA-512"
OWNER = ("--entity-type", "users", "--entity-name", "quoted-owner")
LIMITS = {"endpoint": 40_963, "proxy": 40_967}
ASKED = {
    "users/q1/clients/c1": ("strict user=q1 client-id=c1", "loose user=q1"),
    "users/q2/clients/<default>": ("strict user=q2 client-id*", "loose user=q2"),
    "users/<default>/clients/q3": ("strict user* client-id=q3", "loose client-id=q3"),
    "users/q4": ("strict user=q4", "loose user=q4"),
    "clients/q5": ("strict client-id=q5", "loose client-id=q5"),
}
SAME, DRY_RUN, DIFFERENT = "no difference", "--dry-run", 1
LOOKS, PAUSE_S = 200, 0.05
PLAN = """
- {entity_path: users/alice/clients/c1, quotas: {producer_byte_rate: 900000000}}
- {entity_path: users/alice/clients/<default>, quotas: {consumer_byte_rate: 900000000}}
- {entity_path: users/<default>/clients/c1, quotas: {request_percentage: 9000.5}}
- {entity_path: users/<default>/clients/<default>, quotas: {request_percentage: 9001}}
- {entity_path: users/<default>, quotas: {controller_mutation_rate: 90000}}
- {entity_path: users/bob, quotas: {producer_byte_rate: 900000000}}
- {entity_path: ips/<default>, quotas: {connection_creation_rate: 90000}}
"""


class Places(NamedTuple):
    """Where tools may be pointed at."""

    endpoint: str
    """Of a bridge that takes everybody for an admin."""
    proxy: str
    """Of a bridge that takes nobody for one: whoever passes does so by own rights."""
    broker: str
    others: str
    """The endpoint of that bridge."""


@pytest.fixture(scope="module")
def places(kafka):
    """Bridges in front of a broker."""
    admins = make_settings(kafka, "bridge.admin_principals=['User:ANONYMOUS']")
    with (
        running_bridge(admins) as (_, endpoint),
        running_bridge(proxy_settings(kafka)) as (other, others),
    ):
        yield Places(endpoint, find_servers(other), kafka.bootstrap_servers, others)


def everywhere(places, *words):
    return [(getattr(places, name), *words) for name in RATES]


def alterations(places, action):
    """Return a call for each entity and place: to set there what is the place's own."""
    for name, rate in RATES.items():
        place, is_added = getattr(places, name), action == "--add-config"
        change = rate if is_added else rate.partition("=")[0]
        yield from ((place, "--alter", *one, action, change) for one in RATED)
        address = (*IPS, "--entity-name", ADDRESSES[name])
        change = CREATED if is_added else CREATION
        yield (place, "--alter", *address, action, change)


def in_threes(answers):
    return zip(answers[::3], answers[1::3], answers[2::3], strict=True)


def without_address(printed):
    for address in ADDRESSES.values():
        printed = printed.replace(address, "ADDRESS")
    return printed


def without_trace(told, place):
    code, printed = told
    lines = printed.replace(place, "PLACE").splitlines()
    return code, [one for one in lines if not one.startswith("\tat ")]


def test_quotas_of_every_entity_are_set_and_shown_as_at_a_broker(java, places):
    whoms = [*RATED, *LISTED, DEFAULT_IP]
    whoms += [(*IPS, "--entity-name", one) for one in ADDRESSES.values()]
    shown = [one for whom in whoms for one in everywhere(places, "--describe", *whom)]
    try:
        add = [*alterations(places, "--add-config")]
        add += everywhere(places, "--alter", *DEFAULT_IP, "--add-config", CREATED)
        done = run_each_configs(java, add)
        first = run_configs(java, places.endpoint, "--describe", *USER)
        answers = run_each_configs(java, shown)
    finally:
        # What is not there cannot be removed again: one place does it.
        last = (places.endpoint, "--alter", *DEFAULT_IP, "--delete-config", CREATION)
        remove = [*alterations(places, "--delete-config"), last]
        undone = run_each_configs(java, remove)
    assert {code for code, _ in (*done, *undone)} == {0}
    count = len(undone) // len(RATES)
    for told in (done, undone):
        alike = [without_address(printed) for _, printed in told[: 3 * count]]
        assert alike[:count] == alike[count : 2 * count] == alike[2 * count :]
    assert [printed for _, printed in done[3 * count :]] == [undone[-1][1]] * 3
    assert done[0] == (0, "Completed updating config for user quoted alice.\n")
    for whom, (endpoint, proxy, broker) in zip(whoms, in_threes(answers), strict=True):
        assert endpoint == proxy == broker, whom
        assert broker[0] == 0
        assert broker[1], whom
    for code, printed in (first, answers[0]):
        head, _, rates = printed.rstrip().partition(" are ")
        assert (code, head) == (0, "Quota configs for user-principal 'quoted alice'")
        assert sorted(rates.split(", ")) == [
            "consumer_byte_rate=9.00000003E8",
            "producer_byte_rate=9.00000001E8",
            "request_percentage=9000.5",
        ]
    left = [(places.broker, "--describe", *whom) for whom in LISTED]
    for _, printed in run_each_configs(java, left):
        assert "900" not in printed
        assert "9.0" not in printed


def test_what_a_broker_refuses_is_refused_in_its_words(java, places):
    calls = [one for m in MISTAKES for one in everywhere(places, "--alter", *m)]
    answers = run_each_configs(java, calls)
    told = [
        without_trace(answer, call[0])
        for answer, call in zip(answers, calls, strict=True)
    ]
    for endpoint, proxy, broker in in_threes(told):
        assert endpoint == proxy == broker
        assert broker[0] == 1
    assert "Quota producer_byte_rate must be greater than 0" in answers[0][1]


def test_scram_credentials_are_shown_and_set_past_the_endpoint_only(java, places):
    secret = ("--add-config", f"{SCRAM}=[iterations=8192,password=hunter2]")
    alter = ("--alter", *OWNER)
    done = run_each_configs(
        java,
        [
            (places.proxy, *alter, *secret),
            (places.broker, *alter, "--add-config", RATES["broker"]),
            (places.endpoint, *alter, *secret),
        ],
    )
    assert [code for code, _ in done] == [0, 0, 1]
    assert "ALTER_USER_SCRAM_CREDENTIALS" in done[2][1]
    rate = RATES["broker"].partition("=")[0]
    *shown, _, _ = run_each_configs(
        java,
        [
            *everywhere(places, "--describe", *OWNER),
            *everywhere(places, "--describe", *USERS),
            (places.proxy, *alter, "--delete-config", SCRAM),
            (places.proxy, *alter, "--delete-config", rate),
        ],
    )
    told = (
        "Quota configs for user-principal 'quoted-owner' are "
        "consumer_byte_rate=9.00000003E8\n"
        "SCRAM credential configs for user-principal 'quoted-owner' are "
        "SCRAM-SHA-512=iterations=8192\n"
    )
    assert shown[:3] == [(0, told)] * 3
    assert shown[3] == shown[4] == shown[5]
    assert shown[3][0] == 0


def test_who_is_no_admin_is_refused_at_the_endpoint(java, places):
    calls = [
        (places.others, "--describe", *USER),
        (places.others, "--describe", *USERS),
        (places.others, "--alter", *USER, "--add-config", "producer_byte_rate=1"),
    ]
    for code, printed in run_each_configs(java, calls):
        assert code == 1
        assert "ClusterAuthorizationException" in printed
        assert "Cluster authorization failed." in printed


@pytest.mark.parametrize("name", LIMITS)
def test_kafkas_own_admin_alters_and_counts(java, places, name):
    limit = LIMITS[name]
    cases = [*REFUSED, *((*one, "taken") for one in TAKEN)]
    tries = [try_line(path, key, value) for path, key, value, _ in cases]
    texts = [text for *_, text in cases]
    whoms = [f"producer_byte_rate {{}} {entity_words(path)}" for path in ASKED]
    asked = [
        " ".join(["count", kind, str(limit), *map(component, words)])
        for filters in ASKED.values()
        for kind, *words in (one.split() for one in filters)
    ]
    # A broker hears of a change later than it is answered: tries are in between.
    said = ask(
        java,
        getattr(places, name),
        [
            *(f"set {one.format(limit)}" for one in whoms),
            *tries,
            *asked,
            *(f"set {one.format('-')}" for one in whoms),
            *tries,
            *asked,
        ],
    )
    taken = ["taken"] * len(ASKED)
    some, none = ["1"] * len(asked), ["0"] * len(asked)
    assert said == [*taken, *texts, *some, *taken, *texts, *none]


@pytest.fixture
def apply(tmp_path, capsys):
    """Apply a plan at some place; returns the last line without what stays."""
    path = tmp_path / "quotas.yaml"

    def run(place, plan, words=""):
        path.write_text(plan)
        line = f"quotas apply --file {path} --bootstrap-server {place} {words}"
        call = Call(arguments=parse_words(shlex.split(line)), environ=os.environ)
        code = COMMANDS_BY_NAME["quotas"].run(call)
        said = capsys.readouterr().out.splitlines()[-1].partition(";")[0]
        assert code == (DIFFERENT if DRY_RUN in words and said != SAME else 0)
        return said

    return run


def wait_for(apply, place, plan, words=""):
    """Let a broker hear of a change, which it does later than its controller."""
    for _ in range(LOOKS):
        if apply(place, plan, f"{words} {DRY_RUN}") == SAME:
            return
        threading.Event().wait(PAUSE_S)


def test_a_file_is_applied_through_the_endpoint(places, apply):
    plan = "\n".join(
        f"- {{entity_path: clients/many-{n}, quotas: {{producer_byte_rate: {n}}}}}"
        for n in range(1, 351)
    )
    assert apply(places.endpoint, plan) == "350 additions, 0 changes, 0 removals"
    wait_for(apply, places.broker, plan)
    assert apply(places.endpoint, plan) == SAME


@pytest.mark.parametrize("name", LIMITS)
def test_users_with_client_ids_are_applied_once(places, apply, name):
    place = getattr(places, name)
    apply(place, "[]", "--prune")
    wait_for(apply, places.broker, "[]", "--prune")
    assert apply(place, PLAN) == "7 additions, 0 changes, 0 removals"
    wait_for(apply, places.broker, PLAN)
    assert apply(place, PLAN) == SAME
    assert apply(places.broker, PLAN, "--prune") == SAME
    assert apply(place, "[]", "--prune") == "0 additions, 0 changes, 7 removals"
