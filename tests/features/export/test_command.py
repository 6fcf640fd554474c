"""``browsereval export``: exports are members of a family, and their fields are the command's options."""

from __future__ import annotations

import csv
import json

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.run.store import RunStore
from tests.hooks.small_evals import Evals, errored_row, row
from tests.hooks.test_registration import install
from tests.recorded import remove_lines

PACKAGE = """
from pathlib import Path
from typing import Annotated, Literal
import pytest
from pydantic import Field, SecretStr
from pytest_browsereval import ConfigError, ExportConfig, Exported

class Names(ExportConfig):
    '''Names, one a line.'''

    type: Literal["acme/names"] = "acme/names"
    output: Path = Path("names.txt")
    '''The file to write.'''
    only: tuple[Literal["passed", "failed"], ...] = ()
    '''Verdicts, 100% of them by default.'''
    numbers: bool = True
    '''Whether each has its number.'''
    most: Annotated[int, Field(ge=1)] | None = None
    '''How many.'''
    key: SecretStr | None = None
    headers: dict[str, str] = Field(default_factory=dict)

    def write(self, run, base_dir):
        counted = [one for one in run.attempts if one.counts]
        found = [one for one in counted if not self.only or one.verdict in self.only][:self.most]
        lines = [f"{one.number} {one.query_id}" if self.numbers else one.query_id for one in found]
        (base_dir / self.output).write_text("\\n".join(lines))
        lost = ("a: gone",) if self.most == 1 else ()
        return Exported(str(self.output), len(lines), ("some: so",), lost)

class Broken(ExportConfig):
    '''Breaks.'''

    type: Literal["acme/broken"] = "acme/broken"
    how: Literal["raises", "leaves", "mute", "disk", "late"]
    output: int = 0
    '''Another one.'''

    def preflight(self, base_dir):
        if self.how == "late":
            raise ConfigError("acme is not installed. Run `pip install acme`")

    def write(self, run, base_dir):
        if self.how == "raises":
            raise RuntimeError("no such luck")
        if self.how == "leaves":
            pytest.exit("so", 0)
        if self.how == "disk":
            (base_dir / "gone/file").write_text("")

def pytest_browsereval_register(registry):
    registry.register(Names)
    registry.register(Broken)
"""


@pytest.fixture
def run(evals: Evals) -> str:
    """Return the folder of a run of three rows, with a package that brings exports."""
    install(evals, "acme_exports", PACKAGE)
    evals.write_rows(row("a"), row("b", says="wrong"), errored_row("c"))
    evals.write_config()
    return str(evals.run("shop.eval.yaml").folder)


def test_a_package_brings_an_export(evals: Evals, run: str) -> None:
    """Its fields are keys of a block; what was left out is printed."""
    sets = ("--eval-set", "export.only=[passed, failed]", "--eval-set=export.numbers=false")
    done = evals.run_command("export", run, "--to", "acme/names", "-o", "n.txt", *sets)
    assert done.ret == 0, done.stderr.str()
    assert done.outlines == ["acme/names: 2 of 3 trials in n.txt", "left out: some: so"]
    assert (evals.path / "n.txt").read_text() == "a\nb"
    assert evals.run_command("export", run, "--to=acme/names").ret == 0
    assert (evals.path / "names.txt").read_text() == "1 a\n1 b\n1 c"


def test_what_is_lost_is_not_green(evals: Evals, run: str) -> None:
    """The command ends with 1 and says what is missing; so does what the export does not mention."""
    done = evals.run_command("export", run, "--to", "acme/names", "--eval-set=export.most=1")
    assert done.ret == 1
    assert done.errlines == ["lost: a: gone"]
    plain = evals.run_command("export", run, "--to", "acme/names", "--eval-set=export.only=[passed]")
    assert plain.outlines[-1] == "left out: 1 trial that the export does not mention"


WRONG = [
    ("acme/name", "", "unknown export 'acme/name'. Did you mean 'acme/names'?"),
    ("acme/names", "only=[pased]", "export.only.0: 'pased' is not allowed"),
    ("csv", "tables=[]", "export.tables"),
    ("acme/names", "hows=raises", "export.hows: unknown key"),
    ("acme/broken", "", "export.how"),
    ("acme/broken", "how=raises", "`write` raised RuntimeError: no such luck ("),
    ("acme/broken", "how=leaves", "`write` raised "),
    ("acme/broken", "how=mute", "`write` returned None, which is not an Exported"),
    ("acme/broken", "how=disk", "cannot be written: gone/file: No such file or directory."),
    ("acme/broken", "how=late", "export 'acme/broken': acme is not installed. Run `pip"),
]
"""An export, what is set, and what is said of it."""


def test_what_is_wrong_is_said(evals: Evals, run: str, subtests: pytest.Subtests) -> None:
    """In one sentence, with exit code 4."""
    for to, given, told in WRONG:
        with subtests.test(to=to, given=given):
            sets = [f"--eval-set=export.{given}"] if given else []
            done = evals.run_command("export", run, "--to", to, *sets)
            assert done.ret == 4
            assert told in done.stderr.str()
            assert "Traceback" not in done.stderr.str()


