"""Our own agents pass the suite that is shipped for others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_browsereval.agents.noop import NoopConfig
from pytest_browsereval.agents.scripted import ScriptedConfig
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.conformance.browsers import Kept, keep_browser
from pytest_browsereval.features.conformance.site import ConformanceSite
from pytest_browsereval.features.function_agent.agent import FunctionConfig
from pytest_browsereval.features.orchestrator.agent import OrchestratorExecutorConfig
from pytest_browsereval.features.pointing.computer_use import ComputerUseConfig
from pytest_browsereval.features.pointing.visual_action import VisualActionConfig
from pytest_browsereval.features.programs.agent import CommandAgentConfig
from pytest_browsereval.features.single_agent.agent import SingleConfig
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.testing import AgentConformance, ModelRequest, Reply, ScriptedModel, call, calls, done
from tests.features.pointing.service import Service

CLICK = {"target": "role=button"}


def clicks_then_ends(request: ModelRequest) -> Reply:
    """Play a model that clicks twice, as long as it is let."""
    turns = sum(message["role"] == "assistant" for message in request.messages)
    return calls(call("click", **CLICK)) if turns < 2 else done("clicked")


@pytest.fixture(scope="module")
def browser_of_all() -> Iterator[Kept]:
    with keep_browser() as kept:
        yield kept


class OurConformance(AgentConformance):
    """Eight classes share a browser; it is launched again after the test in which it dies."""

    @pytest.fixture(scope="class")
    @classmethod
    def kept(cls, browser_of_all: Kept) -> Kept:
        return browser_of_all


class TestNoop(OurConformance):
    @pytest.fixture
    def config(self) -> NoopConfig:
        return NoopConfig()


class TestScripted(OurConformance):
    @pytest.fixture
    def config(self) -> ScriptedConfig:
        return ScriptedConfig()

    @pytest.fixture
    def task(self, site: ConformanceSite) -> Task:
        steps = [
            {"tool": "click", **CLICK},
            {"tool": "click", **CLICK},
            {"tool": "done", "answer": "clicked"},
        ]
        row = {"query_id": "c", "query": "Click.", "start_url": f"{site.url}/", "solution": steps}
        return Task.model_validate(row)


class TestFunction(OurConformance):
    @pytest.fixture
    def base_dir(self) -> Path:
        return Path(__file__).parent

    @pytest.fixture(params=["solve", "solve_in_a_thread"])
    def config(self, request: pytest.FixtureRequest) -> FunctionConfig:
        return FunctionConfig(function=f"conforming:{request.param}")


class TestCommand(OurConformance):
    @pytest.fixture
    def config(self) -> CommandAgentConfig:
        outside = Path(__file__).parents[1] / "programs/outside.py"
        return CommandAgentConfig(command=("{python}", str(outside), "clicks"))


class TestSingle(OurConformance):
    @pytest.fixture
    def config(self) -> Iterator[SingleConfig]:
        with ScriptedModel(clicks_then_ends, api_key="sk-conformance-1234") as model:
            yield SingleConfig(model="scripted", base_url=model.base_url, api_key="sk-conformance-1234")


class TestOrchestratorExecutor(OurConformance):
    @pytest.fixture
    def config(self) -> Iterator[OrchestratorExecutorConfig]:
        def play(request: ModelRequest) -> Reply:
            if request.body["model"] == "hand":
                return clicks_then_ends(request)
            is_told = request.messages[-1]["role"] == "tool"
            return done("clicked") if is_told else calls(call("delegate", instruction="Click twice."))

        with ScriptedModel(play, api_key="sk-conformance-1234") as model:
            part = {"base_url": model.base_url, "api_key": "sk-conformance-1234"}
            block = {"orchestrator": {"model": "lead", **part}, "executor": {"model": "hand", **part}}
            yield OrchestratorExecutorConfig.model_validate(block, context={"registry": builtin_registry()})


AT = {"action": "click", "x": 500, "y": 500}


class TestComputerUse(OurConformance):
    @pytest.fixture
    def config(self) -> Iterator[ComputerUseConfig]:
        def points_then_ends(request: ModelRequest) -> Reply:
            turns = sum(message["role"] == "assistant" for message in request.messages)
            return calls(call("computer", **(AT if turns < 2 else {"action": "done", "text": "clicked"})))

        with ScriptedModel(points_then_ends, api_key="sk-conformance-1234") as model:
            yield ComputerUseConfig(model="scripted", base_url=model.base_url, api_key="sk-conformance-1234")


class TestVisualAction(OurConformance):
    @pytest.fixture
    def config(self) -> Iterator[VisualActionConfig]:
        service = Service(lambda request: AT if len(request["history"]) < 2 else {"action": "end"})
        yield VisualActionConfig(url=service.url, api_key="sk-conformance-1234")
        service.close()
