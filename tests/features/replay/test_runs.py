"""Whole runs recorded and replayed: real browser, a model on a real socket that is gone the second time."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.local_server import LocalHandler
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls, done, says
from tests.hooks.launched import files_with, metadata, verdicts
from tests.hooks.small_evals import Evals, row
from tests.support import serving

KEYS = {
    "AGENT_KEY": "sk-agent-0123456789",
    "JUDGE_KEY": "sk-judge-0123456789",
    "SHOP_PASSWORD": 'open"sesame',
}
OTHER = {"SHOP_PASSWORD": "11 letters!"}
"""As many as that of the recording, which the page tells."""
PAGE = """<!doctype html><title>Shop</title><label>Password <input id=password></label>
<p>Served at <span id=where></span></p>
<button onclick="document.title = document.querySelector('#password').value.length">Go</button>
<script>document.querySelector('#where').textContent = location.origin</script>"""


def go(evals: Evals, *args: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run the eval, with these variables; return exit code and output."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        run = evals.run("shop.eval.yaml", *args)
    output = f"{run.stdout.str()}\n{run.stderr.str()}"
    assert "INTERNALERROR" not in output, output
    return int(run.ret), output


def plays(request: ModelRequest) -> Reply:
    """Play agent and judge: by the conversation so far."""
    if "verdict" in request.text and not request.tool_names:
        is_right = re.search(r"\[final answer of the agent \w+\]\nright\n", request.text)
        return says(json.dumps({"reasoning": "looked", "verdict": "success" if is_right else "not_success"}))
    turns: int = sum(message["role"] == "assistant" for message in request.messages)
    where = re.findall(r"http://127\.0\.0\.1:\d+", request.text)[0]
    answer = "right" if "answer of good" in request.text else "wrong"
    replies: list[Reply] = [
        calls(call("navigate", url=f"{where}/index.html")),
        calls(call("fill", target="#password", text=KEYS["SHOP_PASSWORD"]), call("click", target="text=Go")),
        done(answer),
    ]
    return replies[turns]


def write(evals: Evals, server: ScriptedModel, **keys: Any) -> None:
    (evals.path / "site").mkdir(exist_ok=True)
    (evals.path / "site/index.html").write_text(PAGE)
    model = {"model": "scripted", "base_url": server.base_url}
    rows = [row(name, start_url="{site}/", graders=["webvoyager"]) for name in ("good", "bad")]
    evals.write_rows(*rows, row("plain", start_url="{site}/"))
    evals.write_config(
        browser="playwright",
        agent={"type": "single", "api_key": "AGENT_KEY", "instructions": "It is ${SHOP_PASSWORD}.", **model},
        judge={"api_key": "JUDGE_KEY", **model},
        sites={"site": {"static": "site"}},
        lanes=2,
        **keys,
    )


def log(evals: Evals, name: str) -> list[dict[str, Any]]:
    """Return what an attempt has logged, without what differs in each run."""
    (path,) = evals.run_folder().glob(f"tasks/{name}/*/*/attempt-1/messages.jsonl")
    text = re.sub(r"127\.0\.0\.1:\d+", "ORIGIN", path.read_text())
    lines = [json.loads(line) for line in text.splitlines()]
    return [{k: v for k, v in line.items() if k not in ("timestamp", "duration_ms")} for line in lines]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with evals and a recorded run of them, which tests copy; the model is gone."""
    evals = Evals(tmp_path_factory.mktemp("recording"))
    with ScriptedModel(plays) as server:
        write(evals, server)
        code, output = go(evals, "--eval-llm=record", env=KEYS)
        assert code == 1, output
        assert not server.problems
        assert "model calls: recorded in cassettes/shop" in output
    return evals.path


@pytest.fixture
def recorded(evals: Evals, recording: Path) -> Evals:
    """Return evals of which a run was recorded."""
    shutil.copytree(recording, evals.path, dirs_exist_ok=True)
    return evals


NAMES = ("good", "bad", "plain")


