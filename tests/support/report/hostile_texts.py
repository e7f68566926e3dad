"""Texts that clients may send as ids, names and values, and that a page must bear."""

LONGEST_ID = 64_000
HOSTILE_TEXTS = (
    "</script><script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    '"><svg/onload=window.ran=1>',
    "'-window.ran-'",
    "</style><style>body{display:none}</style>",
    "javascript:window.ran=1",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "]]></bdi></td></table>",
    "datum.value = window.ran = 1",
    "a\u202egnp.exe\u202c",
    "a\u200b",
    "a\x00b\x1b[2J",
    "a\r\nb\u2028c",
    "e\u0301" * 50,
    "x" * LONGEST_ID,
    "x" * (LONGEST_ID - 1) + "y",
    "__proto__",
    "constructor",
    "&lt;b&gt;&amp;",
    "",
)
