"""The shape of the tree: layers point down, nothing is exported twice, nothing is left out."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "mainspring"

# The layers, lowest first. A module imports only from its own layer's folder and from below it.
LAYERS = (
    ("_version", "errors", "_kernel"),
    ("state",),
    ("clock", "threads"),
    ("scene", "graph"),
    ("world",),
    ("physics", "capture"),
    ("net", "agents", "project"),
    ("cli", "editor"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def modules() -> Iterator[Path]:
    return (p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py")


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every import of ours in a module, wherever it stands, those for types alone included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            if node.module == "mainspring":
                yield from ((node.lineno, f"mainspring.{a.name}") for a in node.names)
            elif node.module:
                yield node.lineno, node.module
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", list(modules()), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    """A module imports its own folder and what lies below its layer, nothing else of ours."""
    own = layer_of(path)
    for line, name in imports(path):
        if not name.startswith("mainspring."):
            continue
        other = name.split(".")[1]
        assert other in RANK, f"{path}:{line} imports {name}, which has no place in the layers"
        assert other == own or RANK[other] < RANK[own], (
            f"{path}:{line}: {own} imports {other}, which does not stand below it"
        )


def test_every_folder_is_a_layer() -> None:
    """What lies in the package has its place in the table above."""
    names = {p.name.removesuffix(".py") for p in SOURCE.iterdir() if p.suffix in ("", ".py")}
    assert names - {"__init__", "__pycache__"} <= set(RANK)


def public_packages() -> list[str]:
    return [f"mainspring.{p.parent.name}" for p in sorted(SOURCE.glob("*/__init__.py"))]


def test_no_public_name_is_exported_twice() -> None:
    """A name means one thing: two layers never export different objects under it."""
    owners: dict[str, tuple[str, object]] = {}
    for package in public_packages():
        if package == "mainspring.graph":
            continue  # its names are those of hgraph programs, which are not ours to choose
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            package_before, before = owners.setdefault(name, (package, value))
            assert before is value, f"{name} means one thing in {package_before}, one in {package}"


@pytest.mark.parametrize("package", public_packages())
def test_public_names_are_documented(package: str) -> None:
    """Every class and function a layer exports says what it is for."""
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            assert (value.__doc__ or "").strip(), f"{package}.{name} has no docstring"


def test_every_kernel_file_is_built() -> None:
    """Each C++ file lies where a glob of the build finds it."""
    built = re.compile(
        r"kernel/(module\.cpp|(capture|clock|inbox|log|space|graph|threads)/[a-z_]+\.(cpp|hpp)"
        r"|tests/(test_[a-z_]+\.cpp|check\.hpp))$"
    )
    for path in sorted((ROOT / "kernel").rglob("*.?pp")):
        assert built.search(path.as_posix()), f"no build lists {path.relative_to(ROOT)}"


def test_engine_files_know_no_python() -> None:
    """Only binding files include Python or nanobind, so the engine is tested without them."""
    for path in sorted((ROOT / "kernel").rglob("*.?pp")):
        if path.name.startswith(("bind_", "py_")) or path.name == "module.cpp":
            continue
        text = path.read_text()
        assert "Python.h" not in text, path
        assert "nanobind" not in text or "tests" in path.parts, path


def test_every_test_file_is_collected() -> None:
    """No test hides in a file that pytest does not collect."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path.name.startswith("test_") or path.name == "conftest.py":
            continue
        names = [
            node.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef)
        ]
        hidden = [n for n in names if n.startswith("test_")]
        assert not hidden, f"{path} has tests that nobody runs: {hidden}"


def test_no_two_test_files_share_a_name() -> None:
    """Test files are imported by their bare names, so each name stands once."""
    seen: dict[str, Path] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if (path.parent / "__init__.py").exists() or path.name == "conftest.py":
            continue
        assert path.name not in seen, f"{path} and {seen[path.name]} have the same name"
        seen[path.name] = path
