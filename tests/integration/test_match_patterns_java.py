"""Thousands of patterns mean to the bridge what they mean to a broker's Java."""

import base64
import random
import subprocess

import pytest

from tests.support.clients.java_clients import PROGRAMS_PATH
from tests.support.kafka.kafka_commands import SHORT_LIVED
from udfs.subscriptions.java_patterns import MatchPattern, UnsupportedPattern

PROGRAM = PROGRAMS_PATH / "MatchesInJava.java"
SEED = 20_261_121
PATTERNS = 30_000
PIECES = [
    "a", "b", "A", "-", "1", "é", "É", "\n", "\r", " ", ".", "^", "$", "|", "(", ")",
    "(?:", "(?<n>", "[", "]", "[^", "[a-b]", "[^a]", "[]a]", "[a-]", "[A-b]", "[k-s]",
    r"[\w-]", r"[^\s]", r"[\-a]", "*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{2}?",
    r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\A", r"\z", r"\.", r"\\", r"\-", r"\x41",
    r"\u0062", r"\t", r"\n", "}", "a*", "(a|b)", "(?i)", "(|a)", "k", "s", "\U0001f600",
]  # fmt: skip
TEXTS = [
    "", "a", "b", "A", "B", "ab", "aa", "aab", "ba", "abab", "a-1", "1", "é", "É", "\n",
    "a\n", "a\r\n", "\v", " ", "\t", "a b", ".", "\\", "\u2028", "\x85", "]", "}", "k",
    "\u212a", "s", "\u017f", "a\n\n", "^", "\U0001f600", "-", "a]", "$", "|",
]  # fmt: skip


@pytest.fixture(scope="module")
def questions():
    """Pairs of pattern and text, the same in every run."""
    choose = random.Random(SEED)  # noqa: S311 - no secret is made of it
    return [
        (
            "".join(choose.choices(PIECES, k=choose.randint(1, 6))),
            choose.choice(TEXTS),
        )
        for _ in range(PATTERNS)
    ]


@pytest.fixture(scope="module")
def in_java(java, questions):
    listed = subprocess.run(
        [java, "--list-modules"], check=True, capture_output=True, text=True
    )
    if "jdk.compiler" not in listed.stdout:
        pytest.skip("this Java has no compiler, and the program comes as source")
    lines = (
        " ".join(base64.b64encode(one.encode()).decode() for one in pair)
        for pair in questions
    )
    done = subprocess.run(
        [java, *SHORT_LIVED, str(PROGRAM)],
        input="\n".join(lines),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


def ask(pattern, text):
    try:
        return str(MatchPattern(pattern).matches(text)).lower()
    except UnsupportedPattern:
        return "unsupported"
    except ValueError:
        return "refused"


def test_patterns_mean_what_they_mean_in_java_or_are_unsupported(questions, in_java):
    assert len(in_java) == len(questions)
    answers = [(*pair, ask(*pair)) for pair in questions]
    differing = [
        (*answer, java)
        for answer, java in zip(answers, in_java, strict=True)
        if answer[-1] not in {java, "unsupported"}
    ]
    assert differing == []
    supported = [answer for answer in answers if answer[-1] in {"true", "false"}]
    assert len(supported) > PATTERNS // 4
    assert sum(answer[-1] == "true" for answer in supported) > PATTERNS // 100
