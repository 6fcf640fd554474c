from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pytest_browsereval.sites import SiteConfig, Sites
from pytest_browsereval.sites.static import StaticSite


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A site, beside a file that is none of its business."""
    site = tmp_path / "site"
    (site / "sub dir").mkdir(parents=True)
    (site / "index.html").write_text("<h1>grün</h1>", encoding="utf-8")
    (site / "sub dir" / "index.html").write_text("sub")
    (site / "empty").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (site / "out.txt").symlink_to(tmp_path / "secret.txt")
    (site / "out").symlink_to(tmp_path)
    (site / "in.html").symlink_to(site / "index.html")
    return site


@pytest.fixture
def server(folder: Path) -> Iterator[http.client.HTTPConnection]:
    """A connection to the served folder, which is kept from request to request."""
    site = StaticSite(folder)
    asyncio.run(site.start())
    connection = http.client.HTTPConnection(site.url.removeprefix("http://"), timeout=30)
    yield connection
    connection.close()
    asyncio.run(site.close())


def ask(
    connection: http.client.HTTPConnection, target: str, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of an answer; the target is sent as it is."""
    connection.putrequest(method, target, skip_accept_encoding=True)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def test_index_on_a_kept_connection(server: http.client.HTTPConnection) -> None:
    """The folder's index is served over one connection again and again, cacheable, as UTF-8."""
    for _ in range(3):
        status, headers, body = ask(server, "/")
        assert (status, body.decode()) == (200, "<h1>grün</h1>")
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert headers["cache-control"] == "max-age=3600"
        before = server.sock
    assert server.sock is before
    assert server.sock is not None


def test_nothing_outside_and_no_listing(
    server: http.client.HTTPConnection, subtests: pytest.Subtests
) -> None:
    """Traversal, links that leave the folder, listings and strange names are all not found."""
    cases: list[str] = [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/..%5csecret.txt",
        "/sub%20dir/../../secret.txt",
        "//../secret.txt",
        "/out.txt",
        "/out/secret.txt",
        "/out/",
        "/in%00.html",
        "/empty/",
        "/missing",
        "/index.html/",
        "/" + "x" * 5000,
    ]
    for target in cases:
        with subtests.test(target=target):
            status, _, body = ask(server, target)
            assert (status, body) == (404, b"not found\n")


def test_folders_get_their_slash(server: http.client.HTTPConnection) -> None:
    """A folder without its slash is redirected within this host, so that relative links work."""
    status, headers, _ = ask(server, "/sub%20dir")
    assert (status, headers["location"]) == (301, "/sub%20dir/")
    assert ask(server, "/sub%20dir/")[2] == b"sub"
    assert ask(server, "//sub%20dir")[1]["location"] == "/sub%20dir/"


def test_media_types(server: http.client.HTTPConnection, folder: Path, subtests: pytest.Subtests) -> None:
    """Each suffix has the type that a browser insists on, whatever the machine has registered."""
    cases: list[tuple[str, str]] = [
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"),
        ("a.JSON", "application/json; charset=utf-8"),
        ("a.svg", "image/svg+xml; charset=utf-8"),
        ("a.wasm", "application/wasm"),
        ("a.png", "image/png"),
        ("a.woff2", "font/woff2"),
        ("a.unknown", "application/octet-stream"),
    ]
    for name, kind in cases:
        with subtests.test(name=name, kind=kind):
            (folder / name).write_bytes(b"x")
            assert ask(server, f"/{name}")[1]["content-type"] == kind


def test_loopback_only(server: http.client.HTTPConnection) -> None:
    """The server listens on 127.0.0.1 and on no other address."""
    server.connect()
    assert server.sock is not None
    assert server.sock.getpeername()[0] == "127.0.0.1"
    # Asked of this process only: another may listen at the same port of another address.
    ends = [end for end in psutil.Process().net_connections() if end.status == psutil.CONN_LISTEN]
    assert {end.laddr.ip for end in ends if end.laddr.port == server.port} == {"127.0.0.1"}


def test_files_that_are_withheld_are_not_found(folder: Path) -> None:
    """Nor what is in folders of that kind, by any path; a folder around the site withholds nothing of it."""
    (folder / "rows.jsonl").write_text("rows")
    (folder / "rows.html").symlink_to(folder / "rows.jsonl")
    (folder / "results").mkdir()
    (folder / "results" / "run.json").write_text("run")
    names = ("/rows.jsonl", "/rows.html", "/results/run.json", "/sub%20dir/../rows.jsonl")
    for withheld, status in (
        ((folder / "rows.jsonl", folder / "results"), 404),
        ((folder, folder.parent), 200),
    ):
        site = StaticSite(folder, withheld)
        asyncio.run(site.start())
        connection = http.client.HTTPConnection(site.url.removeprefix("http://"), timeout=30)
        assert [ask(connection, name)[0] for name in names] == [status] * 3 + [404]
        assert ask(connection, "/")[0] == 200
        connection.close()
        asyncio.run(site.close())


def test_static_sites_are_shared_and_end(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One server serves all leases, prints nothing, and gives port and thread back at the end."""

    async def course() -> str:
        sites = Sites({"shop": SiteConfig(static=folder)}, folder.parent)
        async with sites.lease(["shop"]) as one, sites.lease(["shop"]) as two:
            assert one == two
            host = one["shop"].removeprefix("http://")
            kept = http.client.HTTPConnection(host, timeout=30)
            await asyncio.to_thread(kept.request, "GET", "/missing")
            kept.getresponse().read()
        await sites.close()
        await sites.close()
        with pytest.raises((http.client.HTTPException, OSError)):
            await asyncio.to_thread(ask, kept, "/")
        kept.close()
        return host

    threads = set(threading.enumerate())
    port = int(asyncio.run(course()).rpartition(":")[2])
    # Asked of this process only: another may have been given the port in the meantime.
    open_here = psutil.Process().net_connections()
    assert port not in {end.laddr.port for end in open_here if end.status == psutil.CONN_LISTEN}
    serving = [thread for thread in set(threading.enumerate()) - threads if "site" in thread.name]
    for thread in serving:  # one that is just ending
        thread.join(60)
    assert not [thread for thread in serving if thread.is_alive()]
    assert capfd.readouterr() == ("", "")
