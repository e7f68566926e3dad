import pytest

from pipelines.commands.java.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [("a=b", {"a": "b"}), ("a = b ", {"a": "b "}), ("a:b", {"a": "b"}),
     ("a b c", {"a": "b c"}), ("a", {"a": ""}), ("a=", {"a": ""}), ("", {}),
     ("# a=b\n! c=d\n\n  e=f", {"e": "f"}), ("a=b\r\nc=d\re=f", {"a": "b", "c": "d",
     "e": "f"}), ("a=1\na=2", {"a": "2"}), ("a=b\\\n   c", {"a": "bc"}),
     ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}), ("a\\=b=c", {"a=b": "c"}),
     ("a\\ b=c", {"a b": "c"}), ('a=\\t\\n\\q\\"', {"a": '\t\nq"'}),
     ("a=\\u00e4\\uD83D\\uDE00", {"a": "ä\U0001f600"}), ("a==b", {"a": "=b"}),
     ("a=b\\", {"a": "b"}), ("a=\\\n\nc=d", {"a": "", "c": "d"}),
     ("  \t a=b", {"a": "b"}), ("a=#b", {"a": "#b"})],
)  # fmt: skip
def test_file_is_read_as_java_reads_it(text, properties):
    # The expectations are java.util.Properties' own (JDK 17).
    assert parse_properties(text) == properties


@pytest.mark.parametrize("text", ["a=b\nsecret=\\u12", "a=b\nsecret=\\u12g4x"])
def test_broken_escape_is_named_by_its_line(text):
    with pytest.raises(ValueError, match="line 2") as caught:
        parse_properties(text)
    assert "secret" not in str(caught.value)
