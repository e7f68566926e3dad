"""Secrets are read where they are used, and no error shows them."""

import pytest

from pipelines.errors import UnresolvedSecret
from pipelines.settings.secret_references import SecretReader, parse_secret_reference


def test_each_form_is_read(tmp_path):
    path = tmp_path / "password"
    path.write_text("from file\n")
    reader = SecretReader(
        environ={"NAME": "from environment"},
        read_scope=lambda scope, key: f"from {scope} and {key}",
    )
    assert reader.read(parse_secret_reference("env:NAME")) == "from environment"
    assert reader.read(parse_secret_reference(f"file:{path}")) == "from file"
    assert reader.read(parse_secret_reference("kafka/pass")) == "from kafka and pass"


@pytest.mark.parametrize(
    "text", ["", "hunter2", "env:", "file:", "a/b/c", "two words/x"]
)
def test_what_is_no_reference_is_refused_and_not_repeated(text):
    with pytest.raises(ValueError, match="expects a reference") as raised:
        parse_secret_reference(text)
    assert not text or "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("env:MISSING", "the environment variable is not set"),
        ("file:/does/not/exist", "cannot be read"),
        ("scope/key", "there is none here"),
    ],
)
def test_a_reference_to_nothing_says_so(text, reason):
    with pytest.raises(UnresolvedSecret, match=reason):
        SecretReader(environ={}).read(parse_secret_reference(text))