def test_a_broken_package_is_named(evals: Evals) -> None:
    """Other subcommands work without it."""
    install(evals, "acme_gone", "def pytest_browsereval_register(registry): 1 / 0\n")
    done = evals.run_command("export", "latest", "--to", "acme/names")
    assert done.ret == 4
    assert "pytest_browsereval_register of acme_gone 2.5 fails: ZeroDivisionError" in done.stderr.str()
    assert evals.run_command("runs", "--help").ret == 0


def test_a_session_exports_what_its_config_says(evals: Evals) -> None:
    """After its summary, relative to the config; nothing of it changes the manifest's hash or the verdict."""
    install(evals, "acme_exports", PACKAGE)
    evals.write_rows(row("a"), row("b"))
    evals.write_config(
        "below/shop.eval.yaml", export=["acme/names", {"type": "acme/names", "output": "2.txt"}]
    )
    (evals.path / "rows.jsonl").rename(evals.path / "below/rows.jsonl")
    run = evals.run("below/shop.eval.yaml")
    assert run.ret == 0, run.stdout.str()
    assert (evals.path / "below/names.txt").read_text() == "1 a\n1 b"
    assert (evals.path / "below/2.txt").exists()
    assert "eval shop: exported as acme/names: 2 of 2 trials in names.txt" in run.outlines
    config = json.loads((run.folder / "manifest.json").read_text())["config"]
    assert [one["type"] for one in config["export"]] == ["acme/names", "acme/names"]


def test_an_export_that_fails_is_a_warning(evals: Evals) -> None:
    """The run is as green as without it; the line says how to do it again."""
    install(evals, "acme_exports", PACKAGE)
    evals.write_rows(row("a"))
    failing = [{"type": "acme/broken", "how": "raises"}, {"type": "acme/names", "most": 1}]
    evals.write_config(export=failing, gate={"min_pass_rate": 1.0})
    run = evals.run("shop.eval.yaml")
    assert run.ret == 0, run.stdout.str()
    text = run.stdout.str()
    assert "eval shop: not exported as acme/broken: warning: " in text
    assert "RuntimeError: no such luck" in text
    again = f"`browsereval export results/shop/{run.folder.name} --to"
    assert f"(to try again: {again} acme/broken` with its options)" in text
    assert f"(to try again: {again} acme/names` with its options)" in text
    assert run.summary["passed"] == 1


def test_two_evals_of_a_session_do_not_take_each_others_place(evals: Evals) -> None:
    """Their runs have one id, and may have rows of one id: files and the ids of attempts differ."""
    evals.write_rows(row("a"))
    exports = ["csv", "atif"]
    evals.write_config("one.eval.yaml", export=exports)
    evals.write_config("two.eval.yaml", export=exports)
    run = evals.run("one.eval.yaml", "two.eval.yaml")
    assert run.ret == 0, run.stdout.str()
    first, second = run.folders
    assert first.name == second.name
    tables = sorted((evals.path / "tables/attempts").iterdir())
    assert [file.name for file in tables] == [f"{name}-{first.name}.csv" for name in ("one", "two")]
    assert [next(csv.DictReader(file.read_text().splitlines()))["eval"] for file in tables] == ["one", "two"]
    documents = [json.loads(file.read_text()) for file in sorted(evals.path.glob("atif/**/*.json"))]
    assert [one["trajectory_id"].split("/")[0] for one in documents] == ["one", "two"]


