"""Secrets of a config in other forms: in base64 that pages send, and in files that programs leave."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hooks.small_evals import Evals, row

SECRET = "sk-of-the-user-only"

PAGE = f"""<!doctype html><title>shop</title><p></p><script>
for (const user of ["u", "us", "user"])
  fetch("/sent.txt?by=" + user, {{headers: {{"X-Way": "Basic " + btoa(user + ":{SECRET}")}}}})
    .then(() => document.querySelector("p").append("sent "));
</script>"""

PROGRAM = """
import base64, gzip, os, sqlite3, zipfile

key = os.environ["USER_KEY"]
with open("wide.txt", "w", encoding="utf-16") as file:
    file.write("key=" + key)
with gzip.open("log.gz", "wt") as file:
    file.write("key=" + key)
with zipfile.ZipFile("files.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("inner.txt", "key=" + key)
    archive.writestr(key + ".txt", "x")
with open("login.txt", "wb") as file:
    file.write(b"Basic " + base64.b64encode(b"user:" + key.encode()))
state = sqlite3.connect("state.sqlite")
with state:
    state.execute("create table logins (key text)")
    state.execute("insert into logins values (?)", (key,))
state.close()
os.makedirs("of-" + key + "/" + key)
open("of-" + key + "/" + key + "/" + key + ".txt", "w").write("plain")
open("of-" + key + "/[redacted].txt", "w").write("taken")
open("of-" + key + "/" + key + ".txt", "w").write("second")
os.symlink("/nowhere/" + key, "link")
print("right")
"""


def forms(text: str) -> list[bytes]:
    """Return a secret as it is, in UTF-16, and the middle of it in base64 at each place."""
    wide = [text.encode("utf-16-le"), text.encode("utf-16-be")]
    coded = [base64.b64encode(b"x" * before + text.encode())[4:-8] for before in range(3)]
    return [text.encode(), *wide, *coded]


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of all files."""
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            yield name, str(path.readlink()).encode()
        elif path.is_file():
            yield name, path.read_bytes()


def leaks(folder: Path) -> list[str]:
    return [
        name
        for name, data in contents(folder)
        if SECRET in name or any(form in data for form in forms(SECRET))
    ]


def test_files_of_a_program_have_no_secret(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """UTF-16, base64 and names; what is not text goes, and a warning names what is packed as not searched."""
    monkeypatch.setenv("USER_KEY", SECRET)
    (evals.path / "work.py").write_text(PROGRAM)
    agent = {"type": "command", "command": ["{python}", "work.py"], "pass_env": ["USER_KEY"]}
    ran = evals.play([row("a")], agent={**agent, "mcp": "off", "answer": "last_line"})
    ran.assert_outcomes(passed=1)
    (folder,) = ran.folder.glob("tasks/a/*/*/*/agent")
    assert leaks(ran.folder) == []
    assert (folder / "wide.txt").read_text("utf-16") == "key=[redacted]"
    assert "[redacted]" in (folder / "login.txt").read_text()
    assert not (folder / "files.zip").exists()  # the name in it is not packed
    assert not (folder / "state.sqlite").exists()
    warned = " ".join(one.message for one in ran.attempt("a").warnings)
    assert all(name in warned for name in ("files.zip", "state.sqlite", "log.gz")), warned
    named = folder / "of-[redacted]"
    assert (named / "[redacted]/[redacted].txt").read_text() == "plain"
    assert {file.read_text() for file in named.glob("*.txt")} == {"taken", "second"}


@pytest.mark.slow
def test_logins_of_a_page_have_no_secret(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name and the key in base64, at each of the three places: not in traffic, trace and console."""
    monkeypatch.setenv("USER_KEY", SECRET)
    (evals.path / "site").mkdir()
    (evals.path / "site/index.html").write_text(PAGE)
    (evals.path / "site/sent.txt").write_text("thanks")
    solution = [{"tool": "wait_for_text", "text": "sent sent sent"}, {"tool": "done", "answer": "right"}]
    ran = evals.play(
        [row("a", start_url="{shop}/", solution=solution)],
        browser="playwright",
        sites={"shop": {"static": "site"}},
        capture={"har": True, "trace": "on", "console": True, "dom": True},
        judge={"model": "m", "base_url": "http://127.0.0.1:9/v1", "api_key": "USER_KEY"},
    )
    ran.assert_outcomes(passed=1)
    assert leaks(ran.folder) == []
    (har,) = ran.folder.rglob("network.har")
    assert har.read_text().count("sent.txt?by=") >= 3
    assert har.read_text().count("[redacted]") >= 3
