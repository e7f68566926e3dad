"""Replays what Apache Kafka's own broker answered, step by step."""

import re
import uuid
from datetime import timedelta
from pathlib import Path

import pytest

from pipelines.bridge.telemetry.instances import ClientInstances, TelemetryLimits
from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.bridge.telemetry.subscriptions import InvalidRule, parse_subscription

GOLDEN = Path(__file__).parents[3] / "golden" / "bridge" / "telemetry_scenarios.txt"
START_MS = 1_700_000_000_000
LINE = re.compile(r"t=(?P<t>\d+) +(?P<step>[A-Z]+) (?P<what>.*?) -> (?P<answer>.*)")
GET_ANSWER = re.compile(r"(\w+) interval=(\d+) metrics=\[(.*)\] echoed_id=(\w+)")
PUSH_ANSWER = re.compile(
    r"(\w+)  \[lastKnownError=(\S+) terminating=(\S+) exports=\d+\]"
)
CORRECTIONS = {
    # Asking again right after UNKNOWN_SUBSCRIPTION_ID is allowed; brokers since this
    # one allow it too. Like theirs, such a GET gives the next push no slot of its own.
    ("S6", "t=11"): "NONE interval=500 metrics=[b., a.] echoed_id=true",
    # Payloads are not decoded before they are stored, so none is an INVALID_RECORD.
    ("S8", "t=3000"): "NONE  [lastKnownError=NONE terminating=false exports=1]",
    ("S10", "t=0 PUSH"): "NONE  [lastKnownError=NONE terminating=false exports=1]",
}
# What the scenarios did beside their lines.
CLOSES_CONNECTION_BEFORE = {("S14", 4)}
RESERVED_IDS = {
    ("S12", 1): uuid.UUID(int=0),
    ("S12", 2): uuid.UUID(int=1),
    ("S12", 3): uuid.UUID(int=1),
}
# The controller turns a ConfigException into INVALID_CONFIG; this run had none.
CONTROLLER_CODE = {"UNKNOWN_SERVER_ERROR": "INVALID_CONFIG"}


def read_scenarios():
    scenarios = []
    for line in GOLDEN.read_text().splitlines():
        if line.startswith("## "):
            limit = int(re.search(r"telemetry\.max\.bytes=(\d+)", line)[1])
            scenarios.append((line.split()[1], limit, []))
        elif line.startswith("t="):
            scenarios[-1][2].append(line)
    return scenarios


class Replay:
    def __init__(self, name, limit, identity, push_request):
        self.name, self.identity, self.push_request = name, identity, push_request
        self.registry = SubscriptionRegistry()
        self.instances = ClientInstances(
            limits=TelemetryLimits(
                telemetry_max_bytes=limit,
                accepted_compression_types=(4, 3, 1, 2),
                max_client_instances=100,
            ),
            registry=self.registry,
            make_uuid=uuid.uuid4,
        )
        self.instance_id = None
        self.subscription_id = 0
        self.connection_id = 1

    def step(self, number, line):
        now_ms = START_MS + int(line["t"])
        if (self.name, number) in CLOSES_CONNECTION_BEFORE:
            self.instances.forget_connection(self.connection_id)
            self.connection_id += 1
        answer = self.expected(line)
        getattr(self, line["step"].lower())(line["what"], answer, now_ms, number)

    def expected(self, line):
        for key in (f"t={line['t']}", f"t={line['t']} {line['step']}"):
            if (self.name, key) in CORRECTIONS:
                return CORRECTIONS[self.name, key]
        return line["answer"]

    def subscribe(self, what, answer, _now_ms, _number):
        # `NAME [key, value, key, value]`, where a match value may hold a comma.
        name, text = re.fullmatch(r"(\S*) ?\[(.*)\]", what).groups()
        found = re.findall(
            r"(interval\.ms|metrics|match|random), (.*?)"
            r"(?=, (?:interval\.ms|metrics|match|random), |$)",
            text,
        )
        if answer == "ok":
            self.registry.put(parse_subscription(name, dict(found)))
            return
        code, _, message = re.fullmatch(r"(\w+) \((\w+)\) (.*)", answer).groups()
        with pytest.raises(InvalidRule) as caught:
            parse_subscription(name, dict(found))
        said = caught.value.error_code.name.upper()
        assert said == CONTROLLER_CODE.get(code, code)
        assert str(caught.value) == message

    def get(self, what, answer, now_ms, number):
        asked = None if what == "id=ZERO" else self.instance_id
        asked = RESERVED_IDS.get((self.name, number), asked)
        response = self.instances.get(
            asked, self.identity, connection_id=self.connection_id, now_ms=now_ms
        )
        error, interval, metrics, is_echoed = GET_ANSWER.fullmatch(answer).groups()
        assert response.error_code.name.upper() == error
        assert response.push_interval == timedelta(milliseconds=int(interval))
        assert ", ".join(response.requested_metrics) == metrics
        assert (response.client_instance_id == asked) == (is_echoed == "true")
        if error == "NONE":
            self.instance_id = response.client_instance_id
            self.subscription_id = response.subscription_id
        else:
            assert response.client_instance_id is None
            assert response.subscription_id == 0
            assert response.telemetry_max_bytes == 0
            assert response.accepted_compression_types == ()
            assert not response.delta_temporality

    def push(self, what, answer, now_ms, number):
        said = dict(part.split("=") for part in what.split())
        wrong = self.subscription_id ^ 1
        request = self.push_request(
            RESERVED_IDS.get((self.name, number), self.instance_id),
            self.subscription_id if said["sub"] == "current" else wrong,
            compression_type=int(said["comp"]),
            metrics=bytes(int(said["len"])),
            terminating=said["term"] == "true",
        )
        error, instance = self.instances.push(
            request, self.identity, connection_id=self.connection_id, now_ms=now_ms
        )
        name, last_error, is_terminating = PUSH_ANSWER.fullmatch(answer).groups()
        assert error.name.upper() == name
        if last_error == "-":
            assert instance is None
        else:
            assert instance.last_error.name.upper() == last_error
            assert instance.is_terminating == (is_terminating == "true")


@pytest.mark.parametrize(
    ("name", "limit", "lines"), read_scenarios(), ids=[s[0] for s in read_scenarios()]
)
def test_answers_are_those_of_apache_kafka(name, limit, lines, identity, push_request):
    replay = Replay(name, limit, identity, push_request)
    for number, line in enumerate(lines, start=1):
        replay.step(number, LINE.fullmatch(line))


def test_all_steps_are_replayed():
    steps = sum(len(lines) for _, _, lines in read_scenarios())
    assert steps == len(re.findall("^t=", GOLDEN.read_text(), re.MULTILINE)) == 83
