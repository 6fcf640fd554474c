"""Who may ask the dashboard, for what, and what it never gives away."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pytest_browsereval.features.dashboard.server import DashboardServer
from tests.features.dashboard.asking import Asker
from tests.features.dashboard.conftest import Session
from tests.labelled import grade, graded


def test_only_the_page_itself_is_answered(asker: Asker, session: Session) -> None:
    """Without token, by a foreign name or from a foreign page nothing is told, and nothing wanted."""
    session.begin("buy")
    assert asker.ask("0/")[0] == 200
    for token in ("", "x" * 32, asker.token[:-1], asker.token + "x", "%C3%A9"):
        status, body, _ = asker.ask("0/", token=token)
        assert status == 403
        assert b"buy" not in body
        assert asker.token.encode() not in body
    port = asker.host.partition(":")[2]
    for host in ("evil.test", f"evil.test:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.test", ""):
        assert asker.ask("0/", Host=host or "x")[0] == 403
    assert asker.ask("0/", Host=f"localhost:{port}")[0] == 200
    own = {"Content_Type": "application/json", "Origin": f"http://{asker.host}"}
    pause = '{"want": "pause"}'
    for origin in ("http://evil.test", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1:1"):
        assert asker.ask("0/news", Origin=origin)[0] == 403
        assert asker.ask("0/control", pause, **{**own, "Origin": origin})[0] == 403
    assert asker.ask("0/control", pause, Content_Type="application/json")[0] == 415
    assert asker.ask("0/control", pause, **{**own, "Content_Type": "text/plain"})[0] == 415
    assert asker.ask("0/control")[0] == 404
    others = ('{"want": "kill"}', '{"want": "pause", "more": 1}', '{"want": 1}')
    for wrong in ("", "[]", *others):
        assert asker.ask("0/control", wrong, **own)[0] == 400
    assert asker.ask("0/control", " " * 100_000, **own)[0] == 413
    assert not session.state.paused
    assert asker.want("pause") == 200
    assert session.state.paused


def test_every_answer_is_guarded(asker: Asker, session: Session) -> None:
    """No answer may be framed, kept or sniffed; the page's policy names its script."""
    session.begin("buy")
    for path in ("", "0/", "0/attempts/x", "0/nowhere", "9/", "0/control"):
        _, _, headers = asker.ask(path)
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["server"] == "browsereval"
    policy = asker.ask("0/")[2]["content-security-policy"]
    assert "script-src 'sha256-" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy


def test_pictures_come_from_the_run_only(asker: Asker, session: Session, tmp_path: Path) -> None:
    """By the parts of a safe name; no link, no path, no other file, however it is written."""
    session.begin("buy", "trap")
    flying = session.fly("buy")
    flying.picture(1)
    flying.end(graded("buy", grade("state")))
    key = "buy/default/1/attempt-1"
    status, body, headers = asker.ask(f"0/tasks/{key}/screenshots/001.png")
    assert (status, headers["content-type"], body[:4]) == (200, "image/png", b"\x89PNG")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (flying.folder / "screenshots" / "002.png").symlink_to(tmp_path / "secret.png")
    (flying.folder / "screenshots" / "trap.html").write_text("secret")
    outside = tmp_path / "outside" / "default" / "1" / "attempt-1" / "screenshots"
    outside.mkdir(parents=True)
    (outside / "001.png").write_bytes(b"secret")
    (session.store.root / "tasks" / "link").symlink_to(tmp_path / "outside")
    for path in (
        f"{key}/screenshots/002.png",
        f"{key}/screenshots/trap.html",
        f"{key}/screenshots/../metadata.json",
        f"{key}/screenshots/..%2fmetadata.json",
        f"{key}/screenshots/%00001.png",
        "link/default/1/attempt-1/screenshots/001.png",
        "../../secret.png",
        "%2e%2e/default/1/attempt-1/screenshots/001.png",
    ):
        status, body, _ = asker.ask(f"0/tasks/{path}")
        assert status == 404, path
        assert b"secret" not in body
    assert asker.ask(f"0/attempts/{key}")[0] == 200
    for path in ("link/default/1/attempt-1", "..%2f..", f"{key}/..", f"/{key}", "buy/default/1/attempt-x"):
        assert asker.ask(f"0/attempts/{path}")[0] == 404, path


def test_each_of_several_evals_has_its_page(session: Session, tmp_path: Path) -> None:
    """Each names all of them, so that one leads to the other."""
    runs = [session.watched("shop"), Session(tmp_path / "other").watched("bank")]
    with closing(DashboardServer(lambda: runs)) as served:
        live = [Asker.of(served.url).data(run)["live"] for run in (0, 1)]
    assert [(one["runs"], one["own"]) for one in live] == [(["shop", "bank"], 0), (["shop", "bank"], 1)]
