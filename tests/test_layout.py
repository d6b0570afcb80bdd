"""The layout: imports point one way, in the order of the flow; no cycles; no test module imported; short modules.

The order of each package is the table ORDER; a rule that is broken is broken in the code, not mended here.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.support import layout
from tests.support.layout import Tree

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 330

# Lowest first, ring by ring; parts of one line do not import each other.  Delivery knows documents and how to send
# their bytes; the client knows delivery.  The service does not need the science.
SERVICE = [
    ["errors"], ["files", "answer_words"], ["columns"], ["count"], ["results"], ["batch", "estimates"], ["comparisons"],
    ["survey_page"], ["collect"],
]  # fmt: skip
SCIENCE = [["sampling"], ["plan"], ["models"]]
FRONT = [["own_data"], [""], ["demo"], ["cli"]]
ORDER: dict[str, list[list[str]]] = {
    "rrcollect": [
        ["errors"],
        ["lazy", "schema"],
        ["design"],
        ["classic", "publish"],
        ["deliver"],
        ["answer"],
        ["web", "", "telemetry"],
    ],
    "server_agg": [*SERVICE, *SCIENCE, *FRONT],
}

APPLICATION = ["server_agg.cli", "server_agg.demo", "rrcollect.telemetry"]
WORDS = "a collector's pages speak the languages of the device's words"
USERS_OF_ANSWER: dict[tuple[str, str], str] = {
    ("server_agg.collect.http.headers", "rrcollect.answer.explain.words"): WORDS,
    ("server_agg.collect.http.pages", "rrcollect.answer.explain.words"): WORDS,
    ("server_agg.survey_page.question", "rrcollect.answer.explain.words"): WORDS,
}
"""What the owner's side takes from the device's, beside the application (decision 1), and the reason."""


@pytest.fixture(scope="module")
def packages() -> Tree:
    return Tree.read(ROOT, ORDER)


@pytest.fixture(scope="module")
def everything() -> Tree:
    return Tree.read(ROOT, [*ORDER, "tests", "examples"])


@pytest.mark.parametrize("package", ORDER)
def test_imports_point_down(packages: Tree, package: str) -> None:
    assert layout.upward(packages, package, ORDER[package]) == []


def test_the_device_s_package_does_not_import_the_aggregator_s(packages: Tree) -> None:
    assert layout.forbidden(packages, "rrcollect", "server_agg") == []


def test_the_owner_s_side_does_not_import_how_a_device_answers(packages: Tree) -> None:
    assert layout.unreserved(packages, "rrcollect.answer", APPLICATION, USERS_OF_ANSWER) == []


def test_decision_1_names_every_package_and_every_module_that_takes_from_answer() -> None:
    text = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8").split("\n2. ")[0]
    named = set(re.findall(r"`([\w/.]+)`", text))
    there = {path.parent.name for name in ORDER for path in (ROOT / name).glob("*/__init__.py")}
    assert there - {name.split("/")[-1] for name in named} == set()
    assert {f"{module.removeprefix('server_agg.').replace('.', '/')}.py" for module, _ in USERS_OF_ANSWER} <= named


def test_the_packages_and_examples_import_no_tests(everything: Tree) -> None:
    assert [fault for name in [*ORDER, "examples"] for fault in layout.forbidden(everything, name, "tests")] == []


def test_no_test_module_is_imported(everything: Tree) -> None:
    assert layout.of_test_modules(everything) == []


def test_no_module_imports_itself_by_way_of_others(packages: Tree) -> None:
    assert layout.cycles(packages, {}) == []


def test_modules_are_short(packages: Tree) -> None:
    assert layout.too_long(packages, LONGEST) == []


# ---- the browser client: the same folders, names and order ---------------------------------------------------------

BROWSER_ALONE = {
    "index": "the public names",
    "rr-survey": "the element",
    "element": "the parts of the element",
    "words": "our words are files, which pages fetch",
    "design.fraction": "Python's standard library has it",
    "answer.ledger.indexed_db": "the ledger of a page",
    "answer.place": "an app has no frames around it",
}
SCRIPTS = [*ORDER["rrcollect"][:1], ["words"], *ORDER["rrcollect"][1:-1], ["index", "element"], ["rr-survey"]]


@pytest.fixture(scope="module")
def scripts() -> Tree:
    return Tree.read_scripts(ROOT / "rrcollect/web/src", "rrcollect")


def without_twin(scripts: Tree, packages: Tree) -> set[str]:
    """The modules of the browser client that no Python module has the name of."""
    return {name.removeprefix("rrcollect.") for name in scripts.files.keys() - packages.files.keys()}


def test_the_browser_client_has_the_folders_and_names_of_the_python_package(scripts: Tree, packages: Tree) -> None:
    alone = without_twin(scripts, packages)
    assert {name if name in BROWSER_ALONE else name.split(".")[0] for name in alone} == set(BROWSER_ALONE)


def test_the_modules_of_the_browser_client_import_in_the_same_order_and_are_short(scripts: Tree) -> None:
    assert len(scripts.files) > 40
    assert sum(map(len, scripts.imports.values())) > 100
    assert layout.upward(scripts, "rrcollect", SCRIPTS) == []
    assert layout.cycles(scripts, {}) == []
    assert layout.too_long(scripts, LONGEST) == []


def test_a_planted_fault_of_the_browser_client_is_found(tmp_path: Path, packages: Tree) -> None:
    shutil.copytree(ROOT / "rrcollect/web/src", tmp_path / "src")
    (tmp_path / "src/design/new.mjs").write_text('import { Client } from "../answer/client.mjs";\n')
    with (tmp_path / "src/design/yes_no.mjs").open("a") as module:
        module.write('const later = () => import("./balanced.mjs");\n')
    planted = Tree.read_scripts(tmp_path / "src", "rrcollect")
    assert "design.new" in without_twin(planted, packages)
    assert layout.upward(planted, "rrcollect", SCRIPTS) == ["rrcollect.design.new imports rrcollect.answer.client"]
    assert layout.cycles(planted, {}) == ["rrcollect.design.balanced and rrcollect.design.yes_no import one another"]


# ---- planted bugs: a small tree that is in order, and one that is not, for each rule --------------------------------

SOUND = {
    "device/__init__.py": "from device.low import a",
    "device/low/__init__.py": "",
    "device/low/a.py": "import os",
    "device/low/b.py": "from device.low import a\nfrom . import a as same",
    "device/high/c.py": "from device.low.b import a",
    "device/beside/d.py": "import device.low.a",
    "owner/e.py": "from device.low import a",
    "owner/front/f.py": "from device.high import c",
    "tests/helper.py": "from owner import e",
    "tests/test_e.py": "from tests.helper import e",
}
LEVELS = [["low"], ["high", "beside"], [""]]


def planted(root: Path, **changes: str) -> Tree:
    for name, text in {**SOUND, **{name.replace("__", "/") + ".py": text for name, text in changes.items()}}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree.read(root, ["device", "owner", "tests"])


def faults(tree: Tree, excepted: dict[tuple[str, str], str] | None = None) -> list[str]:
    return [
        *layout.upward(tree, "device", LEVELS),
        *layout.forbidden(tree, "device", "owner"),
        *layout.forbidden(tree, "owner", "tests"),
        *layout.of_test_modules(tree),
        *layout.cycles(tree, excepted or {}),
        *layout.too_long(tree, 10),
        *layout.unreserved(tree, "device.high", ["owner.front"], {}),
    ]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"device__low__a": "from device.high import c"}, "device.low.a imports device.high.c"),
        ({"device__low__a": "def f():\n    import device.high.c"}, "device.low.a imports device.high.c"),
        ({"device__low__a": "if TYPE_CHECKING:\n    from ..high.c import a"}, "device.low.a imports device.high.c"),
        ({"device__low__a": "from device import b"}, "device.low.a imports device"),
        ({"device__beside__d": "from device.high import c"}, "device.beside.d imports device.high.c"),
        ({"device__new": ""}, "device.new has no place in the order"),
        ({"device__high__c": "from owner.e import x"}, "device.high.c imports owner.e"),
        ({"owner__e": "import tests.helper"}, "owner.e imports tests.helper"),
        ({"tests__helper": "from tests.test_e import e"}, "tests.helper imports tests.test_e"),
        ({"tests__helper": "import tests.conftest", "tests__conftest": ""}, "tests.helper imports tests.conftest"),
        ({"device__low__a": "from device.low import b"}, "device.low.a and device.low.b import one another"),
        (
            {"device__low__a": "if TYPE_CHECKING:\n    from device.low.b import a"},
            "device.low.a and device.low.b import one another",
        ),
        ({"owner__long": "\n" * 11}, "owner.long has 11 lines"),
        ({"owner__e": "from device.high.c import a"}, "owner.e imports device.high.c"),
        ({"owner__fronts": "import device.high.c"}, "owner.fronts imports device.high.c"),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, changes: dict[str, str], found: str) -> None:
    assert faults(planted(tmp_path)) == []
    assert found in faults(planted(tmp_path, **changes))


def test_an_exception_is_one_edge_and_must_be_needed(tmp_path: Path) -> None:
    edge = ("device.low.a", "device.low.b")
    assert faults(planted(tmp_path), {edge: "why"}) == ["device.low.a → device.low.b is excepted (why) without need"]
    assert faults(planted(tmp_path, device__low__a="from device.low import b"), {edge: "why"}) == []


def test_an_exception_from_a_reserved_part_is_one_edge_and_must_be_needed(tmp_path: Path) -> None:
    excepted = {("owner.e", "device.high.c"): "why"}
    found = layout.unreserved(planted(tmp_path), "device.high", ["owner.front"], excepted)
    assert found == ["owner.e → device.high.c is excepted (why) without need"]
    tree = planted(tmp_path, owner__e="from device.high import c")
    assert layout.unreserved(tree, "device.high", ["owner.front"], excepted) == []
