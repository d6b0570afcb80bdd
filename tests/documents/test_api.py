"""What the API reference is made of: every public name has words, and every public function an example.

The reference itself is looked at by `test_site`.
"""

import importlib
import inspect
import tomllib

from tests.documents.raised_errors import raised_by
from tests.documents.source_names import PACKAGES
from tests.documents.workspace import ROOT


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

    assert raised_by(randomise) == ["BadTruth", "NoRandomness", "NotOriented", "OffGridDesign", "ParameterError"]
    assert {"BudgetExhausted", "Expired", "LedgerRestored", "UnknownAttribute"} <= set(raised_by(Client.answer))
    assert raised_by(Report.from_bytes) == ["MalformedReport"]  # what the reader raises is caught and renamed
