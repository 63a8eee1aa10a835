"""The layout of CONTRIBUTING.md: the order of imports, the seam of library and app, what stands in _core/."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/holdfast"
FILES = sorted(SOURCE.rglob("*.py"))
KERNELS = sorted(path for path in (SOURCE / "_core").glob("[!_]*.py") if path.stem != "compiling")
# A folder, or a module of the root, imports only from those that stand before it.
ORDER = (
    "_core", "base", "datasets", "learn", "certificates", "models", "paper", "explanations", "selection", "files",
    "displays", "report", "auditing", "cli",
)  # fmt: skip
APP = ("report", "auditing", "cli")  # the app, which calls the library: all before it
OF_THE_APP = ("jinja2", "openpyxl", "pyarrow", "rich", "typer")  # packages that the library works without
COMPILED = {"entry", "inner", "inlined", "njit"}  # decorators of _core/compiling.py, and numba's own
EMPTY = re.compile(r"^empty_")  # a maker of empty state: a NamedTuple of arrays that a kernel fills


def imported(tree: ast.AST):
    """Names of holdfast's modules that a file imports, also in functions; not those for type checkers."""
    skipped = {id(child) for node in ast.walk(tree) if _for_type_checkers(node) for child in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "holdfast")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            if node.module == "holdfast":
                yield from (f"holdfast.{alias.name}" for alias in node.names)
            elif (node.module or "").startswith("holdfast."):
                yield node.module


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def part_of(module: str) -> str:
    """The folder or root module, by the name of ``ORDER``; a public name stands for the module that defines it."""
    import holdfast

    first = module.split(".")[1]
    return holdfast._MODULE_OF.get(first, first).split(".")[0]


def test_every_folder_and_root_module_has_its_place():
    found = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES}
    assert found - {"__init__"} == set(ORDER)


def test_the_map_has_every_part_in_order():
    """The first table of CONTRIBUTING.md's map."""
    page = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page[page.index("## The map") : page.index("Within `learn/`")]
    listed = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", table, re.MULTILINE)
    assert tuple(listed) == ORDER
    picture = page[page.index("## The code in one picture") : page.index("Two computations run")]
    floors = re.findall(r"^ (?:the app|the library| {3,}) +(\w+)  ", picture, re.MULTILINE)
    assert tuple(reversed(floors)) == ORDER


def test_files_of_learn_stand_in_the_order_of_their_imports():
    """The second table of CONTRIBUTING.md: each file imports from those in its own row and above."""
    page = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page[page.index("Within `learn/`") : page.index("Within `certificates/`")]
    lines = [
        re.findall(r"`(\w+)(?:\.py|/)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")
    ]
    row = {name: number for number, names in enumerate(lines) for name in names}
    folder = SOURCE / "learn"
    assert set(row) == {path.stem for path in folder.iterdir() if path.stem not in ("__init__", "__pycache__")}
    for path in FILES:
        if folder not in path.parents or path == folder / "__init__.py":
            continue
        name = path.relative_to(folder).parts[0].removesuffix(".py")
        for module in imported(ast.parse(path.read_text(encoding="utf-8"))):
            assert module != "holdfast.learn", f"{path.name} imports the whole folder"
            if module.startswith("holdfast.learn."):
                assert row[module.split(".")[2]] <= row[name], f"{path.name} imports {module}"


@pytest.mark.parametrize("part", ORDER)
def test_imports_go_one_way(part):
    """The package's own names count as their modules; ``holdfast.__version__`` is no import of a folder."""
    later = set(ORDER[ORDER.index(part) + 1 :])
    against = []
    for path in FILES:
        if path.relative_to(SOURCE).parts[0].removesuffix(".py") != part:
            continue
        for module in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if part_of(module) in later:
                against.append(f"{path.relative_to(SOURCE)} imports {module}")
    assert not against


# What the app still imports of the library that is in no ``__init__``. The list can only shrink: a name that is here
# is to become public, or to move to the app, where the app alone wants it.
PRIVATE = """
holdfast._core.compiling: compiling_notice
holdfast._core.geometry: pair_forms pair_squares
holdfast._core.order: vote_rows
holdfast.base.blocks: n_threads
holdfast.base.disk: fcntl written_atomically
holdfast.base.inputs: as_pandas check_count check_number class_codes with_names
holdfast.base.neighbors: nearest
holdfast.base.text: json_text json_value listed number percent printable short_name significant
holdfast.certificates.api: DEFAULT_BUDGET
holdfast.certificates.binding: Names
holdfast.certificates.columns: Encoding as_column key numeric unknown
holdfast.certificates.norms: as_norm
holdfast.certificates.pipelines: chain_of
holdfast.certificates.readers: inner_model
holdfast.certificates.threat: checked_threat
holdfast.certificates.threat_text: TRAINING sentences
holdfast.certificates.training: deviations stored_rows
holdfast.certificates.vote: NeighborVoter
holdfast.datasets.checks: Finding MIN_ROWS_PER_CLASS Repairs all_flags check_dataset describe refuse_fatal repair
holdfast.datasets.columns: MISSING UnknownValues count_rows day_as_date describe_all finite_numbers unknown_categories words_of
holdfast.datasets.encoder: check_columns
holdfast.datasets.formats: NUMBER
holdfast.datasets.load: origin_of
holdfast.datasets.tables: row_names
holdfast.displays: input_margins input_metric
holdfast.explanations.result: as_given change_text entry_data entry_sentence proof_text
holdfast.files.archive: HEADER
holdfast.models.classifiers: VotingClassifier
holdfast.selection.families: Recipe
"""  # noqa: E501


