"""Letters and signs of other scripts that look like ASCII, and what they look like.

Compatibility forms (full width, mathematical, circled) and letters with marks are not
here: NFKD and taking marks away make ASCII of them.
Source: Unicode Technical Standard 39, section 4, for what is called confusable.
"""

_LOOKS_LIKE = {
    "a": "251 3b1 430 410 391 1d00 237a 13aa ab7a 15c5 a4ee 2c80 2c81 2c6d 250",
    "b": "432 412 392 3b2 299 42c 44c 184 185 13cf 13f4 15f7 15af 1472 a4d0 2c82 "
    "2c83 253 180",
    "c": "441 421 abaf 1d04 3f2 3f9 13df a4da 2ca4 2ca5 10415 1043d 188 23c",
    "d": "501 500 1d05 13a0 15de 15ea 146f a4d3 a4d2 13e7 111 110 257 256",
    "e": "435 415 395 3b5 25b 1d07 212e ab32 4bd 454 404 13ac ab7c a4f0 2d39 "
    "2c88 2c89 247",
    "f": "192 191 584 a730 a798 a799 1e9d ab35 3dc 3dd 15b4 a4dd",
    "g": "261 262 581 1d83 18d 50c 50d 13c0 ab90 13f3 a4d6 1e5 260",
    "h": "4bb 4ba 570 29c 43d 41d 397 13c2 ab92 13bb ab8b 157c a4e7 2c8e 2c8f "
    "127 126 266",
    "i": "131 456 406 3b9 399 269 26a a647 4cf 13a5 ab75 2373 a4f2 2c92 2c93 268 "
    "1d7b",
    "j": "458 408 3f3 37f 1d0a 13ab ab7b 148d a4d9 249 237",
    "k": "43a 41a 3ba 39a 138 1d0b 49b 49a 13e6 abb6 16d5 a4d7 2c94 2c95 199 "
    "2c6a",
    "l": "4c0 1c0 29f 13de abae 14aa a4e1 2cd0 2cd1 142 141 26d 2223 196 16c1 "
    "2d4f 1041b",
    "m": "43c 41c 39c 3bc 1d0d 13b7 ab87 15f0 a4df 2c98 2c99 3fa 3fb 271 26f",
    "n": "578 57c 274 39d 43f 3b7 a4e0 2c9a 2c9b 19e 272 273 14b",
    "o": "43e 41e 3bf 39f 3c3 3c2 1d0f 1d11 585 555 10ff d20 101d a4f3 2c9e 2c9f "
    "2d54 f8 d8 275 19f 4e9 4e8 3b8 398 3007 10404 1042c 104c2 104ea 12d0 "
    "ab3d b20 660 6f0 6f5 966 9e6 a66 ae6 b66 be6 c66 ce6 d66 e50 ed0 1040 "
    "c02 c82 d02 d82 13be ab8e 13eb abbb",
    "p": "440 420 3c1 3a1 3f1 1d18 2ca2 2ca3 13e2 abb2 146d a4d1 2374 1a5 1d7d",
    "q": "51b 51a 563 566 2d55 24b 3d9 a7af",
    "r": "433 1d26 280 ab47 ab48 27c 27d 2c85 ab81 13a1 ab71 13d2 aba2 1587 a4e3 "
    "24d 1a6",
    "s": "455 405 a731 1bd 1bc 54f 13da abaa 13d5 aba5 a4e2 10448 10420 282 23f "
    "1a7 1a8",
    "ss": "df 1e9e",
    "t": "442 422 3c4 3a4 1d1b 13a2 ab72 a4d4 2ca6 2ca7 167 166 1ad 288 22a4 "
    "27d9",
    "u": "57d 54d 3c5 1d1c 28b a79f ab4e ab52 144c a4f4 222a 22c3 104ce 104f6 "
    "1200 289",
    "v": "475 474 3bd 1d20 2228 22c1 13d9 aba9 142f a4e6 2d38 6f7",
    "w": "51d 51c 461 460 561 1d21 13b3 ab83 13d4 aba4 a4ea 3c9 19c 448 428 2cb0 "
    "2cb1 a7b7 2c73",
    "x": "445 425 3c7 3a7 d7 166e 1541 157d 166d a4eb 2573 2a2f 2cac 2cad 2d5d "
    "16b7 4b3",
    "y": "443 423 3b3 3a5 3d2 28f 4af 4ae 263 1d8c 1eff ab5a 10e7 13a9 ab79 13bd "
    "ab8d a4ec 2ca8 2ca9 1b4 24f",
    "z": "1d22 396 13c3 ab93 a4dc 1b6 225 2c6c 290",
    "=": "a78a 1400 2e40 30a0 a4ff 2261 2550",
    ":": "a789 2236 2d0 2d1 2f8 589 5c3 1803 1809 16ec 205a a4fd fe30 703 704 "
    "903 a83",
    "/": "2044 2215 2571 29f8 27cb 2cc6 3033 2041",
    "-": "2043 2d7 2796 2cba 2500",
    '"': "2ba 2dd 2ee 2033 2036 275d 275e 201f 5f4",
    "'": "2b9 2bb 2bc 2bd 2c8 2032 2035 275b 275c 201b 5f3 a78c",
}  # fmt: skip
_ALPHABETS = (0x1F150, 0x1F170, 0x1F1E6)
"""Where 26 letters in white on black or of flags begin, which no form folds."""

CONFUSABLE_LETTERS: dict[int, str] = {
    int(code, 16): like for like, codes in _LOOKS_LIKE.items() for code in codes.split()
} | {
    first + place: chr(ord("a") + place) for first in _ALPHABETS for place in range(26)
}
"""Code point to the ASCII that it looks like, or is read as; for str.translate."""
