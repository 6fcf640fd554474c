"""Uploads: each way in which pages ask for a file, and each thing that a model does wrong with it."""

from __future__ import annotations

import pytest

from pytest_browsereval.browsers.binary import candidates
from pytest_browsereval.features.files import tools
from pytest_browsereval.features.files.choosers import ASKS
from tests.features.files.conftest import act, play, said, upload
from tests.hooks.small_evals import Evals, row
from tests.support import PageServer

SHOW = """<p id=out>none</p><script>
const show = (one) => { out.textContent = [...one.files].map((it) => `${it.name}:${it.size}`).join(" "); };
</script>"""
BY_SCRIPT = """const i = document.createElement("input"); i.type = "file"; i.multiple = true;
i.onchange = () => show(i); i.click()"""
PAGE = f"""{SHOW}<input type=file id=f onchange="show(this)">
<input type=file id=many multiple onchange="show(this)">
<label>Photo <input type=file accept="image/*,.gif" style="display:none" onchange="show(this)"></label>
<div id=zone>Drop here<input type=file hidden onchange="show(this)"></div>
<button id=b onclick='{BY_SCRIPT}'>Upload</button>
<input type=file id=off disabled><input type=file id=folder webkitdirectory>
<input type=file id=empties onchange="show(this); value = ''">
<button id=plain>Plain</button>
<form action="/taken" method=post enctype="multipart/form-data">
  <input type=file id=auto name=a onchange="this.form.submit()"></form>
<iframe srcdoc="<input type=file id=inner>"></iframe>
<x-up></x-up><script>customElements.define("x-up", class extends HTMLElement {{
  constructor() {{ super(); this.attachShadow({{mode: "open"}}).innerHTML =
    `<input type=file style="opacity:0;position:absolute"><span>Cloud</span>`;
    this.shadowRoot.querySelector("input").onchange = (event) => show(event.target); }} }});</script>"""
CV, NOTE = "fixtures/cv.pdf", "fixtures/note.txt"


@pytest.fixture
def evals_with_files(evals: Evals) -> Evals:
    (evals.path / "fixtures").mkdir()
    (evals.path / CV).write_bytes(b"%PDF-1.4 cv")
    (evals.path / NOTE).write_bytes(b"hello")
    return evals


def test_pages_get_files_of_the_row_however_they_ask(evals_with_files: Evals, site: PageServer) -> None:
    """By a field, a label, a drop zone, a button whose script makes a field."""
    url, click = site.page("/page", PAGE), {"tool": "click", "target": "#b"}
    both = "cv.pdf:11 note.txt:5"
    cases = {
        "field": ([upload([CV])], "cv.pdf:11"),
        "name alone": ([upload(["cv.pdf"])], "cv.pdf:11"),
        "two": ([upload([CV, NOTE], "#many")], both),
        "label": ([upload([NOTE], "text=Photo")], "note.txt:5"),
        "zone": ([upload([CV], "#zone")], "cv.pdf:11"),
        "button": ([upload([CV, NOTE], "role=button[name=Upload]")], both),
        "shadow tree": ([upload([CV], "text=Cloud")], "cv.pdf:11"),
        "emptied": ([upload([CV], "#empties")], "cv.pdf:11"),
        "clicked before": ([click, upload([CV], "#b")], "cv.pdf:11"),
        "asked before": ([click, upload([CV], None)], "cv.pdf:11"),
    }
    rows = [
        act(name, url, *calls, graders=["page_state"], checks=[{"text": shown}], files=[CV, NOTE])
        for name, (calls, shown) in cases.items()
    ]
    run = play(evals_with_files, *rows)
    assert {
        one.query_id: (str(one.verdict), one.reason) for one in run.attempts if one.verdict != "passed"
    } == {}
    outputs = said(run)
    assert outputs["field"][0] == f"Chose '{CV}' for #f."
    assert outputs["label"][0] == f"Chose '{NOTE}' for text=Photo. It asks for 'image/*,.gif'."
    emptied = "The field is empty again: the page took them, or refused them."
    assert outputs["emptied"][0] == f"Chose '{CV}' for #empties. {emptied}"
    assert outputs["clicked before"][1] == f"Chose '{CV}' for #b."
    assert outputs["asked before"][:2] == [
        f"Clicked #b. {ASKS}",
        f"Chose '{CV}' for the field that the page asks for.",
    ]


