"""What newcomers write who think of another tool: each message says what was meant, and what to write."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.hooks.launched import FUNCTION, metadata, write_agent
from tests.hooks.small_evals import Evals, row

CHECK = {"graders": ["page_state"], "checks": [{"selector": "#cart", "text": "1"}]}

ROWS: list[tuple[dict[str, Any], str]] = [
    (CHECK, """has a 'selector', but checks use what a person sees. Write {"role": "button", "name":"""),
    ({"start_url": "localhost:3000"}, "has no scheme. Write http://localhost:3000\n"),
    ({"context": {"clock": "2026-03-01"}}, "context.clock cannot be chosen by a row. A row may choose"),
    ({"ready": "in stock"}, 'ready: it is a text. Write `{text: "in stock"}`'),
    ({"prompt": "Buy a mug."}, "rows.jsonl:1: prompt: unknown key. Did you mean 'query'?"),
    ({"scorers": ["match"]}, "Did you mean 'graders'? It already exists: leave 'scorers' out.\n"),
    ({"query": ["Buy a mug.", "Pay."]}, 'Write `"query": "Buy a mug. Pay."`; a row is one task: write'),
    ({"url": "http://u:rosebud@shop.test"}, """'start_url'? Write `"start_url": "http://***@shop"""),
    ({"expected": "pear", "protected": True}, "'answer'? It already exists: leave 'expected' out.\n"),
    ({"graders": ["my_grader:grade"]}, "let my_grader.py end with `attempt = json.load(open(sys.argv[1])); "),
    ({"graders": ["checks/paid.py"]}, '["{python}", "checks/paid.py"]}`, and let checks/paid.py end'),
    ({"graders": [{"type": "llm-rubric", "value": "x"}]}, "Write `{type: llm, prompt: "),
]

LOCAL = "http://localhost:3000"
OPENAI = "provider: openai, model: gpt-4o, api_key: OPENAI_API_KEY}`."
CONFIGS: list[tuple[dict[str, Any], str]] = [
    ({"sites": {"shop": {"url": LOCAL}}}, "already running needs no site. Leave this out, and write"),
    ({"sites": {"shop": {"command": "npm start"}}}, 'no shell reads it. Write the list `["npm", "start"]`.'),
    ({"graders": ["llm"]}, "the grader llm has no prompt. Write one, such as `{type: llm, prompt: "),
    ({"judge": "gpt-4o"}, f"expected a block of keys, not 'gpt-4o'. Write `judge: {{{OPENAI}"),
    ({"gate": 0.8}, "gate: expected a block of keys, not 0.8. Write `gate: {min_pass_rate: 0.8}`."),
    ({"gate": {"min_pass_rate": 80}}, "it is 80. It is a share: write 0.8 for 80 %."),
    ({"limits": {"timeout_ms": 60}}, "It is in milliseconds: write 60000 for 60 s."),
    ({"epochs": 7}, "epochs: unknown key. Did you mean 'trials'? Write `trials: 7`."),
    ({"fail_under": 80}, "Did you mean 'gate'? Write `gate: {min_pass_rate: 0.8}`."),
    ({"base_url": LOCAL}, f"""`"start_url": "{LOCAL}/"` in place of paths such as "/"."""),
    ({"agent": "gpt-4o"}, f"Write `agent: {{type: single, {OPENAI}"),
    ({"agent": "agents/shop.py::solve"}, 'Write `agent: {type: function, function: "agents.shop:solve"}`'),
    (
        {"agent": {"type": "single", "model": "anthropic/claude-sonnet-4-5"}},
        "the provider is a key of its own. Write `provider: anthropic, model: claude-sonnet-4-5`",
    ),
    ({"browser": {"viewport": {"width": 800}}}, "Did you mean 'context'? Write `context: {viewport: "),
    ({"dataset": "https://a.example/rows.jsonl"}, "it first: `curl -O https://a.example/rows.jsonl`."),
    ({"browser": "firefox"}, "evals run in Chromium only. Leave `browser` out."),
]

WITHOUT_AGENT = ("--eval-regrade=latest", "--eval-agent=noop")
OPTIONS: list[tuple[tuple[str, ...], str]] = [
    (("--eval-agent=my_agent:solve",), "`--eval-set 'agent={type: function, function: \"my_agent:solve\"}'`"),
    (("--eval-shard=0/4",), "numbered from 1 on. Write `--eval-shard=1/4` for the first of four, `--eval-sh"),
    (WITHOUT_AGENT, "Leave it out, or make a new run without --eval-regrade."),
]


