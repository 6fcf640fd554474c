from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.async_api import Error

from pytest_browsereval.browsers import binary, machine
from pytest_browsereval.browsers.binary import Candidate, candidates
from pytest_browsereval.browsers.driver import start_driver, stop_driver
from pytest_browsereval.errors import ConfigError, ErrorSource, StopRun
from pytest_browsereval.features.shared.browser_binary import find_binary

SHELL = Candidate(
    "Chromium headless shell", "PATH", Path("/x/chromium-headless-shell"), is_headless_shell=True
)
FULL = Candidate("Chromium", "PATH", Path("/x/chromium"))


def program(path: Path, text: str) -> Path:
    """Write a program that can be executed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture(scope="module")
def real_browser() -> Path:
    """The browser of this machine."""
    found = asyncio.run(find_binary())
    if found.path is None:
        pytest.skip("the only browser here is Playwright's own, which has no path to link to")
    return found.path


@pytest.fixture
def only_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH; the usual places hold nothing, nor does Playwright's cache."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "cache"))
    monkeypatch.delenv(binary.VARIABLE, raising=False)
    monkeypatch.setattr(binary, "_usual_places", lambda _: iter(()))
    return folder


def test_order(only_path: Path) -> None:
    """Headless shells come before full browsers, and Playwright's own before those of the system."""
    for name in ("chromium", "google-chrome", "chromium-headless-shell"):
        program(only_path / name, "#!/bin/sh\n")
    assert [(found.source, found.path.name if found.path else found.channel) for found in candidates()] == [
        ("PATH", "chromium-headless-shell"),
        ("Playwright", "chromium-headless-shell"),
        ("Playwright", "chromium"),
        ("PATH", "google-chrome"),
        ("PATH", "chromium"),
    ]


def test_a_named_browser_is_the_only_candidate(only_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the config, else by the variable; a wrong name never falls back, and a shell shows no window."""
    shell = program(only_path / "my-headless-shell", "#!/bin/sh\n")
    mine = program(only_path / "mine", "#!/bin/sh\n")
    program(only_path / "chromium-headless-shell", "#!/bin/sh\n")
    assert [found.channel for found in candidates(headed=True)] == ["chromium"]
    monkeypatch.setenv(binary.VARIABLE, "my-headless-shell")
    (found,) = candidates()
    assert (found.is_headless_shell, found.path) == (True, shell)
    with pytest.raises(ConfigError, match="cannot show a window"):
        candidates(shell, headed=True)
    monkeypatch.setenv(binary.VARIABLE, "/no/such/chrome")
    assert candidates(mine) == [Candidate("Chromium", "browser.binary", mine)]
    with pytest.raises(ConfigError, match=r"BROWSEREVAL_BROWSER is '/no/such/chrome'.*Allowed.*Run"):
        candidates()


@pytest.mark.slow
def test_broken_candidate_is_passed_over(real_browser: Path, only_path: Path) -> None:
    """A browser that ends at once is skipped, and the next one is used."""
    program(only_path / "chromium-headless-shell", "#!/bin/sh\necho no snap here >&2\nexit 3\n")
    program(only_path / "chromium", f'#!/bin/sh\nexec "{real_browser}" "$@"\n')
    found = asyncio.run(find_binary())
    assert found.path == only_path / "chromium"


@pytest.mark.slow
def test_playwrights_own_is_found_by_launching(
    real_browser: Path, only_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A headless shell in Playwright's cache is used although nothing is on PATH."""
    with pytest.raises(StopRun):
        asyncio.run(find_binary())
    missing = asyncio.run(playwrights_place())
    program(missing, f'#!/bin/sh\nexec "{real_browser}" "$@"\n')
    found = asyncio.run(find_binary())
    assert (found.source, found.path, found.is_headless_shell) == ("Playwright", None, True)


async def playwrights_place() -> Path:
    """Return where Playwright looks for its headless shell."""
    driver = await start_driver()
    try:
        await driver.chromium.launch(channel="chromium-headless-shell")
    except Error as error:
        line = next(line for line in str(error).splitlines() if "Executable doesn't exist at" in line)
        return Path(line.split("doesn't exist at ")[1])
    finally:
        await stop_driver(driver)
    pytest.fail("Playwright's cache was to be empty")


@pytest.mark.slow
def test_nothing_starts(only_path: Path) -> None:
    """Without a browser the message lists what was tried, why not, and what to type."""
    program(only_path / "chromium", "#!/bin/sh\necho chromium: please install the snap >&2\nexit 1\n")
    with pytest.raises(StopRun) as caught:
        asyncio.run(find_binary())
    message = str(caught.value)
    assert caught.value.source is ErrorSource.BROWSER
    assert "Chromium headless shell (Playwright): not installed" in message
    assert f"Chromium (PATH: {only_path / 'chromium'}): chromium: please install the snap" in message
    assert "browsereval install-browser" in message
    assert binary.VARIABLE in message


@pytest.mark.slow
def test_named_browser_that_does_not_start(only_path: Path) -> None:
    """A named browser that ends at once is an error which names the key, not an installation."""
    broken = program(only_path / "mine", "#!/bin/sh\nexit 7\n")
    with pytest.raises(StopRun, match="configured browser does not start") as caught:
        asyncio.run(find_binary(broken))
    assert "exitCode=7" in str(caught.value)
    assert "leave browser.binary out" in str(caught.value)
    assert "install-browser" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not keep this limit")
def test_a_limit_of_memory_is_named(tmp_path: Path) -> None:
    """Neither Node nor a browser starts where it cannot map memory; no installation helps then."""
    code = (
        "import asyncio, resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30));"
        "from pytest_browsereval.features.shared.browser_binary import find_binary;"
        "asyncio.run(find_binary())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    ).stderr
    assert "limited to 4096 MiB. Type `ulimit -v unlimited` first." in said
    assert "install-browser" not in said


@pytest.mark.parametrize("candidate", [SHELL, FULL])
def test_users_features_are_added(candidate: Candidate) -> None:
    """A user's switch of features joins the one list, and his other switches are kept."""
    given = ["--disable-features=Mine,PaintHolding", "--force-dark-mode"]
    switches = binary.launch_arguments(candidate, args=given)
    (switch,) = [text for text in switches if text.startswith("--disable-features=")]
    off = switch.partition("=")[2].split(",")
    assert {"Mine", "PaintHolding", "LensOverlay"} <= set(off)
    assert len(off) == len(set(off))
    assert switches[-1] == "--force-dark-mode"


def test_node_that_is_not_there(tmp_path: Path) -> None:
    """A missing Node leads to a reinstallation of Playwright by this very Python."""
    trouble = asyncio.run(machine.driver_trouble(str(tmp_path / "node")))
    assert trouble is not None
    assert "No such file" in trouble
    assert f"{sys.executable} -m pip install --force-reinstall playwright" in trouble
