from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.command_site import site as command
from pytest_browsereval.sites import SiteConfig, Sites, check
from tests.support import has_ended, pass_time, until

APP = Path(__file__).with_name("app.py")


def app(*words: str, **options: object) -> SiteConfig:
    """Configure the small site of this folder."""
    arguments = ("{python}", str(APP), "{port}", *words)
    return SiteConfig.model_validate({"command": arguments, **options})


async def get(url: str) -> str:
    """Return the text of an answer."""
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        return (await client.get(url)).text


def ask_once(config: SiteConfig, folder: Path, *, logs: Path | None = None, path: str = "") -> list[str]:
    """Lease a site once; return its address, and the text that it answered with."""

    async def course() -> list[str]:
        sites = Sites({"shop": config}, folder, logs)
        async with sites.lease(["shop"]) as urls:
            text = await get(urls["shop"] + path)
        await sites.close()
        await sites.close()
        return [urls["shop"], text]

    return asyncio.run(course())


def pid_in(text: str) -> int:
    """Return the process that answered."""
    found = re.search(r"pid=(\d+)", text)
    assert found
    return int(found[1])


def leashes() -> list[psutil.Process]:
    """Return the processes of sites that this process holds; other children are other tests' drivers."""
    held = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if "processes.py" in " ".join(child.cmdline()):
                held.append(child)
    return held


def ends(pid: int) -> bool:
    """Wait for the end of a process that may still be ending; false if it goes on."""
    with contextlib.suppress(TimeoutError):
        asyncio.run(until(lambda: has_ended(pid)))
    return has_ended(pid)


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    """No test leaves a process behind. What drivers of other tests have started is below those."""
    before = set(psutil.Process().children())
    yield

    def left() -> list[psutil.Process]:
        mine = set(psutil.Process().children()) - before
        return [child for child in mine if not has_ended(child.pid)]

    with contextlib.suppress(TimeoutError):
        asyncio.run(until(lambda: not left()))
    assert not [child.cmdline() for child in left()]


def test_shared_command_is_started_once(tmp_path: Path) -> None:
    """A command without a reset is started lazily, once, and all leases see the same process."""

    async def course() -> None:
        sites = Sites({"shop": app(), "unused": app("broken")}, tmp_path)

        async def visit() -> int:
            async with sites.lease(["shop"]) as urls:
                assert set(urls) == {"shop"}
                assert re.fullmatch(r"http://127\.0\.0\.1:\d+", urls["shop"])
                return pid_in(await get(f"{urls['shop']}/visit"))

        pids = await asyncio.gather(*(visit() for _ in range(4)))
        assert len(set(pids)) == 1
        await sites.close()
        await until(lambda: has_ended(pids[0]))

    asyncio.run(course())


def test_reset_gives_each_lease_a_fresh_site(tmp_path: Path) -> None:
    """With a reset, leases at once have a process each, and a later one finds the first state again."""

    async def course() -> None:
        sites = Sites({"shop": app(reset="POST /reset")}, tmp_path)
        async with sites.lease(["shop"]) as one, sites.lease(["shop"]) as two:
            first, second = await get(f"{one['shop']}/visit"), await get(f"{two['shop']}/visit")
            assert pid_in(first) != pid_in(second)
            assert "visits=1" in first
            assert "visits=1" in second
        async with sites.lease(["shop"]) as urls:
            third = await get(f"{urls['shop']}/state")
        assert pid_in(third) in {pid_in(first), pid_in(second)}
        assert "visits=0 resets=2" in third
        await sites.close()

    asyncio.run(course())


def lease_once(config: SiteConfig, folder: Path, *, late_after: tuple[str, int] = ("", 0)) -> Fault:
    """Return the fault of a lease; ``late_after`` ends its time once the site has said that so often."""
    said, times = late_after

    async def lease(sites: Sites) -> None:
        async with sites.lease(["shop"]):
            pytest.fail("the lease was to fail")

    async def course() -> None:
        sites = Sites({"shop": config}, folder, folder / "logs")
        leasing = asyncio.ensure_future(lease(sites))
        try:
            if said:
                await until(
                    lambda: sum(log.read_text().count(said) for log in folder.glob("logs/*")) >= times
                )
                pass_time(config.health_timeout_s)
            await leasing
        finally:
            await sites.close()

    with pytest.raises(Fault) as caught:
        asyncio.run(course())
    assert caught.value.source is ErrorSource.SITE
    return caught.value


def test_command_that_ends_at_once(tmp_path: Path) -> None:
    """A command that ends is a fault without waiting: exit code, command, the last lines without colours."""
    message = str(lease_once(app("broken"), tmp_path))
    assert "ended before it answered GET http://127.0.0.1:" in message
    assert "exit code 3" in message
    assert str(APP) in message
    told = [line.strip() for line in message.splitlines()]
    assert told[-1] == "line 29 red"
    assert "line 10" in told
    assert "line 9" not in told


def test_command_that_never_listens(tmp_path: Path) -> None:
    """A command that does not listen is ended after its time, and the message tells where to listen."""
    message = str(lease_once(app("mute", health_timeout_s=600), tmp_path, late_after=("not listening", 1)))
    assert "was not ready within 600 s" in message
    assert "Its process had not ended" in message
    assert "127.0.0.1 at the port in {port} or the variable PORT" in message
    assert message.endswith("not listening")