def test_a_wrong_idea_of_a_row_is_answered(evals: Evals, subtests: pytest.Subtests) -> None:
    """Before anything is spent."""
    evals.write_config(browser="playwright")
    for keys, message in ROWS:
        with subtests.test(keys=keys):
            evals.write_rows(row("a", **keys))
            run = evals.run("shop.eval.yaml")
            assert run.ret == pytest.ExitCode.USAGE_ERROR
            assert message in f"{run.stderr.str()}\n"


def test_a_wrong_idea_of_a_config_is_answered(evals: Evals, subtests: pytest.Subtests) -> None:
    """With file and line; also an id that has another name, and a run that is misspelt."""
    for keys, message in CONFIGS:
        with subtests.test(keys=keys):
            run = evals.play([row("a")], **keys)
            assert run.ret == pytest.ExitCode.USAGE_ERROR
            assert message in run.stderr.str()
    (evals.path / "rows.jsonl").write_text('{"id": "a", "question": "q"}\n')
    evals.write_config()
    assert "the row has no 'query_id'. Did you mean 'id'?" in evals.run("shop.eval.yaml").stderr.str()
    evals.write_rows(row("a"))
    run = evals.run("shop.eval.yaml", "--eval-regrade=lastest")
    assert "there is no run 'lastest'. Did you mean 'latest'?" in run.stderr.str()


PROMPTFOO = """prompts: ["{{query}}"]
providers: ["openai:gpt-4o"]
tests:
  - vars: {password: rosebud, query: What does it cost?}
    assert: [{type: contains, value: "12.50"}]
"""


def test_a_config_of_promptfoo_becomes_one_of_ours(evals: Evals) -> None:
    """From the user's own values, each part with its line; what is there under their names is not missing."""
    (evals.path / "shop.eval.yaml").write_text(PROMPTFOO)
    told = evals.run("shop.eval.yaml").stderr.str().strip().splitlines()
    assert [line.removeprefix("ERROR: ")[:34] for line in told if line] == [
        "shop.eval.yaml:1: prompts: unknown",
        "shop.eval.yaml:2: providers: unkno",
        "shop.eval.yaml:3: tests: unknown k",
    ]
    assert "This is the form of promptfoo" in told[0]
    assert f"Write `agent: {{type: single, {OPENAI}" in told[1]
    first = '"query": "What does it cost?", "start_url": "https://...", "graders": [{"type": "answer"'
    assert "Write `dataset: shop.jsonl`, and each" in told[2]
    assert first in told[2]
    assert "rosebud" not in "".join(told)


def test_what_to_write_is_in_the_notation_of_the_file(evals: Evals, subtests: pytest.Subtests) -> None:
    """A config may be JSON or TOML as well; all keys of a block are listed once."""
    of_json = '{"agent": "noop", "dataset": "x.jsonl", "judge": "gpt-4o"}'
    of_toml = 'agent = "noop"\ndataset = "x.jsonl"\njudge = "gpt-4o"\n'
    of_yaml = "agent: noop\ndataset: x.jsonl\nzzzz: 1\nyyyy: 1\n"
    texts = {
        "a.eval.json": (of_json, '"judge": {"provider": "openai'),
        "a.eval.toml": (of_toml, 'judge = {provider = "openai"'),
        "a.eval.yaml": (of_yaml, "zzzz: unknown key. Allowed: agent,"),
    }
    for name, (text, message) in texts.items():
        with subtests.test(name):
            (evals.path / name).write_text(text)
            told = evals.run(name).stderr.str()
            assert message in told
            assert told.count("Allowed: ") <= 1


def test_a_wrong_idea_of_an_option_is_answered(evals: Evals, subtests: pytest.Subtests) -> None:
    """What is written there can be typed."""
    evals.write([row("a")])
    for options, message in OPTIONS:
        with subtests.test(options=options):
            run = evals.run("shop.eval.yaml", *options)
            assert run.ret == pytest.ExitCode.USAGE_ERROR
            assert message in run.stderr.str()


