"""What a model is told of its tools, and offered turn by turn, as a real server gets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_browsereval.features.single_agent.agent import SingleConfig
from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage
from pytest_browsereval.testing import ScriptedModel, call, calls, done, says
from pytest_browsereval.tools.toolkit import Directive, Policy, Toolkit, Turn
from pytest_browsereval.tools.toolkits import CATALOG, resolve_tools
from tests.agents.desk import PAPER_TOOLS, TOOLS_BY_NAME, MakeDesk, solve

CLICK = call("click", target="button Buy")
SEEING = Toolkit(
    "seeing",
    "Seeing",
    (TOOLS_BY_NAME["snapshot"],),
    policy=(Policy("Look before you act."),),
    absent="You cannot look.",
)
ACTING = Toolkit(
    "acting",
    "Acting",
    (TOOLS_BY_NAME["click"], TOOLS_BY_NAME["wait"]),
    policy=(Policy("Use `wait` seldom.", ("wait",)), Policy("Act once.")),
    absent="You cannot act.",
)
ENDING = Toolkit("ending", "Ending", (TOOLS_BY_NAME["done"],), is_fixed=True)
KITS = (SEEING, ACTING, ENDING)
NAMES = [tool.name for tool in PAPER_TOOLS]


def system_of(model: ScriptedModel) -> str:
    return str(model.requests[0].messages[0]["content"])


# -- the system prompt


def test_the_system_prompt_has_the_policy_of_the_tools_that_are_there(make_desk: MakeDesk) -> None:
    """After what all models are told, then the block's own instructions; what is of one attempt is last."""
    desk = make_desk(kits=KITS, tools=[tool for tool in PAPER_TOOLS if tool.name not in ("snapshot", "wait")])
    with ScriptedModel([done("x")]) as model:
        solve(desk, model, instructions="Answer in German.")
    told = "- Act once.\n\nNot available:\n- You cannot look.\n\nAnswer in German.\n\nWhatever stands"
    assert told in system_of(model)


@pytest.mark.parametrize("sees", [True, False])
def test_our_toolkits_in_the_prompt_of_a_real_config(make_desk: MakeDesk, sees: bool) -> None:  # noqa: FBT001
    """What is switched off, or needs pictures that the model is not shown, is denied and not offered."""
    kits = tuple(CATALOG.values())
    desk = make_desk(kits=kits, tools=resolve_tools({"tabs": False, "snapshot": False}))
    with ScriptedModel([done("x")]) as model:
        solve(desk, model, supports_images=sees)
    system, offered = system_of(model), model.requests[0].tool_names
    assert CATALOG["tabs"].absent in system
    assert CATALOG["navigation"].policy[0].text in system
    for name in ("pointer", "scripting"):
        kit = CATALOG[name]
        is_there = name == "pointer" and sees
        assert (kit.policy[0].text in system, kit.absent in system) == (is_there, not is_there)
        assert set(kit.names) <= set(offered) if is_there else not set(kit.names) & set(offered)
    assert ("screenshot" in offered) is sees


# -- turn by turn


def directing(directive: Callable[[Turn], Directive | None]) -> tuple[Toolkit, ...]:
    """Return toolkits one of which has a directive."""
    return replace(SEEING, directive=directive), ACTING, ENDING


def test_a_toolkits_directive_knows_what_the_last_turn_called(make_desk: MakeDesk) -> None:
    """After a click it wants a look; nothing else is sent, and in other turns nothing at all."""
    turns: list[Turn] = []

    def look_after_acting(turn: Turn) -> Directive | None:
        turns.append(turn)
        return Directive(("snapshot",)) if "click" in turn.called else None

    kit = Toolkit("seeing", "Seeing", SEEING.tools, directive=look_after_acting)
    desk = make_desk(kits=(kit, ACTING, ENDING))
    with ScriptedModel([calls(CLICK, call("snapshot")), calls(call("snapshot")), done("x")]) as model:
        solve(desk, model)
    assert turns == [Turn(1), Turn(2, ("click", "snapshot")), Turn(3, ("snapshot",))]
    assert [request.tool_names for request in model.requests] == [NAMES, ["snapshot", "done"], NAMES]
    assert not any("tool_choice" in request.body for request in model.requests)


def test_a_tool_that_is_not_offered_does_not_run(make_desk: MakeDesk) -> None:
    """The call is refused, recorded and counted; the model reads what there is."""
    look = Directive(("snapshot",))
    desk = make_desk(kits=directing(lambda turn: look if turn.number == 1 else None))
    with ScriptedModel([calls(CLICK), calls(CLICK), done("x")]) as model:
        assert solve(desk, model) == "x"
    assert "click is not offered now. Tools: snapshot, done." in model.requests[1].last_text
    assert desk.window.text == "button Buy\nclicked button Buy"
    assert desk.capture.steps == 2
    log = desk.capture.messages.messages
    assert [m.tool for m in log if isinstance(m, ToolCallMessage)] == ["click", "click", "done"]
    assert [m.is_error for m in log if isinstance(m, ToolResultMessage)] == [True, False, False]


@pytest.mark.parametrize("sends", [True, False])
def test_a_needed_call_is_asked_for_again_once(make_desk: MakeDesk, sends: bool) -> None:  # noqa: FBT001
    """For servers that do not heed ``tool_choice``, or refuse it; a second text is taken as the answer."""
    desk = make_desk(kits=directing(lambda _: Directive(tool_choice="required")))
    with ScriptedModel([says("I think."), calls(CLICK), says("Well."), says("It is done.")]) as model:
        assert solve(desk, model, sends_tool_choice=sends) == "It is done."
        model.assert_finished()
    wanted = "required" if sends else None
    assert [request.body.get("tool_choice") for request in model.requests] == [wanted] * 4
    assert [request.messages[-1]["role"] for request in model.requests] == ["user", "user", "tool", "user"]
    assert all("this turn needs a call" in model.requests[n].last_text for n in (1, 3))


# -- before anything is spent

TOOLS = resolve_tools({"tabs": False})
BY_NAME = {tool.name: tool for tool in TOOLS}
BUILTIN = tuple(CATALOG.values())


def test_vetoes_are_told_before_the_run() -> None:
    """Once for each agent that is not shown pictures; one that is has nothing to tell."""
    config = SingleConfig(base_url="http://127.0.0.1:9/v1", model="m")
    (note,) = config.check_tools(BY_NAME, BUILTIN)
    assert note == "not offered: screenshot, pointer (the model is shown no pictures)"
    assert config.model_copy(update={"supports_images": True}).check_tools(BY_NAME, BUILTIN) == ()
