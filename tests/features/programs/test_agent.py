from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, LimitReached, TerminationReason
from pytest_browsereval.features.programs import files
from pytest_browsereval.features.programs.agent import CommandAgentConfig
from pytest_browsereval.features.programs.player import DELETED, ENDED_EARLY
from pytest_browsereval.features.programs.presets import preset
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.model.results import AgentResult
from tests.agents.desk import Desk, MakeDesk
from tests.features.programs.outsiders import CdpWindow, agent, assert_gone, cut_off, log, play, run, script
from tests.support import pass_time, until

# -- tools by MCP


def test_what_a_program_is_told(desk: Desk) -> None:
    """Placeholders, variables and standard input; braces of the task are not looked at."""
    code = """
        import json, os, sys
        names = [n for n in os.environ if n.startswith("BROWSEREVAL_")]
        told = {"argv": sys.argv[1:], "stdin": sys.stdin.read(), "names": sorted(names)}
        told |= {"mine": os.environ.get("MINE"), "theirs": os.environ.get("THEIRS"), "cwd": os.getcwd()}
        print(json.dumps(told | {"home": os.environ["HOME"]}))
        """
    os.environ["THEIRS"] = "not passed on"
    words = ["{start_url}", "{max_steps}", "{timeout_s}", "{model}", "{output_dir}", "{{model}}", "{mcp_url}"]
    config = agent(
        command=[*script(desk, code), *words],
        model="m-1",
        extra_args=["--more", "{config_dir}/x"],
        model_args=["-m", "{model}"],
        env={"MINE": "{output_dir}/mine"},
        stdin="task",
        prompt="Do: {task} from {start_url}",
    )
    with pytest.raises(Fault, match="the program never asked for the tools of the attempt") as caught:
        play(desk, config, query="Say {model} and {nothing}.")
    assert caught.value.source is ErrorSource.AGENT
    told = json.loads(log(desk))
    folder = told["cwd"]
    assert not Path(folder).exists()
    assert Path(told["home"]).parent == Path(folder).parent
    assert str(desk.base_dir) not in folder
    assert told["argv"][:6] == ["http://shop.test/", "100", "1800", "m-1", folder, "{model}"]
    assert told["argv"][6].startswith("http://127.0.0.1:")
    assert told["argv"][7:] == ["-m", "m-1", "--more", f"{desk.base_dir.absolute()}/x"]
    assert told["stdin"] == "Do: Say {model} and {nothing}. from http://shop.test/"
    names = ("FILES_DIR", "MCP_TOKEN", "MCP_URL", "OUTPUT_DIR")
    assert told["names"] == [f"BROWSEREVAL_{name}" for name in names]
    assert (told["mine"], told["theirs"], told["cwd"]) == (f"{folder}/mine", None, folder)


def test_files_beside_the_config_are_found(desk: Desk) -> None:
    """Although the program runs elsewhere; other words stay as they are."""
    (desk.base_dir / "mine").mkdir()
    (desk.base_dir / "mine/agent.py").write_text("import sys; print(*sys.argv[1:])")
    words = ["mine/agent.py", "mine", "no.py", "mine/agent.py", "--x=mine/agent.py"]
    answer = play(desk, agent(command=["{python}", *words], mcp="off", answer="last_line")).final_answer
    assert answer == f"mine no.py {desk.base_dir.absolute()}/mine/agent.py --x=mine/agent.py"


@pytest.mark.slow
def test_done_comes_before_all_other_answers(desk: Desk) -> None:
    """What the program prints and how it ends after done is told, and changes nothing."""
    code = """
        async def work(client):
            await call(client, "done", answer="by the tool")
            print('{"type": "answer", "content": "printed"}')
            print("no reason", file=sys.stderr)
            sys.exit(3)
        """
    assert run(desk, code, client=True).final_answer == "by the tool"
    assert desk.warned.startswith("the program ended with code ")


@pytest.mark.slow
def test_a_program_that_goes_on_after_done_is_stopped(desk: Desk) -> None:
    """Its calls do nothing any more, and it has only so long to end."""
    code = """
        async def work(client):
            await call(client, "done", answer="yes")
            while True:
                print(await call(client, "click", target="button Buy"), flush=True)
                await asyncio.sleep(0.01)
        """
    config = agent(command=[*script(desk, code, client=True), "{mcp_config}"], linger_s=300)

    async def course() -> AgentResult:
        task = asyncio.ensure_future(config.build(desk.context(config)).execute())
        await until(lambda: (desk.folder / "agent/stdout.log").exists() and log(desk).endswith("\n"))
        pass_time(300)
        return await task

    assert asyncio.run(course()).final_answer == "yes"
    assert desk.window.text == "button Buy"
    assert "the program had not ended 300 s after done, and was stopped" in desk.warned
    assert "tool calls came after the task was over, and were refused" in desk.warned
    assert set(log(desk).splitlines()) == {"The task is over: it was ended already. Call no more tools."}


