"""The documentation: links lead somewhere, examples are right, and commands that it names are there."""

from __future__ import annotations

import ast
import json
import re
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from _pytest import cacheprovider

from pytest_browsereval.__main__ import make_parser
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.config import EvalConfig, load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.page_checks import list_page_checks, read_page_check
from pytest_browsereval.graders.state_diff import read_state_check
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import Registry

ROOT = Path(__file__).parents[1]
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
    if "_build" not in page.parts
]
WITH_EXAMPLES = [page for page in PAGES if page == "README.md" or page.startswith("docs/")]
LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading)).lower() for heading in found)
    return {word.strip().replace(" ", "-") for word in words}


def has_anchor(page: Path, anchor: str) -> bool:
    # Headings of the reference are made when the site is built, which checks links to them.
    return anchor in anchors(page) or "```{generated}" in page.read_text(encoding="utf-8")


def test_links_lead_somewhere(subtests: pytest.Subtests) -> None:
    """Every link into the repository names a file that is there, and a heading of it."""
    for page in PAGES:
        with subtests.test(page=page):
            text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
            wrong = []
            for link in LINK.findall(text):
                if "://" in link:
                    continue
                path, _, anchor = unquote(link).partition("#")
                target = (ROOT / page).parent / path if path else ROOT / page
                if not target.exists() or (
                    anchor and target.suffix == ".md" and not has_anchor(target, anchor)
                ):
                    wrong.append(link)
            assert wrong == []


# -- examples


@dataclass(frozen=True)
class Example:
    """A fenced block of a page."""

    line: int
    language: str
    text: str


