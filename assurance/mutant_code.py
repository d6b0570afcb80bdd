"""Putting a mutant in the place of the sound code: into the live functions, or at the import of the module.

Rules
1. A live function is found by its file, name and first line, however it is decorated, and given the mutant's code.
2. The lines a test reaches are found in the same way: by code in which every statement first says its line.  (Tracing
   costs ten times the test.)
3. What a function does not carry (constants, fields, default values) needs an import: `Mutated` serves the mutant's
   source under the module's name.
"""

from __future__ import annotations

import ast
import gc
import importlib.machinery
import importlib.util
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from assurance.mutants import Mutant

__all__ = ["Live", "Mutated", "functions_in", "mark_lines", "replace_code"]

Live = dict[tuple[str, int], list[FunctionType]]
MARK = "_a_line_is_reached"


def functions_in(file: str) -> Live:
    """The live functions of a file by name and first line, however they are decorated."""
    found: Live = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == file:
            found.setdefault((thing.__code__.co_qualname, thing.__code__.co_firstlineno), []).append(thing)
    return found


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and those in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def replace_code(mutant: Mutant, live: Live, file: str) -> bool:
    """Give the live function the mutant's code; False if that cannot be done or changes nothing."""
    changed = False
    for code in codes_in(compile(mutant.source, file, "exec", dont_inherit=True)):
        for function in live.get((code.co_qualname, code.co_firstlineno), ()):
            if code.co_qualname == mutant.function and function.__code__ != code:
                try:
                    function.__code__ = code
                except ValueError:
                    return False
                changed = True
    return changed


class Marked(ast.NodeTransformer):
    """Every statement of a function is preceded by a call that says its line."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if not isinstance(node, ast.Module | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list):
                    setattr(node, name, [each for statement in block for each in (marker(statement), statement)])
        return node


def marker(statement: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(statement.lineno)], [])
    return ast.copy_location(ast.Expr(call), statement)


def mark_lines(source: str, live: Live, file: str, reached: set[int]) -> None:
    """From now on the live functions of a file add the lines they reach to a set."""
    tree = ast.fix_missing_locations(Marked().visit(ast.parse(source)))
    for code in codes_in(compile(tree, file, "exec", dont_inherit=True)):
        for function in live.get((code.co_qualname, code.co_firstlineno), ()):
            function.__code__ = code
            function.__globals__[MARK] = reached.add


class Mutated(importlib.machinery.SourceFileLoader):
    """Imports one module from a mutant's source; put before the finders of sys.meta_path."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self.source = source

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> Any:
        return (
            importlib.util.spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None
        )

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec", dont_inherit=True)
