"""The dashboard's page in a real browser: what goes on is drawn as it comes, and what is hostile is text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_browsereval.features.dashboard import server as dashboard
from pytest_browsereval.features.dashboard.queue import Trial
from pytest_browsereval.features.dashboard.server import DashboardServer
from pytest_browsereval.model.messages import AssistantMessage, Message, ToolCallMessage, UserMessage, now
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.control import ControlState
from tests.features.dashboard.conftest import Session
from tests.features.shared.viewer.conftest import HOSTILE, SETTLED, Reader, Watch, call, result
from tests.labelled import grade, graded
from tests.recorded import FAILED, PASSED
from tests.support import until


def click(number: int, **params: Any) -> ToolCallMessage:
    return call(number, "click_at", params)


def close_patiently(server: DashboardServer) -> None:
    """Close a server whose page on a busy machine asks less often than each second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dashboard, "ASKED_S", 60.0)
        server.close()


@pytest.mark.slow
def test_a_run_from_its_start_to_its_end(server: DashboardServer, session: Session, watch: Watch) -> None:
    """The queue, an attempt with its picture and messages, its verdict, the figures, and the end."""

    async def work(watcher: Reader) -> None:
        await watcher.open()
        await watcher.sees("#now", "Starting: nothing runs yet.")
        session.begin("buy", "find")
        await watcher.sees("#now", "0 of 2 trials done, 0 in flight, 2 waiting")
        await watcher.sees("#queue li", "find Do find.")
        flying = session.fly("buy")
        await watcher.sees("#lanes .lane .task", "buy")
        await watcher.sees("#lanes .lane.free h3", "lane 2")
        flying.picture(1)
        flying.say(UserMessage(content="Buy it."), click(1, x=3, y=4))
        await watcher.sees("#stream li", "click_at x: 3, y: 4")
        flying.say(result(1, "Clicked.", screenshot=1))
        await watcher.page.wait_for_function(
            "() => document.querySelector('#lanes img')?.naturalWidth === 640"
        )
        await watcher.sees("#lanes .figures", "1 step, $0")
        verdict = grade("state", FAILED)
        flying.end(graded("buy", verdict, cost_usd=0.5, reason="No mug.", started_at=now()))
        session.queue.end_trial("buy")
        await watcher.sees("#stream li", "✗ failed No mug.")
        await watcher.sees("#now", "1 of 2 trials done, 0 in flight, 1 waiting; $0.500 spent")
        await watcher.sees("#rows tr", "No mug.")
        await watcher.sees("#rate", "0 %")
        await watcher.sees("#run-brief", "1 of 2")
        await watcher.sees("#times", "left")
        assert re.fullmatch(r"\S+ s elapsed, about \S+ s left", await watcher.text("#times"))
        session.fly("find").end(graded("find", grade("state", PASSED), cost_usd=0.0))
        session.queue.end_trial("find")
        await watcher.sees("#rate", "50 %")
        await watcher.sees("#kinds button", "passed 1")
        session.queue.end(1)
        close_patiently(server)
        await watcher.sees("#now[data-state=ended]", "The run has ended with exit code 1.")
        assert (await watcher.text("#times")).endswith("s in total")
        assert await watcher.page.locator("#pause").is_disabled()
        assert await watcher.texts("#rows .c-id a") == ["buy", "find"]
        await watcher.page.locator("#rows a", has_text="buy").click()
        await watcher.sees("#detail h3", "Step 1: click_at")
        assert (await watcher.text("#written-at")).endswith("a run #1/index.html")
        watcher.complaints = [text for text in watcher.complaints if "ERR_CONNECTION_REFUSED" not in text]

    watch(f"{server.url}0/", work)


def test_what_one_wants_of_the_run(server: DashboardServer, session: Session, watch: Watch) -> None:
    """Pause, resume, stop: the page shows each once the run folder has it."""
    session.begin("buy", "find")

    async def work(watcher: Reader) -> None:
        page = watcher.page
        await watcher.open()
        await page.get_by_role("button", name="Pause").click()
        await watcher.sees("#now", "Paused: attempts in flight continue, nothing else starts.")
        assert session.state.paused
        await page.get_by_role("button", name="Resume").click()
        await watcher.sees("#now", "Running.")
        assert session.state == ControlState()
        page.once("dialog", lambda dialog: dialog.dismiss())
        await page.get_by_role("button", name="Finish running attempts, then stop").click()
        assert not session.state.stopped
        page.once("dialog", lambda dialog: dialog.accept())
        await page.get_by_role("button", name="Finish running attempts, then stop").click()
        await watcher.sees("#now", "Stopping: attempts in flight are finished, nothing else starts.")
        assert session.state == ControlState(stopped=True)
        session.queue.end_trial("find", "dashboard: the run was stopped there")
        await watcher.sees("#skipped li", "find dashboard: the run was stopped there")

    watch(f"{server.url}0/", work)


