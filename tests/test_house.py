"""The house keeps its size, and each way of counting notices what it is for."""

import ast

import pytest

from tests import house


def folder(root, **texts):
    for name, text in texts.items():
        path = root / name.replace("__", "/")
        path = path.with_name(path.name.replace("_pyi", ".pyi").replace("_mjs", ".mjs"))
        path = path if path.suffix else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
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
    root = folder(tmp_path, rrcollect__design__sets=chosen, rrcollect__answer__draw=chosen)
    (root / "rrcollect/web").mkdir()
    (root / "rrcollect/web/page.mjs").write_text("// a\nif (design instanceof SetDesign) draw();\n")
    assert house.type_tests(root) == ["rrcollect/answer/draw.py:1", "rrcollect/web/page.mjs:2"]


def test_results_names_modules_and_imports_are_counted(tmp_path):
    root = folder(
        tmp_path,
        server_agg__results="class Result: ...\nclass _Base(Result): ...\nclass Fit(_Base): ...\nclass Other: ...\n",
        server_agg____init__="",
        tests__one="from server_agg import estimate, plan\nfrom server_agg.results import Fit\nimport server_agg.results\n",
    )
    stub = "from server_agg.results import Fit as Fit\nfrom server_agg import plan as plan\n"
    (root / "server_agg/__init__.pyi").write_text(stub)
    assert house.result_classes(root) == ["Fit"]
    assert house.public_names(root) == {"server_agg": ["Fit"]}
    assert len(house.modules(root)) == 1 and house.lines(root) == 4
    assert house.imports(house.files("tests", root=root)) == (3, 2)
