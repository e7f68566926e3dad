"""What selector patterns mean; test_match_patterns_java.py asks Java about more."""

import pytest

from udfs.subscriptions.java_patterns import MatchPattern, UnsupportedPattern

LONG_TEXT = "a" * 10_000


@pytest.mark.parametrize(
    ("pattern", "text", "is_hit"),
    [("a.*", "abc", True), ("a.*", "a\nc", False), ("a.", "a\r", False),
     ("a.", "a\u2028", False), ("a.", "a\U0001f600", True), ("[^b]*", "a\n", True),
     (r"\d+", "12", True), (r"\d", "٣", False), (r"\w+", "é", False),
     (r"\s", "\v", True), (r"[\s]", "\v", True), (r"\S", "\v", False),
     (r"[^\S]", "\v", True), (r"(?i)PROD-\d", "prod-1", True), ("(?i)É", "é", False),
     ("(?i)k", "\u212a", False), ("(?i)[X-b]", "A", True), ("(?i)[X-b]", "x", True),
     ("(?i)[X-b]", "c", False), ("(?i)[^a]", "A", False), ("(?i)a", "A", True),
     (r"1\.2\..*", "1.2.3", True), (r"1\.2", "1x2", False), ("a", "ab", False),
     ("(?<name>a)b", "ab", True), ("a|b", "b", True), ("a{3}", "aaa", True),
     ("a{3}", "aaaa", False), ("ab?", "a", True), ("ab?", "b", False),
     (r"\x41\u0042", "AB", True), ("[]a]+", "]a", True), (r"[\]\-a]+", "]-a", True),
     ("[a-c-]", "-", True), ("[-a]", "-", True), ("[!--]", ",", True),
     ("[a^]", "^", True), ("[^]]", "a", True), ("a]}", "a]}", True),
     ("^a$", "a", True), ("a$", "a\n", False), ("(a$|b$)", "a", True),
     (r"\Aa\z", "a", True), ("a*?b", "aab", True), ("é", "é", True), ("", "", True),
     ("", "a", False), (r"\bab\b", "ab", True), (r"a\Bb", "ab", True)],
)  # fmt: skip
def test_pattern_means_what_it_means_in_java(pattern, text, is_hit):
    # The expectations are java.util.regex's own (JDK 17).
    assert MatchPattern(pattern).matches(text) is is_hit


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [("(?!x).*", "lookaround"), ("(?=x).*", "lookaround"), ("(?<!x)a", "lookaround"),
     ("(?<=x)a", "lookaround"), ("(?>a)", "atomic"), ("a++", "possessive"),
     ("a{2}+", "possessive"), (r"(a)\1", "back reference"), ("a$b", r"\$"),
     (r"(?<n>a)\k<n>", "back reference"), ("a(?i)b", "flag"), ("(?s)a.", "flag"),
     ("(?u:a)", "flag"), (r"\Z", "escape"), (r"\h", "escape"), (r"\p{Alpha}", "escape"),
     (r"\Qa\E", "escape"), ("[a&&b]", "intersection"), ("[a[b]]", "inside a class"),
     ("[[:alpha:]]", "inside a class"), (r"[\w-a]", "a - in"), ("[a-b-c]", "a - in"),
     (r"\ud83d", "surrogate"), ("a{2}{3}", "quantifier"), ("a**", "quantifier"),
     ("*a", "quantifier"), ("^*", "quantifier"), ("a{1001}", "repetition above"),
     ("(a{1000}){1000}", "repetitions of"), ("a{99999999999}", "repetition above"),
     (".{1000}", "steps"), ("(a$|b)c", r"\$"), ("(a$)*", r"\$")],
)  # fmt: skip
def test_what_rules_out_linear_time_or_differs_from_java_is_refused_by_name(
    pattern, reason
):
    with pytest.raises(UnsupportedPattern, match=reason):
        MatchPattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["[a", "(a", "a)", "(?P<n>a)", "(?P=n)", "(?#x)", "a{", "{a}", "a{x}", "[]",
     "[a--b]", "[b-a]", "(?<1>a)", "\\", "(?", r"\y", r"[\b]", "(?<n>a)(?<n>b)"],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its own text is checked
        MatchPattern(pattern)
    assert caught.type is ValueError
    assert pattern not in str(caught.value)


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a*)*b", "(a|aa)+b", "(.*)(.*)(.*)(.*)(.*)b", "(a|a?)+b"]
)
def test_pattern_that_ruins_a_backtracking_matcher_takes_linear_time(pattern):
    # Backtracking would take longer than the age of the universe.
    assert MatchPattern(pattern).matches(LONG_TEXT) is False
    assert MatchPattern(pattern).matches(f"{LONG_TEXT}b") is True


def test_patterns_of_one_text_are_equal():
    assert MatchPattern("a.") == MatchPattern("a.") != MatchPattern("b.")
    assert hash(MatchPattern("a.")) == hash(MatchPattern("a."))
