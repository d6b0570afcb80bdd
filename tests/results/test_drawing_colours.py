"""One set of colours for pages and Python figures, legible on their own paper."""

import re
from importlib import resources

import pytest

from server_agg.demo.page import style
from tests.inside.collect import asset
from tests.inside.results import COLOURS

TEXT = resources.files("server_agg.results").joinpath("colours.css").read_text("utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", part)) for part in TEXT.split("@media (prefers-color-scheme: dark)")
)
ON = {
    "ink": ("paper", "card", "code", "band"),
    "quiet": ("paper", "card"),
    "accent": ("paper", "card"),
    "truth-ink": ("paper", "card"),
    "accent-ink": ("accent",),
    "on-yes": ("yes",),
    "on-no": ("no",),
    "warn": ("warn-paper",),
    "bad": ("card", "paper"),
    "good": ("card", "paper"),
}


def luminance(colour):
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """That of WCAG 2.1."""
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def illegible(colours):
    words = {
        (name, under)
        for name, papers in ON.items()
        for under in papers
        if contrast(colours[name], colours[under]) < 4.5
    }
    marks = {(name, "card") for name in ("bar", "truth", "yes") if contrast(colours[name], colours["card"]) < 3}
    return words | marks


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_words_have_contrast_and_a_pale_colour_is_seen(colours):
    assert illegible(colours) == set()
    assert illegible({**colours, "quiet": colours["line"]}) == {("quiet", "paper"), ("quiet", "card")}


def test_both_lists_name_the_same_colours():
    assert LIGHT.keys() == DARK.keys()


def test_pages_and_figures_share_their_blue_and_orange():
    assert [LIGHT["bar"], LIGHT["truth"]] == [colour.lower() for colour in COLOURS[:2]]
    assert asset("page.css")[0].decode().startswith(TEXT)
    assert style("page.css").startswith(TEXT)


def test_the_element_has_the_same_colours_by_default():
    written = resources.files("rrcollect").joinpath("web", "src", "element", "style.mjs").read_text("utf-8")
    found = re.findall(r"--([a-z-]+): var\(--rr-[a-z-]+, light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", written)
    assert len(found) >= 8
    assert {name: pair for name, *pair in found} == {name: [LIGHT[name], DARK[name]] for name, *_ in found}
