"""Thousands of texts are to us the values that they are to Java's clients."""

import base64
import math
import random
import struct
import subprocess

import pytest

from pipelines.settings import CONF_PATH
from tests.support.clients.java_clients import PROGRAMS_PATH
from tests.support.kafka.kafka_commands import SHORT_LIVED
from udfs.sensitive.typed_values import INVALID, parse_value

PROGRAM = PROGRAMS_PATH / "ParsesInJava.java"
JARS = CONF_PATH.parent / ".cache" / "jars" / "kafka"
SEED = 20_261_121
TEXTS = 60_000
NAN_BITS = 0x7FF8000000000000
TYPES = ["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST"]
PIECES = {
    "BOOLEAN": ["true", "false", "TRUE", "False", "tRuE", "fal\u017fe", "1", "yes", ""],
    "STRING": ["a", "B", "é", "\U0001f600", ",", "=", "a b"],
    "INT": [
        "0", "1", "9", "7", "-", "+", "2147483647", "2147483648", "32767", "32768",
        "9223372036854775807", "9223372036854775808", "000", "_", ".", "0x1", "1e3",
        "\u0661", "\u0967", "\uff11", "\U0001d7ce", "\u00b2", "\u2460", "\u4e00", "L",
        "-2147483648", "-32768", "-9223372036854775808", "-2147483649", "-32769",
    ],
    "DOUBLE": [
        "0", "1", "9", ".", "-", "+", "e", "E", "f", "D", "d", "F", "NaN", "Infinity",
        "nan", "inf", "infinity", "0x", "0X", "p", "P", "1.5", "0.1", "1e10", "1e400",
        "1e-400", "4.9e-324", "2.4e-324", "2.5e-324", "1.7976931348623157e308",
        "1.7976931348623159e308", "0x1p3", "0x.8p-2", "0x1.fffffffffffff8p0", "0xap1",
        "0x1.p1", "0x1p1024", "0x1p-1075", "0x1.8p-1075", "0x0p99999999999", "_", "1_0",
        "\u0661", "123456789012345678901234567890", "9007199254740993", "00", "1e", "e1",
        "2.2250738585072011e-308", "0x1.00000000000008p0", "1e99999999999", "L", "-0",
    ],
    "LIST": ["a", "b c", ",", " , ", ",,", "\t,", "\v,", ",\x01", "\u00a0,", "é", "\n"],
}  # fmt: skip
PIECES["SHORT"] = PIECES["LONG"] = PIECES["INT"]
EDGES = ["", "", "", "", " ", "\t", "\n", "\x00", "\x1f", "\u00a0", "\u3000", "\x7f"]


@pytest.fixture(scope="module")
def questions():
    """Pairs of type and text, the same in every run; some texts are of other types."""
    choose = random.Random(SEED)  # noqa: S311 - no secret is made of it
    made = []
    for _ in range(TEXTS):
        type_name = choose.choice(TYPES)
        alike = type_name if choose.random() < 0.9 else choose.choice(TYPES)
        pieces = choose.choices(
            PIECES[alike], k=choose.choice([0, 1, 1, 1, 2, 2, 3, 5])
        )
        edges = choose.choice(EDGES), choose.choice(EDGES)
        made.append((type_name, f"{edges[0]}{''.join(pieces)}{edges[1]}"))
    doubles = [struct.unpack(">d", choose.randbytes(8))[0] for _ in range(3_000)]
    made += [("DOUBLE", repr(one)) for one in doubles]
    made += [("DOUBLE", one.hex()) for one in doubles if math.isfinite(one)]
    return made


@pytest.fixture(scope="module")
def in_java(java, questions):
    listed = subprocess.run(
        [java, "--list-modules"], check=True, capture_output=True, text=True
    )
    if "jdk.compiler" not in listed.stdout:
        pytest.skip("this Java has no compiler, and the program comes as source")
    lines = (
        f"{type_name} {base64.b64encode(text.encode()).decode()}"
        for type_name, text in questions
    )
    done = subprocess.run(
        [java, *SHORT_LIVED, "-cp", f"{JARS}/*", str(PROGRAM)],
        input="\n".join(lines),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


def show(value):
    """Write a value as the Java program does."""
    if value is INVALID:
        return INVALID.value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # Java shows one NaN, whatever its bits.
        bits = struct.unpack(">Q", struct.pack(">d", value))[0]
        return f"{NAN_BITS if math.isnan(value) else bits:x}"
    if isinstance(value, tuple):
        return f"[{','.join(map(show, value))}]"
    if isinstance(value, str):
        return base64.b64encode(value.encode()).decode()
    return str(value)


def test_texts_are_the_values_that_they_are_in_java(questions, in_java):
    assert len(in_java) == len(questions)
    answers = [(*pair, show(parse_value(*pair))) for pair in questions]
    differing = [
        (*answer, java)
        for answer, java in zip(answers, in_java, strict=True)
        if answer[-1] != java
    ]
    assert differing == []
    for type_name in TYPES:
        said = [answer[-1] for answer in answers if answer[0] == type_name]
        valid = sum(one != INVALID.value for one in said)
        assert valid > len(said) // 20
        assert type_name in {"STRING", "LIST"} or valid < len(said)