FENCE = re.compile(r"^( *)(`{3,}|:{3,})([\w-]*)[^\n]*\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)


def find_examples(page: str, *languages: str) -> Iterator[Example]:
    """Yield the blocks of a page in one of these languages."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        if match[3] in languages:
            indent = len(match[1])
            lines = [line[indent:] for line in match[4].splitlines()]
            yield Example(text.count("\n", 0, match.start()) + 1, match[3], "\n".join(lines))


def describe(page: str, line: int, error: object) -> str:
    return f"{page}:{line}: {error}"


@pytest.fixture(scope="module", autouse=True)
def example_package() -> Iterator[None]:
    """Make the package of the examples importable, as if it were installed, while pages are looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples/acme_plugin")
        yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme_plugin"]:
        del sys.modules[name]


def make_registry(page: str) -> Registry:
    """Return the members that examples name: ours, those of example packages and of the page's own code."""
    found = builtin_registry()
    text = (ROOT / page).read_text(encoding="utf-8")
    for prefix, module in (("acme/", "acme_plugin"), ("nimbus/", "tests.testing.nimbus_plugin")):
        if prefix in text:
            import_module(module).pytest_browsereval_register(registry := Registry(module))
            found.adopt(registry)
    included = re.findall(r"\{literalinclude\} (\.\./examples/\S+/conftest\.py)", text)
    files = [(ROOT / page).parent / name for name in included]
    own = [example.text for example in find_examples(page, "python")]
    for code in (*own, *(file.read_text(encoding="utf-8") for file in files)):
        if registers_members(code) and "from acme_plugin" not in code:
            found.adopt(run_plugin(code, page))
    return found


def registers_members(code: str) -> bool:
    return "def pytest_browsereval_register" in code and "import" in code


def run_plugin(code: str, page: str) -> Registry:
    """Run the code of a plug-in and return what it registers."""
    module = ModuleType(f"example_of_{Path(page).stem}")
    sys.modules[module.__name__] = module  # annotations of its classes are looked up there
    try:
        exec(compile(code, page, "exec"), module.__dict__)  # noqa: S102 it is our own page
        registry = Registry(page)
        module.pytest_browsereval_register(registry)
        return registry
    finally:
        del sys.modules[module.__name__]


KEYS = {*EvalConfig.model_fields, "agent", "timeout_ms"}


def read_config(block: Mapping[str, Any], text: str, file: Path, registry: Registry) -> None:
    """Read an example as a config, with what a part of one lacks."""
    whole = text if "dataset" in block else f"{text}\ndataset: rows.jsonl"
    whole += "" if {"agent", "variants"} & block.keys() else "\nagent: noop"
    file.write_text(whole, encoding="utf-8")
    environ = dict.fromkeys(re.findall(r"\$\{(\w+)\}", text), "https://example.test")
    environ |= {
        name: "otpauth://totp/a?secret=JBSWY3DPEHPK3PXP" for name in environ if name.endswith("_TOTP")
    }
    load_config(file, registry=registry, environ=environ)


def look_at_examples(
    subtests: pytest.Subtests, languages: tuple[str, ...], look: Callable[[str, Example, Registry], None]
) -> None:
    """Look at each example in some languages; what is raised becomes a line of its page's report."""
    for page in WITH_EXAMPLES:
        with subtests.test(page=page):
            wrong = []
            registry = make_registry(page)
            for example in find_examples(page, *languages):
                try:
                    look(page, example, registry)
                except Exception as error:  # noqa: BLE001 each is a line of the report
                    wrong.append(describe(page, example.line, error))
            assert wrong == []


def test_configs_are_accepted(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Each block of YAML whose keys are those of a config is one, with a dataset where it names none."""

    def look(_page: str, example: Example, registry: Registry) -> None:
        block = yaml.safe_load(example.text)
        if isinstance(block, dict) and block.keys() <= KEYS:
            read_config(block, example.text, tmp_path / "example.yaml", registry)

    look_at_examples(subtests, ("yaml",), look)


def read_rows(text: str) -> Iterator[Any]:
    """Yield what a block of JSON holds: one value, or one on each line."""
    try:
        yield json.loads(text)
    except json.JSONDecodeError:
        yield from (json.loads(line) for line in text.splitlines() if line.strip())


def check_row(value: Any, registry: Registry) -> None:
    """Check a row with its graders, or a list of checks.

    Raises:
        ValueError: something is wrong with it.
    """
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        for check in value:
            is_of_state = "path" in check and not {"js", "storage"} & check.keys()
            (read_state_check if is_of_state else read_page_check)(check)
    if not isinstance(value, dict) or "query_id" not in value or "query" not in value:
        return
    task = Task.model_validate(value)
    for block in task.graders:
        options = {"type": block} if isinstance(block, str) else block
        member = registry.get("grader", str(options["type"]))
        grader = member.model_validate(options, context={"registry": registry})
        assert isinstance(grader, GraderConfig)
        grader.check(task, ROOT)


def test_rows_are_accepted(subtests: pytest.Subtests) -> None:
    """Each block of JSON can be read; rows in it are rows, and checks are those of graders."""

    def look(_page: str, example: Example, registry: Registry) -> None:
        for value in read_rows(example.text):
            check_row(value, registry)

    look_at_examples(subtests, ("json", "jsonl"), look)


def test_examples_of_checks_are_right(subtests: pytest.Subtests) -> None:
    """What the reference shows of a check of the page is read as one."""
    for kind, form in list_page_checks().items():
        with subtests.test(kind=kind):
            checks = json.loads(form.example)
            assert {read_page_check(check).kind for check in checks} == {kind}


def find_missing_names(tree: ast.Module) -> Iterator[str]:
    """Yield what is imported from the package and is not there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "pytest_browsereval":
            module = import_module(node.module or "")
            yield from (f"{node.module}.{one.name}" for one in node.names if not hasattr(module, one.name))


def test_code_runs(subtests: pytest.Subtests) -> None:
    """Each block of Python compiles and imports what there is; one that registers members registers them."""

    def look(page: str, example: Example, _registry: Registry) -> None:
        missing = list(find_missing_names(ast.parse(example.text)))
        assert missing == []
        if registers_members(example.text):
            run_plugin(example.text, page)

    look_at_examples(subtests, ("python",), look)


def find_commands(page: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the commands of pytest and browsereval that a page says to type, each with its line."""
    for example in find_examples(page, "console", "bash", "sh", "shell"):
        text = example.text.replace("\\\n", " ")
        for number, line in enumerate(text.splitlines(), example.line + 1):
            if example.language == "console" and not line.startswith("$ "):
                continue  # what a command has printed
            for part in re.split(r"&&|;|\|", line.removeprefix("$ ")):
                words = shlex.split(part, comments=True)
                while words and re.match(r"[A-Z_]+=", words[0]):
                    words = words[1:]
                words = words[: next((n for n, one in enumerate(words) if one in (">", ">>")), None)]
                if words and words[0] in ("pytest", "browsereval"):
                    yield number, words


def test_commands_are_accepted(
    pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    """Each command of pytest or browsereval has arguments that its parser takes."""
    parser = pytestconfig._parser
    if not pytestconfig.pluginmanager.has_plugin("cacheprovider"):  # this run has `-p no:cacheprovider`
        cacheprovider.pytest_addoption(parser)
    for page in WITH_EXAMPLES:
        with subtests.test(page=page):
            wrong = []
            for number, (program, *arguments) in find_commands(page):
                try:
                    if program == "browsereval":
                        make_parser(open_door()).parse_args(arguments)
                    else:
                        parser.parse(arguments)
                except SystemExit as error:
                    if error.code:
                        wrong.append(describe(page, number, capsys.readouterr().err.splitlines()[-1]))
                except pytest.UsageError as error:
                    wrong.append(describe(page, number, error))
            assert wrong == []


# -- commands of contributors


def test_contributors_find_every_command() -> None:
    """CONTRIBUTING.md names each command of the noxfile but the one that another one calls, and no other."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`nox -s (\w+)", text))
    source = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert named == set(re.findall(r"^@nox\.session\ndef (\w+)", source, re.MULTILINE)) - {"report"}
    assert set(runpy.run_path(str(ROOT / "noxfile.py"))["nox"].options.sessions) <= named
