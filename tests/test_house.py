"""The house keeps its size, and each way of counting notices what it is for."""

import pytest

from tests import house


def folder(root, texts):
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("source", [
    "def f(design):\n    return 1 if isinstance(design, SetDesign) else 0",
    "def f(design):\n    return isinstance(design, (int, yes_no.Design))",
    "def f(kind):\n    match kind:\n        case Choice():\n            return 1",
    "def f(tally):\n    return type(tally) is Tally",
    "def f(design):\n    return hasattr(design, 'p00')",
])  # fmt: skip
def test_a_planted_type_test_is_found(source: str) -> None:
    assert house.faults(source)
    assert house.faults(source, frozenset({"f"})) == []


def test_a_planted_instanceof_is_found_and_a_comment_is_none() -> None:
    assert house.script_faults('// design instanceof SetDesign\n"x instanceof Design"\n') == []
    assert house.script_faults("a\nif (design instanceof SetDesign) b") == ["2: instanceof SetDesign"]


def test_a_refusal_of_a_wrong_argument_is_not_counted() -> None:
    assert (
        house.faults("def checked_design(value):\n    if not isinstance(value, Mechanism):\n        raise Error") == []
    )
    assert house.faults("def f(value):\n    return isinstance(value, str)") == []


def test_the_folder_of_designs_may_choose_by_type_and_javascript_is_read(tmp_path):
    chosen = "isinstance(design, SetDesign)"
    texts = {
        "design/sets.py": chosen,
        "answer/draw.py": chosen,
        "web/page.mjs": "//\nif (design instanceof SetDesign) {}",
    }
    root = folder(tmp_path, {f"rrcollect/{name}": text for name, text in texts.items()})
    assert house.type_tests(root) == [
        "rrcollect/answer/draw.py:1: isinstance of ['SetDesign']",
        "rrcollect/web/page.mjs:2: instanceof SetDesign",
    ]


def test_results_names_modules_and_imports_are_counted(tmp_path):
    texts = {
        "server_agg/results.py": "class Result: 1\nclass _Base(Result): 1\nclass Fit(_Base): 1\nclass Other: 1\n",
        "server_agg/__init__.py": "",
        "server_agg/__init__.pyi": "from server_agg.results import Fit as Fit\nfrom server_agg import plan as plan\n",
        "tests/one.py": "from server_agg import a\nfrom server_agg.results import Fit\nimport server_agg.results\n",
    }
    root = folder(tmp_path, texts)
    assert house.result_classes(root) == ["Fit"]
    assert house.public_names(root) == {"server_agg": ["Fit"]}
    assert [path.name for path in house.modules(root)] == ["results.py"]
    assert house.lines(root) == 4
    assert house.imports(house.files("tests", root=root)) == (3, 2)


def test_the_house_keeps_its_size():
    found = house.figures()
    assert {name: number for name, number in found.items() if number > house.MOST[name]} == {}, house.type_tests()