@pytest.mark.slow
def test_a_run_is_replayed_without_model_and_key(recorded: Evals) -> None:
    """Same verdicts, same log, another password; and no secret in any cassette."""
    files = sorted(path.name for path in (recorded.path / "cassettes/shop/default").iterdir())
    assert files == ["bad-1.jsonl", "good-1.jsonl", "plain-1.jsonl"]
    cassettes = [str(Path("cassettes/shop/default") / name) for name in files]
    for secret in (*KEYS.values(), json.dumps(KEYS["SHOP_PASSWORD"])[1:-1]):
        assert not set(files_with(recorded.path, secret)) & set(cassettes)
    before = verdicts(recorded.summary()), {name: log(recorded, name) for name in NAMES}
    assert before[0] == {"good": "passed", "bad": "failed", "plain": "failed"}
    code, output = go(recorded, "--eval-llm=replay", env=OTHER)
    assert code == 1, output
    assert verdicts(recorded.summary()) == before[0]
    assert {name: log(recorded, name) for name in NAMES} == before[1]
    assert "model calls: replayed from cassettes/shop; a replay reports the tokens and cost" in output
    good = metadata(recorded.run_folder(), "good")
    assert good.replayed
    assert good.warnings == ()
    assert json.loads((recorded.run_folder() / "manifest.json").read_text())["model_calls"] == "replay"
    assert OTHER["SHOP_PASSWORD"] not in output
    assert files_with(recorded.path, OTHER["SHOP_PASSWORD"]) == []


GOLD = "Plastic Man, 1988"


def compares(request: ModelRequest) -> Reply:
    """Play an agent that says something else, and a judge that quotes the reference."""
    if request.tool_names:
        return done("A rubber woman")
    assert GOLD in request.text
    return says(json.dumps({"reasoning": f"Not {GOLD}.", "stated_answer": "another", "is_same": False}))


@pytest.mark.slow
def test_a_reference_that_is_protected_is_in_no_cassette(evals: Evals) -> None:
    """Neither in what the judge is asked nor in its reply; one that was edited is not answered from there."""
    told = row("secret", graders=["browsecomp"], answer=GOLD, protected=True)
    evals.write_rows({**told, "query": "Which hero?"})
    with ScriptedModel(compares) as server:
        model = {"model": "scripted", "base_url": server.base_url}
        evals.write_config(browser="playwright", agent={"type": "single", **model}, judge=model)
        code, output = go(evals, "--eval-llm=record")
        assert code == 1, output
        assert not server.problems
    for part in (GOLD, "Plastic"):
        assert not [name for name in files_with(evals.path, part) if name != "rows.jsonl"]
    assert verdicts(evals.summary()) == {"secret": "failed"}
    code, output = go(evals, "--eval-llm=replay")
    assert verdicts(evals.summary()) == {"secret": "failed"}, output
    evals.write_rows({**told, "query": "Which hero?", "answer": "Rubber Man, 1988"})
    code, output = go(evals, "--eval-llm=replay")
    assert verdicts(evals.summary()) == {"secret": "errored (grader)"}
    assert "call 1 of the judge was not recorded" in output


@pytest.mark.slow
def test_a_run_is_replayed_by_a_worker(recorded: Evals) -> None:
    """It answers from the cassettes too."""
    code, output = go(recorded, "--eval-llm=replay", "-n1", "-k", "good or bad", env=OTHER)
    assert code == 1, output
    assert verdicts(recorded.summary()) == {"good": "passed", "bad": "failed"}


@pytest.mark.slow
def test_a_page_that_has_changed_is_errored_with_the_first_difference(recorded: Evals) -> None:
    """Not failed: what the model would have done with the new page nobody knows."""
    page = recorded.path / "site/index.html"
    page.write_text(page.read_text().replace("Served at", "Served from"))
    code, output = go(recorded, "--eval-llm=replay", "-k", "good", env=OTHER)
    assert code == 1, output
    assert verdicts(recorded.summary()) == {"good": "errored (replay)"}
    told = metadata(recorded.run_folder(), "good").reason
    assert re.match(
        r"call 1 of the agent was not recorded in cassettes/shop/default/good-1\.jsonl: "
        r"messages\[1\]\.content: "
        r"expected .*Served at.*, got .*Served from.*\. If the change is intended, record again",
        told,
    ), told


