from __future__ import annotations

import asyncio
import dataclasses
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_browsereval.browsers import binary
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, StopRun
from pytest_browsereval.features.shared import browser_install as install
from pytest_browsereval.features.shared.browser_binary import find_binary
from pytest_browsereval.features.shared.browser_install import Machine
from pytest_browsereval.features.shared.process import run_attached
from tests.support import has_ended

DEBIAN = Machine("linux", is_debian=True, is_ubuntu=False, is_root=True)
UBUNTU = Machine("linux", is_debian=True, is_ubuntu=True, is_root=True)
USER = Machine("linux", is_debian=True, is_ubuntu=False, is_root=False)


class Bench:
    """A machine of fakes: an empty PATH but for programs that write down how they were called."""

    def __init__(self, folder: Path, browser: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log"
        self.said: list[str] = []
        self.browser = f'#!/bin/sh\nexec "{browser}" "$@"\n'

    def program(self, name: str, *lines: str) -> Path:
        """Put a program on PATH that logs its arguments and then does the lines."""
        path = self.bin / name
        log = f'echo "{name} $*" >> "{self.log}"'
        path.write_text("\n".join(["#!/bin/sh", log, *lines, ""]))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def brings(self, name: str) -> str:
        """Return the line that puts a browser which starts on PATH."""
        text = shlex.quote(self.browser)
        return f"printf %s {text} > {self.bin}/{name}; /bin/chmod +x {self.bin}/{name}"

    def calls(self) -> list[str]:
        """Return how the programs were called."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def install(self) -> binary.Binary:
        """Run the command under test."""
        return asyncio.run(install.install_browser(self.said.append))


@pytest.fixture(scope="module")
def real_browser() -> Path:
    """The browser of this machine."""
    found = asyncio.run(find_binary())
    if found.path is None:
        pytest.skip("the only browser here is Playwright's own, which has no path to link to")
    return found.path


@pytest.fixture
def bench(real_browser: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Nothing but fakes on PATH, no browser, and a Playwright whose download fails."""
    bench = Bench(tmp_path, real_browser)
    monkeypatch.setenv("PATH", str(bench.bin))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "cache"))
    monkeypatch.delenv(binary.VARIABLE, raising=False)
    monkeypatch.setattr(binary, "_usual_places", lambda _: iter(()))
    python = bench.program("python", "echo no network here", "exit 1")
    monkeypatch.setattr(install, "sys", SimpleNamespace(executable=str(python), platform=sys.platform))
    monkeypatch.setattr(install, "this_machine", lambda: DEBIAN)
    return bench


@pytest.mark.slow
def test_browser_that_is_there_is_kept(bench: Bench) -> None:
    """With a browser that starts nothing is installed, however often it is asked for."""
    browser = bench.bin / "chromium"
    browser.write_text(bench.browser)
    browser.chmod(0o755)
    assert bench.install() == bench.install()
    assert bench.calls() == []


@pytest.mark.slow
def test_download_comes_first(bench: Bench) -> None:
    """Playwright's download is tried before the system's packages are touched."""
    bench.program("python", bench.brings("chromium-headless-shell"))
    bench.program("apt-get", "exit 1")
    assert bench.install().is_headless_shell
    assert bench.calls() == ["python -m playwright install chromium-headless-shell"]


@pytest.mark.slow
def test_packages_of_debian(bench: Bench) -> None:
    """Where the download fails, root gets Debian's headless shell, after one update of the lists."""
    bench.program("apt-get", f'case "$*" in *chromium-headless-shell*) {bench.brings("chromium")};; esac')
    assert bench.install().path == bench.bin / "chromium"
    update, installed = bench.calls()[1:]
    assert update.endswith(" update")
    assert installed.endswith(
        " install -y --no-install-recommends libatomic1 fonts-liberation chromium-headless-shell"
    )


@pytest.mark.slow
def test_full_browser_stands_in_for_the_shell(bench: Bench) -> None:
    """A release without the package of the headless shell gets the full browser; lists may be old."""
    full = f'case "$*" in *" chromium") {bench.brings("chromium")};; *) exit 100;; esac'
    bench.program("apt-get", full)
    assert bench.install().path == bench.bin / "chromium"


