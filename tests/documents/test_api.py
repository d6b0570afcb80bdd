"""The API reference is what the code says, covers every public name, and every public function shows an example."""

import importlib
import inspect
import tomllib

import pytest

from tests.documents import make_api
from tests.documents.raised_errors import raised_by
from tests.documents.workspace import ROOT

PACKAGES = ("rrcollect", "rrcollect.classic", "server_agg")


@pytest.fixture(scope="module")
def pages():
    return make_api.pages()


@pytest.mark.needs("matplotlib")
def test_the_pages_are_up_to_date(pages):
    """If this fails: `python -m tests.documents.make_api`."""
    kept = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md")}
    assert set(kept) == set(pages)
    stale = [name for name, text in pages.items() if kept[name] != text]
    assert stale == []


@pytest.mark.needs("matplotlib")
def test_every_public_name_is_described(pages):
    described = {line.removeprefix("### ") for page in pages.values() for line in page.splitlines()}
    for package in PACKAGES:
        names = set(importlib.import_module(package).__all__) - {"classic"}  # a module, with a page of its own
        assert names <= described, names - described
    assert "no_such_name" not in described


def public_functions():
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            if inspect.isroutine(getattr(module, name)):
                yield f"{package}.{name}", getattr(module, name)


def test_every_public_function_has_an_example_that_the_tests_run():
    missing = [name for name, function in public_functions() if ">>> " not in (inspect.getdoc(function) or "")]
    assert missing == []
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert "--doctest-modules" in rules["addopts"]
    assert {"rrcollect", "server_agg"} <= set(rules["testpaths"])


def test_every_public_class_and_its_members_have_words():
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type):
                assert value.__doc__, name
                members = [m for n, m in vars(value).items() if not n.startswith("_") and inspect.isfunction(m)]
                assert all(member.__doc__ for member in members), name


def test_errors_are_found_where_they_are_raised_and_not_where_they_are_caught():
    from rrcollect import Client, Report, randomise

    assert raised_by(randomise) == ["BadTruth", "NoRandomness", "NotOriented", "OffGridDesign"]
    assert {"BudgetExhausted", "Expired", "LedgerRestored", "UnknownAttribute"} <= set(raised_by(Client.answer))
    assert raised_by(Report.from_bytes) == ["MalformedReport"]  # what the reader raises is caught and renamed