@pytest.mark.slow
def test_what_cannot_be_replayed_is_told_before_anything_runs(recorded: Evals) -> None:
    """A row without a cassette, one that was edited; and nothing is written."""
    folder = recorded.path / "cassettes/shop/default"
    (folder / "plain-1.jsonl").unlink()
    text = (folder / "good-1.jsonl").read_text()
    (folder / "good-1.jsonl").write_text(text.replace("right", "wrong"))
    runs = len(list((recorded.path / "results/shop").iterdir()))
    code, output = go(recorded, "--eval-llm=replay", env=OTHER)
    assert code == 4, output
    assert "cassettes/shop/default/plain-1.jsonl: there is no such cassette" in output
    assert re.search(r"cassettes/shop/default/good-1\.jsonl:\d+: the cassette was edited", output)
    assert len(list((recorded.path / "results/shop").iterdir())) == runs


@pytest.mark.slow
def test_auto_records_what_is_missing(recorded: Evals) -> None:
    """With nothing missing it needs no key; with something missing it does."""
    code, output = go(recorded, "--eval-llm=auto", env=OTHER)
    assert code == 1, output
    assert all(metadata(recorded.run_folder(), name).replayed for name in NAMES)
    (recorded.path / "cassettes/shop/default/plain-1.jsonl").unlink()
    code, output = go(recorded, "--eval-llm=auto", env=OTHER)
    assert code == 4, output
    assert "AGENT_KEY" in output
    with ScriptedModel(plays) as server:
        write(recorded, server)
        code, output = go(recorded, "--eval-llm=auto", env=KEYS)
        assert code == 1, output
        assert len(server.requests) == 3
    replayed = {name: metadata(recorded.run_folder(), name).replayed for name in NAMES}
    assert replayed == {"good": True, "bad": True, "plain": False}
    assert "cassettes/shop in 2 of 3 trials, recorded in the others; a replay" in " ".join(output.split())
    assert (recorded.path / "cassettes/shop/default/plain-1.jsonl").exists()


def test_an_agent_whose_models_we_do_not_ask_is_refused(evals: Evals) -> None:
    """Neither recorded nor replayed: it would go to the network all the same."""
    evals.write_rows(row("a"))
    evals.write_config(
        browser="playwright", agent={"type": "command", "command": ["{python}", "-c", "print('right')"]}
    )
    for mode in ("record", "replay", "auto"):
        done = evals.run("shop.eval.yaml", f"--eval-llm={mode}")
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        output = done.stdout.str() + done.stderr.str()
        assert f"--eval-llm={mode} is not possible with this agent: its program asks its models" in output


