"""A logo: a small picture inside the signed survey, whose size is known before anything draws it.

Rules
1. A logo is a PNG or a JPEG, as a data: address of at most `LARGEST_LOGO` characters.  There is no SVG: it is a
   program, and 2.7 kB of it keep a browser busy for seconds.
2. The picture is what its address says: a browser goes by the first bytes, whatever the address says.
3. Its size is read from its header, and is at most `MOST_PIXELS` by `MOST_PIXELS`: 47 kB of PNG can unfold to 1.6 GB.
4. A JPEG is sequential (baseline or extended): thousands of scans of a progressive one fit into a few bytes each.
"""

from __future__ import annotations

import base64
import re

LARGEST_LOGO = 64 * 1024  # characters
MOST_PIXELS = 1024

_FORM = re.compile(
    r"data:image/(png|jpeg);base64,((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)", re.ASCII
)
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_SEQUENTIAL = (0xC0, 0xC1)
_BEFORE_THE_FRAME = (0xC4, 0xDB, 0xDD, 0xFE, *range(0xE0, 0xF0))  # tables, restart interval, comment, applications


def checked_logo(text: str) -> str:
    """The address of a logo, or a ValueError that says what is wrong with it."""
    form = _FORM.fullmatch(text) if len(text) <= LARGEST_LOGO else None
    if form is None:
        raise ValueError(f"a logo is a data: address of a PNG or JPEG image of at most {LARGEST_LOGO} characters")
    size = (_png if form[1] == "png" else _jpeg)(base64.b64decode(form[2]))
    if size is None:
        raise ValueError("the image is not what its address says, a PNG or a sequential (not a progressive) JPEG")
    if not all(1 <= side <= MOST_PIXELS for side in size):
        raise ValueError(
            f"the image has {size[0]} by {size[1]} pixels; at most {MOST_PIXELS} by {MOST_PIXELS} are shown"
        )
    return text


def _png(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG: its first chunk says them."""
    if len(data) < len(_PNG) + 8 or not data.startswith(_PNG):
        return None
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Width and height of a JPEG: the first frame says them, after segments that say their own length.

    >>> _jpeg(bytes.fromhex("ffd8 ffe00004 0000 ffc0000b 08 0010 0020 01 011100".replace(" ", "")))
    (32, 16)
    """
    at = 2
    while data.startswith(b"\xff\xd8") and len(data) >= at + 9 and data[at] == 0xFF:
        if data[at + 1] in _SEQUENTIAL:
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        length = int.from_bytes(data[at + 2 : at + 4])
        if data[at + 1] not in _BEFORE_THE_FRAME or length < 2:
            return None
        at += 2 + length
    return None