DROPS = f"""{SHOW}<style>div {{ width: 200px; height: 30px; background: #eee }}</style>
<div id=zone>Zone</div><div id=low style="margin-top:3000px">Low</div><div id=loses>Loses</div>
<div id=no>No</div><div id=none>None</div><ul><li><button id=in>In</button></ul>
<iframe srcdoc="<p style='margin:9px'>Frame</p><script>document.ondragover = (e) => e.preventDefault();
  document.ondrop = (e) => {{ e.preventDefault();
  parent.document.querySelector('#out').textContent = e.dataTransfer.files[0].name }}</script>"></iframe>
<script>
const over = (e) => {{ e.preventDefault(); e.stopPropagation() }};
const take = (one, drop) => {{ one.ondragover = over; one.ondrop = drop }};
const read = (e) => {{ over(e); const [it] = e.dataTransfer.items, files = [...e.dataTransfer.files];
  if (e.isTrusted) it.webkitGetAsEntry().file((one) => one.text().then(() => show({{files}}))) }};
for (const one of [zone, low]) take(one, read);
take(loses, () => 0);
no.ondragover = (e) => {{ e.preventDefault(); e.dataTransfer.dropEffect = "none" }};
take(document.querySelector("li"), (e) => {{ e.preventDefault(); out.textContent = "lost" }});
document.querySelector("#in").onclick = () => {{ {BY_SCRIPT} }};
</script>"""