@pytest.mark.slow
def test_limits_and_faults_of_a_call_end_the_program(make_desk: MakeDesk) -> None:
    """They are what the attempt ends with, whatever the program makes of them."""
    code = """
        async def work(client):
            print(os.getpid(), flush=True)
            for _ in range(100):
                await call(client, "click", target="button Buy")
            await asyncio.sleep(300)
        """
    limited = make_desk(max_steps=3)
    with pytest.raises(LimitReached, match=r"limits\.max_steps is 3; all were used") as caught:
        run(limited, code, client=True)
    assert caught.value.reason is TerminationReason.MAX_STEPS
    assert_gone(int(log(limited).split()[0]))
    dying = make_desk()
    dying.window.dies_at = "button Buy"
    with pytest.raises(Fault, match="the browser died") as died:
        run(dying, code, client=True)
    assert died.value.source is ErrorSource.BROWSER


# -- what programs print


def test_lines_become_messages_usage_and_steps(make_desk: MakeDesk) -> None:
    """The native form: texts, steps with a picture of the window, tokens and money, the answer."""
    desk = make_desk(window=CdpWindow(), screenshots="after")
    code = """
        import json, os
        for line in (
            {"type": "assistant", "content": "I look."},
            {"type": "step", "tool": "click", "params": {"at": [1, 2]}, "result": {"ok": True}},
            {"type": "step", "tool": "type", "result": "no field", "is_error": True},
            {"type": "usage", "input_tokens": 900, "output_tokens": 40, "cost_usd": 0.002},
            {"type": "usage", "input_tokens": 100, "output_tokens": 10, "cost_usd": 0.001},
            {"type": "answer", "content": "12"},
            {"type": "other"},
            [1],
            {"type": "answer", "content": os.environ["BROWSEREVAL_CDP_URL"]},
        ):
            print(json.dumps(line))
        print("{broken")
        """
    assert run(desk, code, cdp=True).final_answer == CdpWindow().cdp_url
    assert desk.said == ["I look."]
    assert desk.called == ["click", "type"]
    results = [m for m in desk.capture.messages.messages if isinstance(m, ToolResultMessage)]
    assert [(m.result, m.is_error, m.screenshot) for m in results] == [
        ({"ok": True}, False, 1),
        ("no field", True, 2),
    ]
    usage = desk.capture.usage
    assert (usage.input_tokens, usage.output_tokens, usage.requests) == (1000, 50, 2)
    assert usage.cost_usd == pytest.approx(0.003)


def test_steps_count_for_programs_that_drive_the_page_only(make_desk: MakeDesk) -> None:
    """Steps by MCP are recorded where they are made; those that are told are held to the limit."""
    code = """
        import json, time
        for _ in range(9):
            print(json.dumps({"type": "step", "tool": "click"}), flush=True)
        print(json.dumps({"type": "answer", "content": "x"}), flush=True)
        """
    desk = make_desk()
    assert run(desk, code).final_answer == "x"
    assert desk.called == []
    driven = make_desk(window=CdpWindow(), max_steps=4)
    with pytest.raises(LimitReached, match=r"limits\.max_steps is 4"):
        run(driven, code + "time.sleep(300)", cdp=True)
    assert driven.called == ["click"] * 4
    silent = make_desk(window=CdpWindow())
    run(silent, """print('{"type": "answer", "content": "12.50"}')""", cdp=True)
    assert silent.warned == "the program answered without a reported step"  # not: nothing was done
    with pytest.raises(Fault, match="this browser gives no address for it"):
        run(make_desk(), code, cdp=True)


def test_tokens_and_money_that_a_program_tells_are_limited(make_desk: MakeDesk) -> None:
    """It is stopped at the limit; what it had answered by then is judged."""
    desk = make_desk(limits={"max_cost_usd": 0.01})
    code = """
        import time
        print('{"type": "answer", "content": "early"}')
        print('{"type": "usage", "input_tokens": 1, "cost_usd": 0.02}', flush=True)
        time.sleep(300)
        """
    config = agent(command=script(desk, code), mcp="off")
    context = desk.context(config)
    with pytest.raises(LimitReached, match=r"limits\.max_cost_usd is 0\.01; 0\.0200 was spent"):
        asyncio.run(config.build(context).execute())
    assert context.tools.answer == "early"