def test_a_key_in_a_dotenv_is_not_read_and_named(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its value is not shown; a file that does not have the variable is not named."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    hint = "The file .env has it and is not read: run `set -a; . ./.env; set +a` first."
    model = {"type": "single", "provider": "openai", "model": "gpt-4o"}
    for agent in (model, {**model, "api_key": "OPENAI_API_KEY"}, {**model, "api_key": "${OPENAI_API_KEY}"}):
        evals.write([row("a")], agent=agent)
        (evals.path / ".env").write_text("export OPENAI_API_KEY = sk-rosebud\n")
        told = evals.run("shop.eval.yaml").stderr.str()
        assert (hint in told, "rosebud" in told) == (True, False)
        (evals.path / ".env").write_text("OTHER=1\n")
        assert ".env" not in evals.run("shop.eval.yaml").stderr.str()


NEVER = "the agent called list_tabs and never awaited it. Write `await context.tools.call('list_tabs', ...)`."
AGENTS = {
    "await context.tools.call('list_tabs', selector='#a')": 'Write call(\'list_tabs\', {"selector": "#a"})',
    "context.tools.call('list_tabs')": NEVER,
    "await context.tools.call('list_tabs'); context.tools.call('list_tabs')": NEVER,
    "await context.tools.click('#a')": "There is no tool 'click'.",
    "context.page": "has no attribute 'page', at my_agent.py:9. Write `context.window.page`.",
    "context.task.querry": "Did you mean 'query'?",
    "assert 'paid' in ''": "raised AssertionError, at my_agent.py:9. What an agent raises makes the",
    "return True": "returned True; allowed are a string, None and an AgentResult. Return what the agent answ",
    "if await context.tools.list_tabs(): pass": 'Write `await context.tools.call("list_tabs", {})`.',
}
SYNC_AGENTS = {
    "context.window.page.click('#a')": "Only an async function has that. Write `async def`",
    "context.capture.spend(1)": "or use `context.tools.call(...)` and `context.log_assistant(...)`.",
    "context.query": "Write `context.task.query`.",
}


@pytest.mark.filterwarnings("ignore:coroutine 'Toolbox._call' was never awaited")
def test_wrong_code_of_an_agent_is_its_fault(evals: Evals, subtests: pytest.Subtests) -> None:
    """The answer of one that awaits nothing would be graded as if it had acted; to await later is right."""
    evals.write([row("a")], agent=FUNCTION)
    cases = [("async def", *one) for one in AGENTS.items()] + [("def", *one) for one in SYNC_AGENTS.items()]
    for number, (keyword, code, message) in enumerate(cases):
        with subtests.test(code=code):
            # Of another size each time: Python takes a module of the same second and size for the same.
            agent = f"{keyword} solve(context):\n    {code}\n    return 'right'\n{'#' * 20 * number}\n"
            write_agent(evals, agent)
            assert evals.run("shop.eval.yaml").ret == pytest.ExitCode.TESTS_FAILED
            record = metadata(evals.run_folder(), "a")
            assert (record.verdict, record.error_source) == ("errored", "agent")
            assert message in record.reason
    later = "call = context.tools.call('list_tabs')\n    await call\n    return 'right'"
    write_agent(evals, f"async def solve(context):\n    {later}\n")
    assert evals.run("shop.eval.yaml").ret == pytest.ExitCode.OK


def test_arguments_of_fixtures_are_refused_with_what_the_context_has(evals: Evals) -> None:
    """With the line of the function, whose `async` is kept."""
    evals.write([row("a")], agent=FUNCTION)
    write_agent(evals, "async def solve(page, task):\n    return 'right'\n")
    told = evals.run("shop.eval.yaml").stderr.str()
    assert "(my_agent.py:8), which cannot be called with one argument" in told
    assert "Write `async def solve(context):`; `context.task` is the row, `context.tools` has" in told


def test_an_agent_that_found_no_target_at_all_says_so_first(evals: Evals, subtests: pytest.Subtests) -> None:
    """In the block of the row and in the summary; not if one was found, and not of a row that passed."""
    evals.write([row("a")], agent=FUNCTION, browser={"type": "playwright", "action_timeout_ms": 300})
    first = "the agent found none of its"
    click = "    await context.tools.call('click', {'target': '%s'})\n"
    cases = (("wrong", "Add to cart", "Pay now", True), ("wrong", "Add to cart", "html", False))
    for answer, *targets, is_said in (*cases, ("right", "Add to cart", "Pay now", False)):
        with subtests.test(answer=answer, targets=targets):
            code = "".join(click % one for one in targets)
            write_agent(evals, f"async def solve(context):\n{code}    return '{answer}'\n")
            told = evals.run("shop.eval.yaml").stdout.str()
            line = " ".join(told.split())
            assert told.count(f"failed: {first}") == 2 * is_said
            assert (f"{first} 2 targets. Nothing matches Add to cart. For words" in line) == is_said
            assert ("row      rows.jsonl:1" in told) == (answer == "wrong")


def test_an_app_that_is_not_running_is_named(evals: Evals) -> None:
    """On this machine it has to be started by hand, or by the run."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    evals.write([row("a", start_url=f"http://127.0.0.1:{port}/")], browser="playwright")
    assert evals.run("shop.eval.yaml").ret == pytest.ExitCode.TESTS_FAILED
    assert "Nothing listens there. Start the app first" in metadata(evals.run_folder(), "a").reason
