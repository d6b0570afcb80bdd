"""docs/pictures holds what its script makes, and nothing else."""

import struct

from tests.documents.pictures import PAGE, PICTURES, SHOTS, WIDTHS, page


def size(png):
    return struct.unpack(">II", png[16:24])


def test_every_picture_is_there_in_its_size_and_small():
    wanted = {f"{shot.name}-{where}.png": WIDTHS[where] for shot in SHOTS for where in shot.sizes}
    found = {path.name: path.read_bytes() for path in PICTURES.iterdir()}
    assert {name: size(png) for name, png in found.items()} == wanted
    assert max(len(png) for png in found.values()) < 150_000


def test_the_page_shows_them_all():
    assert PAGE.read_text(encoding="utf-8") == page()