def test_an_agent_without_models_has_an_empty_cassette(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that one without a cassette is known to be missing."""
    evals.write_rows(row("a"))
    evals.write_rows(row("a"), name="shop.jsonl")
    monkeypatch.setenv("STAGE", "shop")
    evals.write_config(dataset="${STAGE}.jsonl", agent={"type": "scripted"})
    recorded = evals.run("shop.eval.yaml", "--eval-llm=record")
    assert recorded.ret == 0
    # What is written there in clear is said: it is to be committed.
    assert "the value is too short: ${STAGE}" in " ".join(recorded.stdout.str().split())
    replayed = evals.run("shop.eval.yaml", "--eval-llm=replay")
    assert replayed.ret == 0
    assert "not redacted in cassettes" not in replayed.stdout.str()
    assert len((evals.path / "cassettes/shop/default/a-1.jsonl").read_text().splitlines()) == 2


STOCK = """<!doctype html><title>Stock</title><p>?</p>
<button onclick="show('/mugs')">Mugs</button> <button onclick="show('/cups')">Cups</button>
<script>async function show(where) {
  document.querySelector('p').textContent = await (await fetch(where)).text();
}</script>"""


@contextmanager
def stock() -> Iterator[str]:
    """A site of others: it is no site of the config."""

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            page = {"/": STOCK, "/mugs": "3 mugs left", "/cups": "no cup left"}.get(self.path)
            cookie = {"set-cookie": "session=of-the-visitor"}
            self.send(200 if page else 404, "text/html", (page or "").encode(), cookie)

    with serving(Handler) as url:
        yield f"{url}/"


def stock_row(query_id: str, url: str, button: str) -> dict[str, Any]:
    solution = [{"tool": "click", "target": f"text={button}"}, {"tool": "wait_for_text", "text": "left"}]
    check = {"text": "3 mugs left"}
    return row(
        query_id, start_url=url, solution=solution, graders=["page_state"], checks=[check], answer=None
    )


@pytest.mark.slow
def test_pages_of_others_are_replayed(evals: Evals) -> None:
    """Their server is gone; what passed passes, what failed fails, and no cookie is kept."""
    with stock() as url:
        evals.write_rows(stock_row("mugs", url, "Mugs"), stock_row("cups", url, "Cups"))
        evals.write_config(browser="playwright", capture={"har": "auto"}, lanes=2)
        code, output = go(evals, "--eval-llm=record")
        assert code == 1, output
    before = verdicts(evals.summary()), log(evals, "mugs"), log(evals, "cups")
    assert before[0] == {"mugs": "passed", "cups": "failed"}
    folder = evals.path / "cassettes/shop/default"
    assert sorted(path.name for path in folder.glob("*.har")) == ["cups-1.har", "mugs-1.har"]
    assert files_with(folder, "of-the-visitor") == []
    code, output = go(evals, "--eval-llm=replay")
    assert code == 1, output
    assert (verdicts(evals.summary()), log(evals, "mugs"), log(evals, "cups")) == before
    # Without the recordings the site would be asked, which is not there.
    code, output = go(evals)
    assert set(verdicts(evals.summary()).values()) == {"errored (navigation)"}


@pytest.mark.slow
def test_what_a_page_asks_for_and_was_not_recorded_is_a_fault(evals: Evals) -> None:
    """Never a failure: what the server would have answered nobody knows. Damaged recordings are refused."""
    with stock() as url:
        evals.write([stock_row("mugs", url, "Mugs")], browser="playwright", capture={"har": "auto"})
        assert go(evals, "--eval-llm=record")[0] == 0
    evals.write_rows(stock_row("mugs", url, "Cups"))
    code, output = go(evals, "--eval-llm=replay")
    assert code == 1, output
    assert verdicts(evals.summary()) == {"mugs": "errored (replay)"}
    assert f"the page made a request that was not recorded: GET {url}cups" in " ".join(output.split())
    recording = evals.path / "cassettes/shop/default/mugs-1.har"
    whole = recording.read_text()
    for damage, told in (
        (whole.replace("3 mugs", "4 mugs"), "the recording was edited"),
        (whole[: len(whole) // 2], "is not a whole recording of pages"),
        (None, "there is no such recording of pages"),
    ):
        recording.unlink() if damage is None else recording.write_text(damage)
        code, output = go(evals, "--eval-llm=replay")
        assert code == 4, output
        assert f"cassettes/shop/default/mugs-1.har: {told}" in output


def test_a_run_without_the_feature(evals: Evals) -> None:
    """Its calls are live, and a config that wants pages from a recording is an error of usage."""
    result = evals.play([row("a")], "-p", "no:browsereval.replay")
    assert result.ret == pytest.ExitCode.OK
    assert json.loads((result.folder / "manifest.json").read_text())["model_calls"] == "live"
    for har in ("replay", "record", "auto"):
        keys = {"browser": "playwright", "capture": {"har": har}}
        result = evals.play([row("a")], "-p", "no:browsereval.replay", **keys)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert f"'{har}' needs the feature `replay`, which is left out here" in result.stderr.str()
