"""A test module that runs everything and asserts nothing: the planted bug of the mutation check."""

from __future__ import annotations

import ast
from pathlib import Path

__all__ = ["blinded"]


class Blind(ast.NodeTransformer):
    """An assertion becomes its expression, `with pytest.raises(…)` and a test's whole body forgive every error."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Expr(node.test), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if node.name.startswith("test_"):
            forgiving = ast.parse("with __import__('contextlib').suppress(BaseException): pass").body[0]
            assert isinstance(forgiving, ast.With)  # noqa: S101 (it was written one line above)
            forgiving.body = node.body
            node.body = [forgiving]
        return node


def blinded(test: Path, folder: Path) -> str:
    """Write the blind twin of a test module into a folder; returns its path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "test_one.py").write_text("def test_one():\\n    assert 1 == 2")
    ...     print(Path(blinded(Path(folder) / "test_one.py", Path(folder))).read_text())
    def test_one():
        with __import__('contextlib').suppress(BaseException):
            1 == 2
    """
    tree = ast.fix_missing_locations(Blind().visit(ast.parse(test.read_text(encoding="utf-8"))))
    twin = folder / f"{test.stem}_blind.py"
    twin.write_text(ast.unparse(tree), encoding="utf-8")
    return str(twin)