def test_site_that_stays_ill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A health path that answers 500 and above is no health, and the status is told."""
    monkeypatch.setattr(command, "_ANSWER_S", 10_000.0)  # a question that is under way then is not late
    ill = app("ill", health="/health", health_timeout_s=600)
    message = str(lease_once(ill, tmp_path, late_after=("request /health", 2)))
    assert "/health (status 503)" in message


def test_reset_that_fails(tmp_path: Path) -> None:
    """A refused reset is a fault, and the instance is not used again."""
    message = str(lease_once(app("unresettable", reset="POST /reset"), tmp_path))
    assert "was not reset by POST http://127.0.0.1:" in message
    assert "status 500" in message


@pytest.mark.parametrize("reset", [None, "POST /reset"])
def test_death_during_a_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reset: str | None) -> None:
    """A site that dies while it is leased is a fault with its last words; the next lease gets a new one."""
    monkeypatch.setattr(command, "_ENDING_S", 30.0)  # so long its exit code is waited for

    async def course() -> None:
        sites = Sites({"shop": app(reset=reset)}, tmp_path)

        async def let_it_die() -> None:
            async with sites.lease(["shop"]) as urls:
                with pytest.raises(httpx.HTTPError):
                    await get(f"{urls['shop']}/die")

        with pytest.raises(Fault, match=r"(?s)was lost while it was needed.*exit code 9.*last words"):
            await let_it_die()
        async with sites.lease(["shop"]) as urls:
            assert "visits=0" in await get(urls["shop"])
        await sites.close()

    asyncio.run(course())


def test_port_that_is_snatched_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that finds its port taken is started again on another."""
    claims: list[socket.socket] = []
    claim_port = command._claim_port
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))

        def claim_a_taken_one_first() -> socket.socket:
            claims.append(claim_port() if claims else socket.socket(type=socket.SOCK_DGRAM))
            if len(claims) == 1:
                claims[0].bind(other.getsockname())
            return claims[-1]

        monkeypatch.setattr(command, "_claim_port", claim_a_taken_one_first)
        assert "pid=" in ask_once(app(), tmp_path)[1]
    assert len(claims) == 2


def test_sites_that_start_at_the_same_time_have_ports_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one attempt reads the other's site: a command that finds its port taken may take long to end."""
    number = secrets.choice(command._PORTS)
    monkeypatch.setattr(command, "_PORTS", range(number, number + 1))

    async def ask() -> int:
        async with sites.lease(["shop"]) as urls:
            return pid_in(await get(urls["shop"]))

    async def course() -> None:
        assert len({*await asyncio.gather(ask(), ask())}) == 2
        await sites.close()

    sites = Sites({"shop": app("patient", reset="POST /reset")}, tmp_path)
    asyncio.run(course())


def test_environment_and_folder(tmp_path: Path) -> None:
    """The command sees its variables and PORT, runs in its folder, and its words are never a shell's."""
    (tmp_path / "here").mkdir()
    config = app("$HOME; touch x", "child", env={"SECRET": "s3"}, cwd="here")
    url, _ = ask_once(config, tmp_path, logs=tmp_path)
    (log,) = tmp_path.glob("*.log")
    assert f"words ['$HOME; touch x', 'child'] secret s3 port {url.rpartition(':')[2]}" in log.read_text()
    assert ends(int((tmp_path / "here" / "child.pid").read_text()))


def test_stubborn_site_is_killed(tmp_path: Path) -> None:
    """A site that ignores SIGTERM is killed after the grace, with what it has started."""
    _, text = ask_once(app("stubborn", "child", stop_timeout_s=0.3), tmp_path)
    assert ends(pid_in(text))
    assert ends(int((tmp_path / "child.pid").read_text()))


@pytest.mark.parametrize("words", [(), ("mute",)])
def test_end_of_the_run_during_a_lease(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A site that is closed under its holder, ready or still starting, is a fault for the holder."""

    async def course() -> None:
        sites = Sites({"shop": app(*words)}, tmp_path)
        held = asyncio.Event()

        async def hold() -> None:
            async with sites.lease(["shop"]):
                held.set()
                await until(lambda: sites._is_closed and not leashes())

        task = asyncio.create_task(hold())
        await until(lambda: held.is_set() or (words and leashes()))
        await sites.close()
        with pytest.raises(Fault, match="was closed while it was needed"):
            await task

    asyncio.run(course())


def test_cancelled_start_leaves_nothing(tmp_path: Path) -> None:
    """A lease that is given up while its site starts ends the site, and a later lease starts it anew."""

    async def course() -> None:
        sites = Sites({"shop": app("mute")}, tmp_path)

        async def hold() -> None:
            async with sites.lease(["shop"]):
                pytest.fail("a mute site is never ready")

        task = asyncio.create_task(hold())
        await until(leashes)
        children = leashes()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: has_ended(children[0].pid))
        assert not sites._running
        await sites.close()

    asyncio.run(course())


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["raise KeyError", "os._exit(1)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_nothing_outlives_the_process(tmp_path: Path, ending: str) -> None:
    """However the process dies that holds a site, the site and what it has started die with it."""
    script = tmp_path / "holder.py"
    script.write_text(
        textwrap.dedent(f"""
        import asyncio, os, signal, sys
        from pathlib import Path
        from pytest_browsereval.sites import SiteConfig, Sites

        async def course():
            config = SiteConfig(command=({sys.executable!r}, {str(APP)!r}, "{{port}}", "child"))
            async with Sites({{"shop": config}}, Path.cwd()).lease(["shop"]):
                {ending}

        asyncio.run(course())
        """)
    )
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode in {1, -signal.SIGKILL}, done.stderr.decode()
    for name in ("app.pid", "child.pid"):
        assert ends(int((tmp_path / name).read_text())), name


def test_files_of_an_installed_package(tmp_path: Path) -> None:
    """A static site may lie in an installed package; the folder of the config does not matter."""
    config = SiteConfig(package="pytest_html", static=Path("resources"))
    check({"pages": config}, tmp_path)
    assert "<html" in ask_once(config, tmp_path, path="/index.jinja2")[1]