def test_files_are_dropped_where_a_page_takes_them_from_outside(
    evals_with_files: Evals, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a person drops them: the page trusts the event. A full Chromium opens no tab with a lost file."""
    monkeypatch.setattr(tools, "CHOOSER_S", 0.1)
    url, both = site.page("/drops", DROPS), "cv.pdf:11 note.txt:5"
    opened = evals_with_files.path / "opened.txt"
    (evals_with_files.path / "conftest.py").write_text(
        "def pytest_browsereval_window_opened(window, task):\n"
        f"    window.context.on('page', lambda _: open({str(opened)!r}, 'a').write(task.query_id + ' '))\n"
    )
    refused = "is not a file field, a click on it made the page ask for no file, and it accepts no drop."
    cases = {
        "zone": ([CV, NOTE], "#zone", both, f"Dropped '{CV}', '{NOTE}' on #zone, which accepts files."),
        "below": ([NOTE], "text=Low", "note.txt:5", f"Dropped '{NOTE}' on text=Low, which accepts files."),
        "frame": ([NOTE], "iframe >>> text=Frame", "note.txt", "Dropped"),
        "button in a zone": ([NOTE], "#in", "note.txt:5", f"Chose '{NOTE}' for #in."),
        "lost": (
            [NOTE],
            "#loses",
            "none",
            "The page let files be dragged there, but it did not take the drop.",
        ),
        "refused": ([NOTE], "#no", "none", f"#no {refused}"),
        "nothing": ([NOTE], "#none", "none", f"#none {refused}"),
    }
    rows = [
        act(
            name,
            url,
            upload(files, target),
            {"tool": "list_tabs"},
            graders=["page_state"],
            checks=[{"js": "document.querySelector('#out').textContent", "equals": shown}],
            files=[CV, NOTE],
        )
        for name, (files, target, shown, _) in cases.items()
    ]
    full = next((str(one.path) for one in candidates() if one.path and not one.is_headless_shell), None)
    run = play(evals_with_files, *rows, browser={"type": "playwright", "binary": full})
    assert {one.query_id: one.reason for one in run.attempts if one.verdict != "passed"} == {}
    for name, (call, *_) in said(run).items():
        assert call.startswith(cases[name][3]), (name, call)
    assert not opened.exists(), opened.read_text()


def test_calls_on_a_field_for_files_say_what_to_call(evals_with_files: Evals, site: PageServer) -> None:
    """None says ok and nothing more."""
    url = site.page("/page", PAGE)
    cases = {
        "click": ({"tool": "click", "target": "#f"}, f"Clicked #f. {ASKS}"),
        "script": ({"tool": "click", "target": "#b"}, f"Clicked #b. {ASKS}"),
        "frame": ({"tool": "click", "target": "iframe >>> #inner"}, f"Clicked iframe >>> #inner. {ASKS}"),
        "key": ({"tool": "press_key", "key": "Enter", "target": "#b"}, f"Pressed Enter in #b. {ASKS}"),
        "fill": ({"tool": "fill", "target": "#f", "text": "x"}, "#f takes a file. Call upload_file."),
    }
    run = play(evals_with_files, *(act(name, url, call, files=[CV]) for name, (call, _) in cases.items()))
    assert {name: outputs[0] for name, outputs in said(run).items()} == {
        n: text for n, (_, text) in cases.items()
    }


def test_wrong_uploads_are_refused_with_what_to_write(
    evals_with_files: Evals, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result tells the nearest name and what there is."""
    monkeypatch.setattr(tools, "CHOOSER_S", 0.1)
    url = site.page("/page", PAGE)
    files = f"Files: {CV}, {NOTE}."
    cases = {
        "unknown": (
            upload(["cv.pfd"]),
            f"'cv.pfd' is not a file of this task. Did you mean 'cv.pdf'? {files}",
        ),
        "outside": (upload(["/etc/passwd"]), f"'/etc/passwd' is not a file of this task. {files}"),
        "no field": (
            upload([CV], "#plain"),
            "#plain is not a file field, a click on it made the page ask for no file, and it",
        ),
        "several": (upload([CV, NOTE]), "#f takes one file, not 2. Name one."),
        "off": (upload([CV], "#off"), "#off is disabled."),
        "folder": (upload([CV], "#folder"), "#folder takes a whole folder, which cannot be uploaded."),
    }
    left = [{"tool": "click", "target": "#b"}, {"tool": "reload"}, upload([CV], None)]
    run = play(
        evals_with_files,
        *(act(name, url, call, files=[CV, NOTE]) for name, (call, _) in cases.items()),
        act("none", url, upload([CV])),
        act("left", url, *left, files=[CV]),
        browser={"type": "playwright", "action_timeout_ms": 1000},
    )
    outputs = said(run)
    for name, (_, begins) in cases.items():
        assert outputs[name][0].startswith(begins), outputs[name]
    assert outputs["left"][2].startswith("The page asks for no file now.")
    assert outputs["none"][0] == "This task has no files to upload."


def test_files_of_rows_are_checked_before_the_run(evals_with_files: Evals) -> None:
    """With file and line: a row never gets what is outside of its folder, hidden, or not there."""
    path = evals_with_files.path
    (path / "link.pdf").symlink_to("/etc/passwd")
    (path / ".env").write_text("KEY=1")
    cases = {
        "../x": "'../x' is not a path inside the folder of the dataset.",
        "/etc/passwd": "'/etc/passwd' is not a path inside the folder of the dataset.",
        "link.pdf": "'link.pdf' is a link that leads out of the dataset's folder. Put a copy there.",
        ".env": "'.env' is hidden ('.env'), and rows may not use hidden files. Rename it.",
        "fixtures": "'fixtures' is a folder, not a file",
        "fixtures/cv.pfd": "Did you mean 'fixtures/cv.pdf'?",
    }
    rows = [row(f"row-{n}", files=[name]) for n, name in enumerate(cases)]
    for number, (one, message) in enumerate(zip(rows, cases.values(), strict=True)):
        run = evals_with_files.play([row("good", files=[CV]), one])
        assert run.ret == 4, number
        assert "rows.jsonl:2: files: " in str(run.stdout) + str(run.stderr)
        assert message in str(run.stdout) + str(run.stderr)


def test_an_edited_file_is_another_task(evals_with_files: Evals) -> None:
    """A resumed run refuses, and makes the attempt again if it may."""
    first = evals_with_files.play([row("one", files=[CV]), row("two", files=[NOTE])])
    (evals_with_files.path / CV).write_bytes(b"another one")
    refused = evals_with_files.run("--eval-resume=latest")
    assert refused.ret == 4
    assert "rows were edited: one" in str(refused.stderr)
    run = evals_with_files.run("--eval-resume=latest", "--eval-resume-anyway")
    hashes = {one.query_id: one.row_hash for one in first.attempts}
    assert [one.query_id for one in run.attempts if one.row_hash != hashes[one.query_id]] == ["one"]


def test_functions_have_files(evals_with_files: Evals) -> None:
    """By the names of the row, whether they are async or not."""
    (evals_with_files.path / "mine.py").write_text(
        "def answer(context):\n    return context.files['fixtures/note.txt'].read_text()\n"
        "async def answer_soon(context):\n    return answer(context)\n"
    )
    agents = {name: {"type": "function", "function": f"mine:{name}"} for name in ("answer", "answer_soon")}
    evals_with_files.write([row("a", says=None, files=[NOTE], answer="hello")], variants=agents)
    assert evals_with_files.run().ret == 0


def test_an_agent_without_the_tool_is_noted(evals_with_files: Evals) -> None:
    """Before the run: it could not do what the row asks for."""
    for switches, is_noted in ({"upload_file": False}, True), ({}, False):
        run = evals_with_files.play([row("cv", files=[CV])], tools=switches, browser="playwright")
        note = "the agent 'default' has no tool `upload_file`, and rows bring files: cv"
        assert any(note in line for line in run.outlines) == is_noted


def test_a_file_that_changes_under_way_errs_the_row(evals_with_files: Evals, site: PageServer) -> None:
    """It would be an attempt at another task than the record says."""
    url = site.page("/page", PAGE)
    (evals_with_files.path / "conftest.py").write_text(
        "def pytest_browsereval_window_opened(window, task):\n"
        f"    open({str(evals_with_files.path / CV)!r}, 'w').write('another one')\n"
    )
    (one,) = play(evals_with_files, act("cv", url, upload([CV]), files=[CV])).attempts
    assert (one.verdict, one.error_source) == ("errored", "harness")
    assert one.reason == f"the file '{CV}' of the row was changed during the run"
