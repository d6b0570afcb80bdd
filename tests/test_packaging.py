"""What a user installs: a wheel with both packages that imports in a clean environment, and a light client."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import rrcollect
import server_agg

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_both_packages_and_their_types(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for package in ("rrcollect", "server_agg"):
        for needed in ("__init__.py", "__init__.pyi", "py.typed"):
            assert f"{package}/{needed}" in names
    for served in (
        "rrcollect/web/rrcollect.mjs",
        "rrcollect/web/rrcollect.d.mts",
        "server_agg/collect/static/page.css",
        "server_agg/demo/page.css",
    ):
        assert served in names
    assert not [name for name in names if name.startswith(("tests/", "examples/", "docs/"))]


def test_the_wheel_installs_into_a_clean_environment_and_both_import(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    said = run(
        python,
        "-I",
        "-c",
        "from rrcollect import *; import rrcollect, server_agg; server_agg.Tally; d = optimal_design('ln 3'); "
        "print(d.p00, rrcollect.__file__)",
        cwd=tmp_path,
    )
    assert said.startswith("3/4 ")
    assert str(tmp_path) in said


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    return set(run(sys.executable, "-c", code, cwd=ROOT).split())


@pytest.mark.parametrize(
    "statement",
    ["import rrcollect", "from rrcollect import optimal_design, classic; optimal_design(1, '0.1', prevalence='0.2')"],
)
def test_neither_importing_nor_designing_imports_numpy(statement):
    loaded = modules_after(statement)
    assert "rrcollect" in loaded
    assert not loaded & {"numpy", "pydantic", "cryptography", "matplotlib", "scipy", "server_agg"}
    assert "numpy" in modules_after("import numpy")  # the check can fail


@pytest.mark.parametrize("package", [rrcollect, server_agg])
def test_every_public_name_is_there(package):
    stub = Path(package.__file__).with_suffix(".pyi").read_text()
    named = [line for line in stub.splitlines() if not line.startswith(('"""', "__version__"))]
    assert len(package.__all__) == len(list(filter(None, named))) > 40
    for name in package.__all__:
        assert f" import {name} as {name}\n" in stub  # no other form: the loader reads this one
        assert getattr(package, name) is not None
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=r"module '\w+' has no attribute 'no_such_name'"):
        _ = package.no_such_name


def test_a_public_name_is_loaded_when_first_used_and_then_kept():
    code = """
import sys, rrcollect
assert "rrcollect.design.yes_no" not in sys.modules and "Design" not in vars(rrcollect)
from rrcollect import *
from rrcollect.design.yes_no import Design as own
assert vars(rrcollect)["Design"] is own is Design and vars(rrcollect)["classic"] is sys.modules["rrcollect.classic"]
print("kept")"""
    assert run(sys.executable, "-c", code, cwd=ROOT) == "kept\n"
