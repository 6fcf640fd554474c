"""Downloads: kept under safe names and within limits, read by the agent, compared by checks."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.downloads import Download, list_downloads
from pytest_browsereval.features.files.downloads import make_safe
from pytest_browsereval.features.files.texts import NoText, count_rows, read_pages
from pytest_browsereval.runs.run import StoredRun
from tests.features.files.conftest import act, play, said
from tests.hooks.small_evals import Evals, row
from tests.support import PageServer

CSV = "name,price\nMug,7.25\nTray,3\n"
CSV_CLICK = {"tool": "click", "target": "text=report"}


def make_pdf(text: str) -> bytes:
    """Return a PDF of one page with a line of text."""
    stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        page,
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        font,
    ]
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(body)
    return (
        body
        + b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (table, start)
    )


@pytest.fixture
def shop(site: PageServer) -> str:
    """Serve a page with files to download."""
    attached = {"Content-Disposition": "attachment; filename=report.csv"}
    site.page("/report", CSV, media_type="text/csv", headers=attached)
    site.page("/bill.pdf", make_pdf("Total 7.25 EUR"), media_type="application/pdf")
    site.page("/zip", b"PK\x03\x04\0\0", headers={"Content-Disposition": "attachment; filename=all.xlsx"})
    links = "".join(f"<a href=/{name} download>{name.partition('.')[0]}</a> " for name in ("report", "zip"))
    return site.page("/page", f"<h1>Shop</h1>{links}<a href=/bill.pdf>bill</a>")


def test_downloads_are_kept_and_read(evals: Evals, shop: str) -> None:
    """Under the name that the result tells; the record counts them, and the index has address and size."""
    pytest.importorskip("pypdf")
    read = {"tool": "read_download", "name": "report.csv"}
    twice = [CSV_CLICK, CSV_CLICK, read, {**read, "name": "report-2.csv"}]
    bill = [{"tool": "click", "target": "text=bill"}, {"tool": "read_download", "name": "bill.pdf"}]
    start = [{"tool": "snapshot"}, {"tool": "read_download", "name": "bill.pdf"}]
    navigate = [{"tool": "navigate", "url": "/bill.pdf"}, {"tool": "read_download", "name": "bill.pdf"}]
    run = play(
        evals,
        act("twice", shop, *twice),
        act("bill", shop, *bill),
        act("start", shop.replace("/page", "/bill.pdf"), *start),
        act("navigate", shop, *navigate),
    )
    assert run.ret == 0
    found = said(run)
    outputs = "\n".join(found["twice"])  # a busy browser reports a download during the next call
    assert outputs.count("Downloaded file name 'report.csv' (27 bytes).") == 1
    assert outputs.count("Downloaded file name 'report.csv' (27 bytes), kept as 'report-2.csv'.") == 1
    assert all(CSV.strip() in output for output in found["twice"][2:4])
    for name in ("bill", "start", "navigate"):
        assert found[name][1] == "Total 7.25 EUR", found[name]
    assert "The start page is a file, which was downloaded: the tab is empty." in found["start"][0]
    assert "Downloaded file name 'bill.pdf'" in found["start"][0]
    attempt = run.attempt("twice")
    assert attempt.download_count == 2
    (folder,) = [one.last.folder for one in StoredRun(run.folder).trials if one.last.query_id == "twice"]
    kept = list_downloads(folder)
    assert [(one.name, one.suggested_name, one.size_bytes) for one in kept] == [
        ("report.csv", "report.csv", 27),
        ("report-2.csv", "report.csv", 27),
    ]
    assert kept[0].url.endswith("/report")
    assert (folder / "downloads" / "report-2.csv").read_text() == CSV


def test_wrong_reads_are_refused(evals: Evals, shop: str) -> None:
    """With what there is."""
    read = {"tool": "read_download", "name": "report.csv"}
    cases: dict[str, tuple[list[dict[str, Any]], str]] = {
        "none": ([read], "Nothing was downloaded yet."),
        "unknown": (
            [CSV_CLICK, {**read, "name": "reprot.csv"}],
            "'reprot.csv' was not downloaded. Did you mean 'report.csv'? Files: report.csv.",
        ),
        "part": ([CSV_CLICK, {**read, "part": 2}], "'report.csv' has 1 part."),
        "binary": (
            [{"tool": "click", "target": "text=zip"}, {**read, "name": "all.xlsx"}],
            "'all.xlsx' cannot be read as text: it is binary data",
        ),
    }
    found = said(play(evals, *(act(name, shop, *calls) for name, (calls, _) in cases.items())))
    for name, (calls, begins) in cases.items():
        assert found[name][len(calls) - 1].startswith(begins), found[name]


def test_what_is_over_a_limit_is_told(evals: Evals, shop: str) -> None:
    """To the agent, in the record, and to the checks, which err then."""
    calls = [CSV_CLICK, CSV_CLICK, {"tool": "click", "target": "text=zip"}]
    run = play(
        evals,
        act("a", shop, *calls, graders=["page_state"], checks=[{"download": "*.csv", "count": 2}]),
        act("b", shop, *calls, graders=["page_state"], checks=[{"download": "*.csv", "contains": "Vase"}]),
        capture={"downloads": {"max_bytes": 40}},
    )
    why = (
        "Downloaded file name 'report.csv' (27 bytes), which is not kept: capture.downloads.max_bytes is 40."
    )
    assert said(run)["a"][1] == f"Clicked text=report. {why}"
    packed = "not searched for secrets, because it is compressed: 'all.xlsx'"
    assert [one.message for one in run.attempt("a").warnings] == [why, packed]
    assert (run.attempt("a").verdict, run.attempt("b").verdict) == ("passed", "errored")
    assert "'report-2.csv' cannot be compared: it was not kept" in run.attempt("b").reason
    (folder,) = [one.last.folder for one in StoredRun(run.folder).trials if one.last.query_id == "a"]
    assert sorted(path.name for path in (folder / "downloads").iterdir()) == ["all.xlsx", "report.csv"]


def test_checks_compare_downloads(evals: Evals, shop: str) -> None:
    """By name, count, text and rows; each with ``not``; also again after the run, from the files."""
    pytest.importorskip("pypdf")
    checks: dict[str, tuple[dict[str, Any], str]] = {
        "there": ({"download": "*.csv"}, ""),
        "text": ({"download": "*.csv", "contains": "Mug,7.25"}, ""),
        "rows": ({"download": "report*.csv", "rows": 2}, ""),
        "pdf": ({"download": "*.pdf", "contains": "Total 7.25"}, ""),
        "regex": ({"download": "*.csv", "regex": "(?m)^Tray,\\d$"}, ""),
        "none": ({"download": "*.docx", "count": 0}, ""),
        "absent": ({"download": "*.docx"}, "no download matches '*.docx'; there is 'report.csv', 'bill.pdf'"),
        "wrong rows": ({"download": "*.csv", "rows": 3}, "it is 2, not 3"),
        "rows of a PDF": ({"download": "*.pdf", "rows": 0}, "a PDF has no rows"),
        "wrong text": ({"download": "*.csv", "contains": "Vase"}, "the text does not contain "),
        "held": ({"download": "*.csv", "contains": "Mug", "not": True}, "it holds, but must not"),
        "none of that name": ({"download": "*.txt", "contains": "Mug", "not": True}, ""),
    }
    calls = [CSV_CLICK, {"tool": "click", "target": "text=bill"}]
    rows = [
        act(name, shop, *calls, graders=["page_state"], checks=[check]) for name, (check, _) in checks.items()
    ]
    for again in (False, True):
        run = evals.run("--eval-regrade=latest") if again else play(evals, *rows)
        for name, (_, reason) in checks.items():
            attempt = run.attempt(name)
            assert (attempt.verdict == "passed") == (not reason), (name, attempt.reason)
            assert reason in attempt.reason, (name, attempt.reason)


def test_wrong_checks_are_refused(evals: Evals) -> None:
    """Before the run, with what to write."""
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"download": ""}, "write a name or a pattern"),
        ({"download": "*.csv", "rows": "12"}, "write how many rows the table has below its header"),
        ({"download": "*.csv", "rows": 1, "contains": "x"}, "Write a check for each."),
        ({"download": "*.csv", "containz": "x"}, "Did you mean 'contains'?"),
    )
    for check, message in cases:
        run = evals.play([row("a", graders=["page_state"], checks=[check])], browser="playwright")
        assert run.ret == 4, check
        assert message in str(run.stdout) + str(run.stderr), check


def test_secrets_are_not_kept(evals: Evals, site: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is kept without them, another file not at all, and no name or address has one."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-tok3n-value")
    for name, body in (("text", b"key=s3cr3t-tok3n-value\n"), ("data", b"\0\1s3cr3t-tok3n-value")):
        named = {"Content-Disposition": f"attachment; filename=s3cr3t-tok3n-value-{name}.bin"}
        site.page(f"/{name}", body, headers=named)
    url = site.page(
        "/page", "<a href='/text?s3cr3t-tok3n-value' download>text</a> <a href=/data download>data</a>"
    )
    calls = [{"tool": "click", "target": "text=text"}, {"tool": "click", "target": "text=data"}]
    run = play(evals, act("a", url, *calls), variables=["SHOP_TOKEN"])
    assert run.ret == 0
    found = said(run)["a"]
    assert found[0].endswith("Downloaded file name '[redacted]-text.bin' (23 bytes).")
    assert "which is not kept: it contains a secret of this run, and is not text." in found[1]
    for path in run.folder.rglob("*"):
        assert not path.is_file() or b"s3cr3t" not in path.read_bytes(), path
        assert "s3cr3t" not in path.name


def test_what_did_not_end_is_not_known(evals: Evals, shop: str, site: PageServer) -> None:
    """The site broke it off, or the attempt ended first: what it could change errs, a warning names it."""
    named = {"Content-Disposition": "attachment; filename=cut.csv"}
    site.page("/cut", CSV, headers={**named, "Content-Length": "1000", "Connection": "close"})
    url = site.page("/broken", "<a href=/cut download>cut</a> <a href=/report download>report</a>")
    cut = {"tool": "click", "target": "text=cut"}
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"download": "*", "not": True}, "errored"),
        ({"download": "*.csv", "count": 1}, "errored"),
        ({"download": "cut.*", "rows": 2, "not": True}, "errored"),
        ({"download": "*.csv", "count": 2}, "failed"),
        ({"download": "*.pdf", "not": True}, "passed"),
    )
    rows = [
        act(str(number), url, cut, graders=["page_state"], checks=[check])
        for number, (check, _) in enumerate(cases)
    ]
    more: dict[str, dict[str, Any]] = {
        "there": {"download": "*.csv"},
        "two": {"download": "*.csv", "count": 2},
    }
    rows += [
        act(name, url, cut, CSV_CLICK, graders=["page_state"], checks=[check]) for name, check in more.items()
    ]
    for again in (False, True):
        run = evals.run("--eval-regrade=latest") if again else play(evals, *rows)
        for number, (check, verdict) in enumerate(cases):
            attempt = run.attempt(str(number))
            assert attempt.verdict == verdict, (check, attempt.reason)
            assert ("'cut.csv' did not end: it was interrupted" in attempt.reason) == (verdict == "errored")
            assert [one.message for one in attempt.warnings] == ["The download of 'cut.csv' was interrupted."]
        assert (run.attempt("there").verdict, run.attempt("two").verdict) == ("passed", "errored")


def test_packed_files_are_named(evals: Evals, site: PageServer) -> None:
    """They are not searched for secrets; and what cannot be read may hold what must not be there."""
    files = {"a.pdf": b"%PDF-1.4 broken", "a.gz": gzip.compress(b"x"), "a.zip": b"PK\x03\x04\0"}
    rows = []
    for name, body in files.items():
        site.page(f"/{name}", body, headers={"Content-Disposition": f"attachment; filename={name}"})
        url = site.page(f"/to-{name}", f"<a href=/{name} download>{name}</a>")
        checks = [{"download": name, "regex": "x", "not": True}]
        click = {"tool": "click", "target": "css=a"}
        rows.append(act(name, url, click, graders=["page_state"], checks=checks))
    run = play(evals, *rows)
    for name in files:
        attempt = run.attempt(name)
        assert [one.message for one in attempt.warnings] == [
            f"not searched for secrets, because it is compressed: {name!r}"
        ]
        assert (attempt.verdict, attempt.error_source) == ("errored", "grader"), attempt.reason


def test_names_of_files_are_safe() -> None:
    """Whatever a page suggests: legal on each system, never a path, and not misleading."""
    cases = {
        "report.csv": "report.csv",
        "../../etc/passwd": "_._etc_passwd",
        "a\\b:c*?.txt": "a_b_c__.txt",
        ".bashrc": "bashrc",
        "CON": "_CON",
        "trailing. . ": "trailing",
        "": "download",
        "Größe (1).csv": "Größe (1).csv",
        "請求書.pdf": "請求書.pdf",
        "invoice\u202efdp.exe": "invoicefdp.exe",
        "a\nb\0.txt": "a_b_.txt",
        "x" * 300 + ".pdf": "x" * 96 + ".pdf",
    }
    for given, safe in cases.items():
        assert make_safe(given) == safe
        assert len(make_safe(given).encode()) <= 100


def test_texts_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Encodings of spreadsheets, tables of several kinds, and what is not text."""
    one, file = Download(name="a.csv"), tmp_path / "downloads" / "a.csv"
    with pytest.raises(NoText, match="it cannot be opened"):
        read_pages(tmp_path, one)
    file.parent.mkdir()
    for data, text in (
        ("ä;b\n".encode("utf-8-sig"), "ä;b\n"),
        ("ä;b\n".encode("utf-16"), "ä;b\n"),
        ("ä;b\n".encode("cp1252"), "ä;b\n"),
        (b"", ""),
    ):
        file.write_bytes(data)
        assert read_pages(tmp_path, one) == [text]
    assert count_rows('a;b\n1;"x\ny"\n\n2;z\n') == 2
    assert count_rows("sep=;\r\na;b\r\n1;2\r\n") == 1
    with pytest.raises(NoText, match="it is JSON"):
        count_rows("[\n1,\n2\n]")
    assert (count_rows("a,b"), count_rows(""), count_rows("a\tb\r\n1\t2\r\n")) == (0, 0, 1)
    pytest.importorskip("pypdf")
    file.write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(NoText, match="it is a PDF that cannot be read"):
        read_pages(tmp_path, one)
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(NoText, match=r"to read these, run `pip install 'pytest-browsereval\[pdf\]'`"):
        read_pages(tmp_path, one)


def test_command_graders_and_graders_of_packages_have_downloads(evals: Evals, shop: str) -> None:
    """The JSON for programs and ``Recorded`` list them."""
    program = (
        "import json, sys; names = [one['name'] for one in json.load(open(sys.argv[1]))['downloads']]; "
        "print(json.dumps({'pass': names == ['report.csv']}))"
    )
    grader = {"type": "command", "command": ["{python}", "-c", program]}
    (evals.path / "conftest.py").write_text(
        "from pytest_browsereval.graders.base import GraderConfig\n"
        "def pytest_browsereval_grade(grader, recorded):\n"
        "    assert [one.size_bytes for one in recorded.downloads] == [27]\n"
    )
    run = play(evals, act("a", shop, CSV_CLICK, graders=[]), graders=[grader])
    assert run.ret == 0, run.attempts
    assert json.loads((run.folder / "summary.json").read_text())["passed"] == 1