def test_output_is_kept_readable_and_without_secrets(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Binary output is written as escapes; secrets among its variables never are."""
    monkeypatch.setenv("SHOP_TOKEN", "tok-123456")
    code = r"""
        import os, sys
        sys.stdout.buffer.write(b"\x00\xff\x1b[31mred\x07 ok \xe2\x82\xac\n" + bytes(range(128, 256)) + b"\n")
        print(os.environ["SHOP_TOKEN"], os.environ["MY_KEY"], os.environ["BROWSEREVAL_MCP_TOKEN"])
        print("no end of line", end="", file=sys.stderr)
        os.mkdir("sub")
        copy = os.environ["MY_KEY"] + " " + os.environ["BROWSEREVAL_MCP_TOKEN"]
        open("sub/copy.bin", "wb").write(b"\xff\x00" + copy.encode())
        os.link(os.environ["OTHER"], "other")
        os.symlink(os.environ["OTHER"], "link")
        """
    (desk.base_dir / "other").write_text("key-abcdef")
    config = agent(
        command=script(desk, code),
        env={"MY_KEY": "key-abcdef", "OTHER": str((desk.base_dir / "other").resolve())},
        pass_env=["SHOP_TOKEN"],
    )
    assert {"tok-123456", "key-abcdef"} < set(config.secrets())

    def redact(text: str) -> str:
        for secret in config.secrets():
            text = text.replace(secret, "[redacted]")
        return text

    desk.limits = {"redact": redact}
    with pytest.raises(Fault, match="never asked for the tools"):
        play(desk, config)
    first, second, third = log(desk).splitlines()
    assert first == "\\x00\\xff\\x1b[31mred\\x07 ok €"
    assert second.startswith("\\x80\\x81")
    assert third.split()[:2] == ["[redacted]", "[redacted]"]
    assert third.split()[2].startswith("[redacted]")
    assert log(desk, "stderr") == "no end of line\n"
    assert not (desk.folder / "agent/sub/copy.bin").exists()
    assert f"{DELETED}: sub/copy.bin" in desk.warned
    assert (desk.base_dir / "other").read_text() == "key-abcdef"  # its file elsewhere, by two names


def test_files_that_are_too_many_to_be_searched_are_not_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret may be in any of them; the warning names them."""
    monkeypatch.setattr(files, "MOST_FILES", 2)
    code = """
        for name in "abcd":
            open(f"{name}.txt", "w").write("key-abcdef")
        print("right")
        """
    desk.limits = {"redact": lambda text: text.replace("key-abcdef", "[redacted]")}
    play(desk, agent(command=script(desk, code), mcp="off"))
    kept = {path.name: path.read_text() for path in (desk.folder / "agent").glob("*.txt")}
    assert kept == {"a.txt": "[redacted]", "b.txt": "[redacted]"}
    assert f"{DELETED}: c.txt, d.txt" in desk.warned


USAGE = """print('{"type": "usage", "cost_usd": %s}', flush=True)"""


def test_what_a_program_does_not_tell_is_unknown(make_desk: MakeDesk, subtests: pytest.Subtests) -> None:
    """It may have asked models for any money: never $0. One that is cut off may be about to tell more."""
    for lines, cost in (
        ("print('right')", None),
        ("""print('{"type": "usage", "input_tokens": 9}')""", None),
        (USAGE % 0, 0),
        (f"{USAGE % 0.5}; raise SystemExit(3)", 0.5),
        ("raise SystemExit(3)", None),
        (f"import time; {USAGE % 0.5}; print(); time.sleep(300)", 0.5),
        ("import time; print('', flush=True); time.sleep(300)", None),
    ):
        with subtests.test(lines=lines):
            desk = make_desk()
            config = agent(command=script(desk, lines), mcp="off", grace_s=0.2)
            if is_cut := "sleep" in lines:
                asyncio.run(cut_off(desk, config))
            else:
                with suppress(Fault):
                    play(desk, config)
            assert (desk.capture.usage.requests, desk.capture.usage.cost_usd) == (1, cost)
            is_told = ENDED_EARLY in [w.message for w in desk.capture.warnings]
            assert is_told == (is_cut and cost is not None)


ANSWERS: list[tuple[Any, str | None]] = [
    ("last_line", "the end"),
    ("stdout", '{"a": {"b": "inner"}}\n{"a": {}}\n\nthe end'),
    ({"json": "a.b"}, "inner"),
    ({"json": "a.b && type == 'x'"}, None),
    ({"file": "out/answer.txt"}, "from a file"),
    ({"file": "out/link.txt"}, None),
    ("event", None),
]


def test_the_answer_is_where_the_block_says(make_desk: MakeDesk, subtests: pytest.Subtests) -> None:
    """A line, all lines, a value of the last fitting line, or a file; none is told as none."""
    code = """
        import os
        os.mkdir("out")
        open("out/answer.txt", "w").write("from a file\\n")
        os.symlink("/etc/hosts", "out/link.txt")
        print('{"a": {"b": "inner"}}\\n{"a": {}}\\n\\nthe end')
        """
    for rule, answer in ANSWERS:
        with subtests.test(rule=rule):
            desk = make_desk()
            assert run(desk, code, answer=rule).final_answer == answer
            ended = "answered" if answer else "ended without an answer and"
            assert desk.warned == f"the program {ended} without a step in the browser"


# -- blocks


def test_wrong_blocks_are_refused(subtests: pytest.Subtests) -> None:
    """What is unknown, does not fit together or is no list of words is told when the config is read."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, r"neither a command nor a preset"),
        ({"command": ["x", "{taks}"]}, r"placeholder \{taks\}, which is unknown\. Did you mean 'task'\?"),
        ({"command": ["x", "{model}"]}, r"has .model., but nothing fills it in. Write `model: NAME`"),
        ({"command": ["x", "{cdp_url}"]}, r"Write `cdp: true`"),
        ({"command": ["x", "{mcp_config}"], "mcp": "off"}, r"Write `mcp: http`"),
        ({"command": ["x"], "mcp_config": {"content": {"a": ["{x}"]}}}, r"mcp_config\.content has the"),
        ({"preset": "claude"}, r"unknown preset 'claude'\. Did you mean 'claude-code'\?"),
        ({"command": ["x"], "answer": {"json": "a b"}}, r"'a b' is not a JMESPath expression"),
        ({"command": ["x"], "answer": {"file": "../up"}}, r"'\.\./up' is not a path inside"),
        ({"command": ["x"], "answer": "first_line"}, r"last_line"),
    ]
    for block, told in cases:
        with subtests.test(block=block, told=told), pytest.raises(ValidationError, match=told):
            agent(**block)


def test_what_is_missing_is_found_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program, variables that it is to get, a login; each with what to type."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("CODEX_API_KEY", "NOT_SET"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match=r"Run `npm install -g @anthropic-ai/claude-code`"):
        agent(preset="claude-code").preflight(tmp_path)
    with pytest.raises(ConfigError, match=r"runs '.*/my/claude', which does not exist"):
        agent(preset="claude-code", program="my/claude").preflight(tmp_path)
    with pytest.raises(ConfigError, match="passes on NOT_SET, which is not set"):
        agent(command=["{python}"], pass_env=["NOT_SET"]).preflight(tmp_path)
    (tmp_path / "codex").write_text("#!/bin/sh\n")
    (tmp_path / "codex").chmod(0o755)
    with pytest.raises(ConfigError, match="CODEX_API_KEY has to be set"):
        agent(preset="codex").preflight(tmp_path)
    agent(preset="codex", env={"CODEX_API_KEY": "sk-abcdef"}).preflight(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'pytest-browsereval\[mcp\]'"):
        agent(command=["{python}"]).preflight(tmp_path)
    agent(command=["{python}"], mcp="off").preflight(tmp_path)


def test_keys_of_the_block_come_before_the_preset_s() -> None:
    """Options are replaced whole, variables are added to; the label names program and model."""
    assert agent(command=["/usr/bin/env", "x"]).label() == "command env"
    assert agent(preset="codex", model="gpt-5").label() == "command codex gpt-5"
    assert agent(command=["{python}", "agents/mine.py", "x"]).label() == "command mine.py"
    block = agent(preset="codex", env={"A": "b"}, answer="last_line", program="/opt/codex", extra_args=["-x"])
    assert block.env == {**preset("codex").block["env"], "A": "b"}
    assert block.answer == "last_line"
    assert block.mcp_config.format == "toml"
    again = CommandAgentConfig.model_validate(block.model_dump(mode="json"))
    assert again == block
