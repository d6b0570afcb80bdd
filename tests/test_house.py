"""The house keeps its size, and each way of counting notices what it is for."""

import ast

import pytest

from tests import house


def folder(root, texts):
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(design, SetDesign)",
        "not isinstance(kind, Number | Choice)",
        "isinstance(tally, rr.Tally)",
        "type(design) is Design",
        "hasattr(design, 'size')",
        "issubclass(kind, YesNo)",
    ],
)
def test_a_choice_by_type_is_counted(line):
    assert house.chosen_by_type(ast.parse(f"def sentence(design):\n    if {line}:\n        return 1")) == {2}


def test_a_class_pattern_is_counted():
    assert house.chosen_by_type(ast.parse("match design:\n    case SetDesign():\n        pass")) == {2}


@pytest.mark.parametrize(
    "text",
    [
        "def checked_design(value):\n    if not isinstance(value, Mechanism):\n        raise ParameterError",
        "def f(value):\n    return isinstance(value, str)",
        "def __eq__(self, other):\n    return NotImplemented if not isinstance(other, Design) else True",
    ],
)
def test_a_refusal_of_a_wrong_argument_is_not_counted(text):
    assert house.chosen_by_type(ast.parse(text)) == set()


def test_the_folder_of_designs_may_choose_by_type_and_javascript_is_read(tmp_path):
    chosen = "isinstance(design, SetDesign)"
    texts = {
        "design/sets.py": chosen,
        "answer/draw.py": chosen,
        "web/page.mjs": "//\nif (design instanceof SetDesign) {}",
    }
    root = folder(tmp_path, {f"rrcollect/{name}": text for name, text in texts.items()})
    assert house.type_tests(root) == ["rrcollect/answer/draw.py:1", "rrcollect/web/page.mjs:2"]


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