@pytest.mark.slow
def test_an_attempt_that_is_open_grows(server: DashboardServer, session: Session, watch: Watch) -> None:
    """Who looks at its last step goes on with it; a page says that nobody answers any more."""
    session.begin("buy")
    flying = session.fly("buy")
    flying.say(UserMessage(content="Buy it."), click(1), result(1, "First."))

    async def work(watcher: Reader) -> None:
        await watcher.open("#/buy/default/1/attempt-1")
        assert await watcher.text("#attempt-verdict") == "… unfinished"
        await watcher.sees("#detail h3", "Step 1: click_at")
        flying.say(click(2), result(2, "Second."))
        await watcher.sees("#detail h3", "Step 2: click_at")
        await watcher.press("Home")
        await watcher.sees("#detail h3", "Prompt")
        flying.say(click(3), result(3, "Third."))
        await watcher.page.wait_for_function("() => document.querySelectorAll('#entries > li').length === 4")
        await watcher.sees("#detail h3", "Prompt")
        flying.end(graded("buy", grade("state", PASSED)))
        await watcher.sees("#attempt-verdict", "✓ passed")
        await watcher.sees("#grades", "state says passed")
        server.close()  # without a word: the run was killed
        await watcher.page.wait_for_selector("#now[data-state=lost]", state="attached", timeout=120_000)
        watcher.complaints = [text for text in watcher.complaints if "net::ERR_" not in text]

    watch(f"{server.url}0/", work)


def test_hostile_text_is_text(server: DashboardServer, session: Session, watch: Watch) -> None:
    """Of rows, tasks, messages, verdicts and reasons: before the page was opened, and after it."""
    trials = {f"n{n}{HOSTILE}": Trial(TrialKey(f"{n}{HOSTILE}", HOSTILE), HOSTILE) for n in range(3)}
    session.queue.begin(trials, processes=0, lanes=1)
    session.queue.end_trial(f"n2{HOSTILE}", HOSTILE)
    first = session.fly(HOSTILE)
    messages: tuple[Message, ...] = (
        UserMessage(content=HOSTILE),
        AssistantMessage(content=HOSTILE),
        call(1, HOSTILE, {HOSTILE: HOSTILE, "__proto__": {"x": 1}}),
        result(1, HOSTILE, is_error=True, screenshot=7, url="javascript:alert(1)"),
    )
    first.say(*messages)

    async def work(watcher: Reader) -> None:
        page = watcher.page
        await watcher.open()
        await watcher.sees("#queue li", "onerror")
        assert await page.locator("#stream li").count() == 1
        assert HOSTILE in await page.locator("#queue li .text").first.text_content()
        second = session.fly(f"late{HOSTILE}")
        for number, message in enumerate(messages, 2):
            second.say(message)
            await until_lines(watcher, number)
        hostile = graded(HOSTILE, grade(HOSTILE, FAILED), query=HOSTILE, reason=HOSTILE, final_answer=HOSTILE)
        first.end(hostile)
        second.end(None)
        await watcher.sees("#stream li", "failed")
        session.queue.end_trial(f"n1{HOSTILE}", HOSTILE)
        await page.wait_for_function("() => document.querySelectorAll('#skipped li').length === 2")
        await page.locator("#rows a", has_text="owned").first.click()
        await page.wait_for_function(SETTLED)
        assert HOSTILE in await page.locator("#query").text_content()
        schemes = ("javascript:", "data:", "//")
        assert [href for href in await watcher.links() if href.startswith(schemes)] == []
        assert await page.locator("body script").count() == 2
        assert await page.locator("img[src=x]").count() == 0
        assert "owned" not in (await page.title()).partition("<")[0]
        assert await page.title() != "owned"
        assert await page.evaluate("({}).x === undefined")
        for width in (400, 1280):
            await page.set_viewport_size({"width": width, "height": 700})
            assert await page.evaluate("document.documentElement.scrollWidth") == width

    watch(f"{server.url}0/", work)


async def until_lines(watcher: Reader, count: int) -> None:
    script = f"() => document.querySelectorAll('#stream li').length === {count}"
    await watcher.page.wait_for_function(script)


def test_what_got_into_the_page_would_not_run(
    server: DashboardServer, session: Session, watch: Watch
) -> None:
    """No script but its own, no markup out of a text, nothing from elsewhere: the browser refuses it."""
    session.begin("buy")

    async def work(watcher: Reader) -> None:
        await watcher.open()
        await watcher.sees("#queue li", "buy")
        refused = await watcher.page.evaluate(
            """() => {
              const refused = [];
              for (const act of [
                () => (document.body.innerHTML = "<p>x</p>"),
                () => document.body.insertAdjacentHTML("beforeend", "<p>x</p>"),
                () => (document.createElement("script").textContent = "document.title = 'owned'"),
              ]) try { act(); refused.push(false); } catch { refused.push(true); }
              document.body.append(document.createElement("img"));
              document.body.lastElementChild.src = "http://x.test/a.png";
              fetch("http://x.test/").catch(() => (document.body.dataset.fetched = "no"));
              return refused;
            }"""
        )
        assert refused == [True, True, True]
        await watcher.page.wait_for_selector("body[data-fetched=no]")
        await until(lambda: len(watcher.complaints) >= 5)
        known = ("Content Security Policy", "'Trusted")
        assert [text for text in watcher.complaints if not any(part in text for part in known)] == []
        watcher.complaints.clear()

    watch(f"{server.url}0/", work)