def test_the_library_imports_nothing_of_the_app():
    against = []
    for path in FILES:
        if path.relative_to(SOURCE).parts[0] not in APP:
            modules = imported(ast.parse(path.read_text(encoding="utf-8")))
            against += [f"{path.relative_to(SOURCE)} imports {m}" for m in modules if m.split(".")[1] in APP]
    assert not against


def test_the_library_works_without_the_packages_of_the_app():
    """In a fresh process in which none of them can be imported; ``learn.dask`` is for those who have Dask."""
    library = [path.relative_to(SOURCE).with_suffix("") for path in FILES]
    names = [
        ".".join(("holdfast", *file.parts)).removesuffix(".__init__") for file in library if file.parts[0] not in APP
    ]
    code = f"""
import importlib, sys
sys.modules.update(dict.fromkeys({[*OF_THE_APP, "pandas", "matplotlib"]}))
for name in {[name for name in names if name != "holdfast.learn.dask"]}:
    importlib.import_module(name)
from holdfast import LMNN, CertifiedKNeighborsClassifier, certify
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
print(certify(CertifiedKNeighborsClassifier(LMNN()).fit(X, y), X[:2]).exact.all())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True", done.stderr


def public_names() -> set[str]:
    """Names that the root or the ``__init__`` of a folder of the library gives out, and the displays."""
    import holdfast

    names = {f"holdfast.{name}" for name in [*holdfast.__all__, "__version__"]}
    names |= {f"holdfast.{module}.{name}" for name, module in holdfast._MODULE_OF.items()}
    for folder in set(ORDER) - {*APP, "_core", "base"}:
        for file in (SOURCE / folder / "__init__.py", SOURCE / f"{folder}.py"):
            for node in ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else []:
                if isinstance(node, ast.ImportFrom) and file.stem == "__init__":
                    names.update(f"holdfast.{folder}.{alias.asname}" for alias in node.names if alias.asname)
                elif isinstance(node, ast.ClassDef) and node.name.endswith("Display"):
                    names.add(f"holdfast.{folder}.{node.name}")
    return names


def test_the_app_uses_public_names_of_the_library():
    """A public name may be imported from the module that defines it, which takes less time than its whole folder."""
    public, private = public_names(), set()
    for path in FILES:
        if path.relative_to(SOURCE).parts[0] not in APP:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                private.update((alias.name, "*") for alias in node.names if alias.name.startswith("holdfast"))
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("holdfast"):
                folder = ".".join(node.module.split(".")[:2])
                used = {alias.name for alias in node.names if f"{folder}.{alias.name}".split(".")[1] not in APP}
                names = {name for name in used if not {f"{node.module}.{name}", f"{folder}.{name}"} & public}
                private.update((node.module, name) for name in names)
    lines = PRIVATE.strip().splitlines()
    listed = {(module, name) for module, names in (line.split(": ") for line in lines) for name in names.split()}
    assert not private - listed, "use a public name, or give the name out in the __init__ of its folder"
    assert not listed - private, "no longer used: take it from the list"
    assert lines == sorted(lines)


def test_folders_of_tests_mirror_the_source():
    tests = Path(__file__).parent
    folders = {path.relative_to(SOURCE).parts[0] for path in FILES if len(path.relative_to(SOURCE).parts) > 1}
    assert not {name for name in folders - {"_core"} if not list((tests / name).glob("test_*.py"))}


def test_state_of_kernels_has_names():
    """Fields of a NamedTuple are read by name, not by number."""
    numbered = re.compile(r"\b(tree|state|data|facts|counts)\[[0-9]+\]")
    assert not [str(path) for path in FILES if numbered.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernels_hold_compiled_code_only(path):
    """Compiled functions, NamedTuples, numbers and dtypes, and the makers of empty state."""
    strange = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            decorators = {_name(decorator) for decorator in node.decorator_list}
            if not (decorators & COMPILED or EMPTY.match(node.name)):
                strange.append(f"{node.name} is not compiled")
        elif isinstance(node, ast.ClassDef):
            if [_name(base) for base in node.bases] != ["NamedTuple"]:
                strange.append(f"{node.name} is no NamedTuple")
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.Expr):
            strange.append(f"line {node.lineno}")
    assert not strange


def _name(node: ast.expr) -> str:
    """The last name of ``f``, ``a.f`` or ``a.f(…)``."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