def test_two_evals_of_one_name_are_not_exported(evals: Evals) -> None:
    """Their runs have one id, so that those of one would take the place of the other's: before the run."""
    evals.write_rows(row("a"))
    evals.write_config("shop.eval.yaml", export=["csv"])
    evals.write_config("below/shop.eval.yaml", dataset="../rows.jsonl")
    run = evals.run("shop.eval.yaml", "below/shop.eval.yaml")
    assert (run.ret, run.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    said = run.stdout.str() + run.stderr.str()
    assert "shop.eval.yaml and below/shop.eval.yaml are both named 'shop', so their runs share an id" in said
    assert "Write another `name` into one of them." in said
    assert evals.run("shop.eval.yaml").ret == 0


BY_HAND = """
import pytest

@pytest.mark.browsereval(config="shop.eval.yaml")
def test_first(run_eval, eval_task):
    run_eval(eval_task).assert_passed()

@pytest.mark.browsereval(config="shop.eval.yaml")
def test_second(run_eval, eval_task):
    run_eval(eval_task).assert_passed()
    run_eval(eval_task).assert_passed()
"""


def test_tests_by_hand_with_one_row_have_ids_of_their_own(evals: Evals) -> None:
    """Each test's run is named after it, so that files and ids differ; a second try at a row is a trial."""
    evals.write_rows(row("a"))
    evals.write_config()
    (evals.path / "test_shop.py").write_text(BY_HAND)
    run = evals.run("test_shop.py")
    assert run.ret == 0, run.stdout.str()
    found = sorted(evals.path.glob("results/*/*"))
    ids = [one.id for folder in found for one in open_run(folder).attempts]
    names = ["shop-test_shop-test_first", "shop-test_shop-test_second"]
    assert [open_run(folder).eval for folder in found] == names
    first, second = (f"{name}/{found[0].name}/a/default" for name in names)
    assert ids == [f"{first}/1/1", f"{second}/1/1", f"{second}/2/1"]
    for folder in found:
        assert evals.run_command("export", str(folder), "--to=csv").ret == 0
    tables = sorted(file.name for file in (evals.path / "tables/attempts").iterdir())
    assert tables == [f"{name}-{found[0].name}.csv" for name in names]


def test_a_run_that_lacks_trials_is_exported_with_a_note(evals: Evals) -> None:
    """One that is still written, or was ended: nobody is to take a part for the whole."""
    evals.write_rows(row("a"), row("b"))
    evals.write_config()
    run = evals.run("shop.eval.yaml").folder
    lacks = "1 of the run's 2 trials have no result: b"
    remove_lines(run, "b")
    done = evals.run_command("export", str(run), "--to=csv")
    assert (done.ret, done.errlines) == (0, [f"note: {lacks}"])
    (run / "summary.json").unlink()
    with RunStore(run).locks.hold():
        done = evals.run_command("export", str(run), "--to=csv")
    assert done.errlines == [f"note: a process is still writing the run: {lacks}"]
    ended = evals.run_command("export", str(run), "--to=csv")
    assert ended.errlines[0].startswith("note: the run was ended before its summary.json was written: 1 of")


@pytest.mark.slow
def test_workers_and_an_export_of_the_session(evals: Evals) -> None:
    """The controller writes it once, with the trials of all workers."""
    evals.write_rows(*(row(name) for name in "abcd"), row("bad", says="wrong"))
    evals.write_config(export=["csv"], trials=2)
    run = evals.run("shop.eval.yaml", "-n2")
    assert run.ret == 1, run.stdout.str()
    lines = [line for line in run.outlines if "exported" in line]
    assert lines == ["eval shop: exported as csv: 10 of 10 trials in tables"]
    (table,) = (evals.path / "tables/attempts").iterdir()
    found = list(csv.DictReader(table.read_text().splitlines()))
    verdicts = [one["verdict"] for one in found if one["counts"].lower() == "true"]
    assert (verdicts.count("passed"), verdicts.count("failed")) == (8, 2)
    assert (run.summary["passed"], run.summary["failed"]) == (8, 2)


def test_a_part_is_exported_with_a_note(evals: Evals) -> None:
    """Nobody is to take its figures for those of the run; a session leaves it out."""
    evals.write_rows(*(row(name) for name in "abcdefgh"))
    evals.write_config(export=["csv"])
    run = evals.run("shop.eval.yaml", "--eval-shard=1/2")
    assert "eval shop: not exported: this is a part of a run." in run.stdout.str()
    done = evals.run_command("export", str(run.folder), "--to=csv")
    assert done.ret == 0
    assert "note: this is a part of a run (1/2). Merge all parts" in done.stderr.str()


@pytest.mark.parametrize("kind", ["csv", "atif"])
def test_a_log_that_is_damaged_is_a_loss(evals: Evals, kind: str) -> None:
    """Its steps are not in the export: the command ends with 1 and names the file."""
    evals.write_rows(row("a"))
    evals.write_config()
    run = evals.run("shop.eval.yaml").folder
    (log,) = run.glob("tasks/a/*/*/*/messages.jsonl")
    log.write_text("{")
    done = evals.run_command("export", str(run), "--to", kind)
    assert done.ret == 1
    assert "lost: a: " in done.stderr.str()
    assert "messages.jsonl:1 is damaged" in done.stderr.str()


def test_what_an_export_needs_is_checked_before_a_run(evals: Evals) -> None:
    """With file and line; nobody wants to learn of it after hours."""
    install(evals, "acme_exports", PACKAGE)
    evals.write_rows(row("a"))
    evals.write_config(export=[{"type": "acme/broken", "how": "late"}])
    run = evals.run("shop.eval.yaml")
    assert (run.ret, run.folders) == (pytest.ExitCode.USAGE_ERROR, ())
    assert "export.0: acme is not installed. Run `pip install acme`" in run.stdout.str() + run.stderr.str()


def test_secrets_of_an_export_are_not_recorded(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the manifest nor in what is printed."""
    install(evals, "acme_exports", PACKAGE)
    monkeypatch.setenv("ACME_KEY", "sk-acme-0123456789")
    evals.write_rows(row("a"))
    own = {"type": "acme/names", "most": 1, "key": "${ACME_KEY}", "headers": {"k": "${ACME_KEY}"}}
    evals.write_config(export=[own])
    run = evals.run("shop.eval.yaml")
    assert run.ret == 0, run.stdout.str()
    assert "to try again: " in run.stdout.str()
    assert "sk-acme" not in (run.folder / "manifest.json").read_text() + run.stdout.str()
