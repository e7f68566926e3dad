"""Values without escapes and disguises."""

import time

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.sensitive.config_key_names import plain_form
from udfs.sensitive.plain_values import MAY_DIFFER, plain_value


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("", ""),
        ("a=b, C_d-e: 'f'\n", "a=b, C_d-e: 'f'\n"),
        ("%41%3d%2526%E2%82%AC", "A=&€"),
        ("100% %zz %%41", "100% %zz %A"),
        (r"\u0041\\\u003d\x3D\/\"\:", 'A==/":'),
        (r"a\nb\tc\rd", "a\nb c\nd"),
        (r"\ud835\udc9c\ud800\uzz", "A\ufffduzz"),
        (r"\075\75\u{3d}\u{00003D}\U0000003d\U00110000", "=75===\ufffd"),
        (r"\u{d800}\u{}\U0000003", "\ufffdu{}U0000003"),
        ("&#61a&#x3D!&#6", "=a=!"),
        ("p\0a\0s\0s\x0b=\x01\x7f\x1bx\0\r\t\f\n", "pass =   x\r\t\f\n"),
        ("a\\", "a\\"),
        ("a\\\nb", "a\\\nb"),
        ("&quot;&#61;&#x3D;&#0000061;&amp;amp;", '"===&'),
        ("a&b;c&nosuch; &#" + "1" * 5000 + ";", "a&b;c&nosuch; &#" + "1" * 5000 + ";"),
        ("\uff05\uff14\uff11", "%41"),
        ("\uff50\uff41\uff53\uff53\uff1d\u200b\u00ad\ufeffx", "pass=x"),
        ("pa\u0301ss\u0308 é", "pass e"),
        ("\u201ca\u201d \u00abb\u00bb \u2013\u2014\u2212", '"a" "b" ---'),
        ("a\u00a0b\u2028c\u0085d\u3164e", "a b c de"),
        ("客户端", "客户端"),
        ("%2525253D%252525252525253d %25%25zz", "== %%zz"),
        ("&amp;amp;amp;amp;amp;#61;", "="),
        ("%u003D%u00e9%uzz", "=e%uzz"),
        ("\u0440\u0430\u0455\u0455w\u043e\u0433d \u0420\u0410", "password pa"),
        ("\u1d18\u1d00\ua731\ua731\ua78a\ua789\u2044", "pass=:/"),
        ("\U0001f17f\U0001f150\U0001f1f8", "pas"),
        ("pa\u00df \u01a7\u01a8 \u13be", "pass ss o"),
    ],
)
def test_what_only_makes_a_value_look_different_is_gone(value, plain):
    assert plain_value(value) == plain


pieces = st.one_of(
    st.sampled_from(["%", "%25", "%3D", "%E2%82", "%AC", "\\", "\\\\", "\\u", "\\u00", "3d",
                     "\\ud835", "\\udc9c", "\\n", "\\x4", "1", "&", "&#6", "&quot", ";",
                     "&#10;", "%0A", "\0", "\x0b", "\\u{3d}", "\\12", "{", "}", "\n", "\u0301", "\u0323", "e", "\u200b", "\uff1d"]),
    st.text(max_size=3),
)  # fmt: skip
values = st.lists(pieces, max_size=8).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.lists(values, min_size=1, max_size=5))
def test_values_side_by_side_have_the_plain_forms_that_they_have_alone(several):
    """One search for all is right only if joining the values changes no plain form."""
    joined = plain_value("\n".join(several))
    assert joined == "\n".join(map(plain_value, several))


@settings(max_examples=300, deadline=None)
@given(values)
def test_arrow_names_all_values_that_have_another_plain_form(value):
    (may_differ,) = pc.match_substring_regex(pa.array([value]), MAY_DIFFER).to_pylist()
    assert may_differ or plain_value(value) == value
    # Whatever goes to RE2 must have a form in UTF-8.
    plain_value(value).encode()


@pytest.mark.parametrize(
    "piece",
    ["\\", "%", "%25", "%CC%81%CC%A3", "&", "&#", "&a", "\\u", "\\u0041", "\\\\u004",
     "\u0301\u0323", "\0\x01", "\\u{0", "\\U00", "\\07", "&#0", "a\u0301\u0323", "\uff9e\u0323", "\\u0301\\u0323", "\ufdfa"],
)  # fmt: skip
def test_plain_forms_take_linear_time(piece):
    """NFKD alone takes a minute and more for such a run of marks."""
    start = time.process_time()
    plain_value(piece * (200_000 // len(piece)))
    plain_form(piece * (200_000 // len(piece)))
    assert time.process_time() - start < 15


def test_what_arrow_looks_for_is_what_the_steps_begin_with():
    found = pc.match_substring_regex(
        pa.array(["%", "&", "\\", "a", "é", "\0", "\x1f", "\x7f", "\t\r\n\f"]),
        MAY_DIFFER,
    )
    assert found.to_pylist() == [True, True, True, False, *[True] * 4, False]
