"""How programs of the command agent end, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from pytest_browsereval.agents.base import AgentEvaluator
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached
from pytest_browsereval.features.programs import player, process
from pytest_browsereval.features.programs.files import redact_folder
from tests.agents.desk import Desk, MakeDesk
from tests.features.programs.outsiders import CdpWindow, agent, assert_gone, cut_off, log, play, run, script
from tests.support import until

# -- how programs end


def test_a_failing_program_is_a_fault(desk: Desk) -> None:
    """The exit code and its last words are told; an answer that it printed does not count."""
    code = """
        import sys
        print('{"type": "answer", "content": "half"}')
        print("Traceback ...", file=sys.stderr)
        print("ValueError: no price", file=sys.stderr)
        sys.exit(3)
        """
    said = r"Traceback \.\.\. \| ValueError: no price"
    told = rf"^the program ended with code 3: {said} \(its output is in agent/\*\.log\)$"
    with pytest.raises(Fault, match=told) as caught:
        run(desk, code)
    assert caught.value.source is ErrorSource.AGENT


STUBBORN = """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pids = [os.getpid()]
    for leaves in (False, True):
        pid = os.fork()
        if not pid:
            if leaves:
                os.setsid()
            time.sleep(300)
        pids.append(pid)
    print(*pids, flush=True)
    {then}
    """
"""Ignores SIGTERM, as do its two children, one of which is in a session of its own."""


def test_a_cancelled_attempt_leaves_nothing_running(desk: Desk) -> None:
    """A program that ignores SIGTERM is killed after the grace, with all that it forked."""
    config = agent(command=script(desk, STUBBORN.format(then="time.sleep(300)")), mcp="off", grace_s=0.2)
    asyncio.run(cut_off(desk, config))
    pids = log(desk).split()
    assert len(pids) == 3
    for pid in pids:
        assert_gone(int(pid))


WAYS_ON = """
    import json, pathlib, signal, time
    signal.signal(signal.SIGTERM, lambda *_: pathlib.Path({file!r}).touch())
    print("ready", flush=True)
    {then}
    while True:
        time.sleep(0.01)
    """
"""Goes on when it is asked to end, in the page for example."""
STEPS = """print('{"type": "step", "tool": "look"}\\n' * 5, flush=True)"""
PAID = """print('{"type": "usage", "input_tokens": 9}', flush=True)"""


@pytest.mark.slow
def test_a_program_that_drives_the_page_does_nothing_after_a_limit(make_desk: MakeDesk) -> None:
    """It is killed at once: a page refuses nothing. One that works by tools is asked to end first."""
    for then, drives, goes_on in (
        ("", True, False),
        (STEPS, True, False),
        (PAID, True, False),
        ("", False, True),
    ):
        desk = make_desk(window=CdpWindow(), max_steps=3, limits={"max_tokens": 5})
        late = desk.folder / "late"
        code = WAYS_ON.format(file=str(late), then=then)
        config = agent(command=script(desk, code), mcp="off", cdp=drives, grace_s=0.5)
        if then:
            with pytest.raises(LimitReached):
                play(desk, config)
        else:
            asyncio.run(cut_off(desk, config))
        assert late.exists() == goes_on, (then, drives)


def test_what_a_program_leaves_behind_ends_with_it(desk: Desk) -> None:
    """Its answer counts, and the processes that it left hold up nothing."""
    then = 'print(\'{"type": "answer", "content": "left"}\')'
    assert run(desk, STUBBORN.format(then=then), grace_s=0.1).final_answer == "left"
    for pid in log(desk).split()[:3]:
        assert_gone(int(pid))


def test_a_flood_is_stopped(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that prints without end is a fault; the beginning and the end of its output are kept."""
    monkeypatch.setattr(process, "OUTPUT_LIMIT_BYTES", 6_000_000)
    code = """
        import sys
        number = 0
        while True:
            number += 1
            print(number, "x" * 1000)
        """
    with pytest.raises(Fault, match="the program printed more than 6000000 bytes"):
        run(desk, code)
    text = log(desk)
    assert text.startswith("1 xxx")
    assert "bytes left out]\n" in text
    assert len(text) < 4_400_000


async def _cancel_while_kept(work: AgentEvaluator, begun: threading.Event, is_free: threading.Event) -> None:
    task = asyncio.ensure_future(work.execute())
    await until(begun.is_set)
    task.cancel()
    await asyncio.sleep(0)
    is_free.set()
    await task


def test_files_are_kept_without_secrets_where_the_time_is_over_meanwhile(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """A program that has ended in time is judged by its answer or its exit code; no secret of it stays."""
    for code, answer in ((0, "12.50"), (3, None)):
        with subtests.test(code=code):
            desk = make_desk()
            begun, is_free = threading.Event(), threading.Event()

            def slowly(*args: Any, begun: Any = begun, is_free: Any = is_free) -> Any:
                begun.set()
                assert is_free.wait(60)
                return redact_folder(*args)

            monkeypatch.setattr(player, "redact_folder", slowly)
            does = f"""
                import os, sys
                open("key.txt", "w").write(os.environ["MY_KEY"])
                print('{{"type": "answer", "content": "12.50"}}')
                sys.exit({code})
                """
            config = agent(command=script(desk, does), mcp="off", env={"MY_KEY": "sk-late-0123456789"})
            desk.limits = {"redact": lambda text: text.replace("sk-late-0123456789", "[redacted]")}
            context = desk.context(config)
            with pytest.raises(asyncio.CancelledError if code == 0 else Fault):
                asyncio.run(_cancel_while_kept(config.build(context), begun, is_free))
            assert context.tools.answer == answer
            assert (desk.folder / "agent/key.txt").read_text() == "[redacted]"
