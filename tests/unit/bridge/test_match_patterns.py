import pytest

from pipelines.bridge.match_patterns import compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "is_hit"),
    [("a.*", "abc", True), ("a.*", "a\nc", False), ("a.", "a\r", False),
     ("a.", "a\u2028", False), ("[^b]*", "a\n", True), (r"\d+", "12", True),
     (r"\d", "٣", False), (r"\w+", "é", False), (r"(?i)PROD-\d", "prod-1", True),
     ("(?i)É", "é", False), (r"1\.2\..*", "1.2.3", True), (r"1\.2", "1x2", False),
     ("(?<name>a)b", "ab", True), ("(?!x).*", "xa", False), ("(?<!x)a", "a", True),
     ("a|b", "b", True), ("(?:a|b)++", "abab", True), ("a{3}", "aaa", True),
     (r"\x41\u0042", "AB", True), ("[]a]+", "]a", True), (r"[\]\-a]+", "]-a", True),
     ("^a$", "a", True), (r"\Aa\z", "a", True), ("é", "é", True), ("", "", True)],
)  # fmt: skip
def test_pattern_means_what_it_means_in_java(pattern, text, is_hit):
    # The expectations are java.util.regex's own (JDK 17).
    assert (compile_pattern(pattern).fullmatch(text) is not None) is is_hit


@pytest.mark.parametrize(
    "pattern",
    ["[a", "(a", "a)", "*a", "a**", "(?P<n>a)", "(?P=n)", "(?#x)", r"\Z", r"\h", r"\v",
     r"\R", r"\p{Alpha}", r"\Qa\E", "[a&&b]", "[a[b]]", "[[:alpha:]]", "a{", "{a}",
     "a{x}", "(?s)a.", "a(?i)b", "(?u)a", r"\1", r"\k<n>", "[a--b]", "(?<1>a)",
     "(?<!a*)b", "\\", "(?>", "[b-a]", "a{99999999999}"],
)  # fmt: skip
def test_pattern_that_python_and_java_may_read_differently_is_refused(pattern):
    with pytest.raises(ValueError):  # noqa: PT011 - its text is Python's own
        compile_pattern(pattern)