@pytest.mark.slow
def test_ubuntu_gets_libraries_only(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Ubuntu no chromium package is installed, for it would be a stub for a snap."""
    monkeypatch.setattr(install, "this_machine", lambda: UBUNTU)
    bench.program("python", f'case "$*" in *install-deps*) {bench.brings("chromium")};; esac')
    bench.program("apt-get")
    assert bench.install().name == "Chromium"
    calls = [call.split() for call in bench.calls()]
    assert [call[3] for call in calls if call[0] == "python"] == ["install", "install-deps", "install"]
    assert [call[-1] for call in calls if call[0] == "apt-get"] == ["update", "libatomic1"]


@pytest.mark.slow
def test_driver_library_is_installed_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a bare Debian root gets libatomic1 with the browser."""
    without_library(bench, monkeypatch, DEBIAN)
    bench.program("apt-get", "exit 100")
    with pytest.raises(Fault, match=r"libatomic\.so\.1") as caught:
        bench.install()
    assert "exit code 100" in str(caught.value)
    assert "  apt-get update && apt-get install -y --no-install-recommends libatomic1" in str(caught.value)
    assert "If you cannot become root" not in str(caught.value)
    tried = [call.split()[-1] for call in bench.calls() if call.startswith("apt-get")]
    assert tried == ["update", "chromium-headless-shell", "update", "chromium"]


def without_library(bench: Bench, monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    """Let Playwright's Node miss its library on a machine."""
    says = "error while loading shared libraries: libatomic.so.1: no"
    node = bench.program("node", f"echo '{says}' >&2", "exit 127")
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(node))
    monkeypatch.setattr(install, "this_machine", lambda: machine)


@pytest.mark.slow
def test_a_user_is_stopped_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is missing too, one line has all of it: library, browser, font, fresh lists."""
    without_library(bench, monkeypatch, USER)
    brings = bench.brings("chromium-headless-shell")
    bench.program("apt-get", f'case "$*" in install*) {brings};; esac')
    with pytest.raises(Fault) as caught:
        bench.install()
    assert caught.value.source is ErrorSource.BROWSER
    assert not any(call.startswith("apt-get") for call in bench.calls())
    message = str(caught.value)
    ways = message.partition("Run one of these")[2]
    (line,) = (line.strip() for line in ways.splitlines() if line.startswith("  "))
    assert line.startswith("sudo apt-get update && sudo apt-get install -y --no-install-recommends ")
    assert {"chromium-headless-shell", "libatomic1", "fonts-liberation"} <= set(line.split())
    assert "If you cannot become root" in message
    bench.program("sudo", 'exec "$@"')
    monkeypatch.delenv("PLAYWRIGHT_NODEJS_PATH")  # the library is there
    subprocess.run(["/bin/sh", "-c", line], check=True)
    assert bench.install().is_headless_shell


def test_a_user_of_ubuntu_is_stopped_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the library comes first, because Playwright's own commands need it."""
    without_library(bench, monkeypatch, dataclasses.replace(UBUNTU, is_root=False))
    with pytest.raises(Fault) as caught:
        bench.install()
    ways = str(caught.value).partition("Run one of these")[2]
    (line,) = (line.strip() for line in ways.splitlines() if line.startswith("  "))
    parts = [part.split() for part in line.split(" && ")]
    assert [part[:2] for part in parts[:2]] == [["sudo", "apt-get"]] * 2
    assert parts[1][-1] == "libatomic1"
    assert [part[-2] for part in parts[2:]] == ["install-deps", "install"]
    assert (parts[2][0], parts[3][0]) == ("sudo", str(bench.bin / "python"))


@pytest.mark.slow
@pytest.mark.parametrize("given", ["nowhere", "python"])
def test_named_browser_is_never_replaced(bench: Bench, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """Where the environment names a browser, none is installed beside it."""
    monkeypatch.setenv(binary.VARIABLE, given)
    with pytest.raises((ConfigError, StopRun), match=binary.VARIABLE):
        bench.install()
    assert not any("install" in call for call in bench.calls())


def test_time_limit_ends_the_whole_command(tmp_path: Path) -> None:
    """A command over its limit is ended with what it started, and reported as not done."""
    pid_file = tmp_path / "pid"
    script = f"sleep 300 & echo $! > {shlex.quote(str(pid_file))}; wait"
    limit_s = 1
    while not pid_file.is_file():  # a busy machine may take long to begin
        assert run_attached(["/bin/sh", "-c", script], limit_s := 2 * limit_s) == (None, "")
    assert has_ended(int(pid_file.read_text()))


def test_ways_of_each_system() -> None:
    """Each system is told commands of its own, which start with this very Python where one is needed."""
    mac = install.describe_ways(Machine("darwin", is_debian=False, is_ubuntu=False, is_root=False))
    assert any("brew install" in line for line in mac)
    ubuntu = install.describe_ways(Machine("linux", is_debian=True, is_ubuntu=True, is_root=False))
    assert f"sudo {shlex.quote(sys.executable)} -m playwright install-deps" in ubuntu[0]
    other = install.describe_ways(Machine("linux", is_debian=False, is_ubuntu=False, is_root=True))
    assert not any("apt-get" in line for line in other)
