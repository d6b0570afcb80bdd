"""What a user installs: a wheel with both packages that imports in a clean environment, and a light client."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

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
    for needed in ("rrcollect/__init__.py", "rrcollect/py.typed", "server_agg/__init__.py", "server_agg/py.typed"):
        assert needed in names
    for served in (
        "rrcollect/web/rrcollect.mjs",
        "rrcollect/web/rrcollect.d.mts",
        "server_agg/collect/static/page.css",
        "server_agg/demo/page.css",
    ):
        assert served in names
    assert not [name for name in names if name.startswith(("tests/", "examples/", "benchmarks/"))]


def test_the_wheel_installs_into_a_clean_environment_and_both_import(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    said = run(
        python,
        "-c",
        "import rrcollect, server_agg; d = rrcollect.optimal_design('ln 3'); print(d.p00, rrcollect.__file__)",
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


def test_every_public_name_is_there():
    import rrcollect

    for name in rrcollect.__all__:
        assert getattr(rrcollect, name) is not None
    assert set(rrcollect.__all__) <= set(dir(rrcollect))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = rrcollect.no_such_name
