"""The ``command`` agent: any program that plays an attempt from outside, by MCP or by CDP."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.programs.mcp_file import IN_FILE, McpFile, check_placeholders, names_in
from pytest_browsereval.features.programs.output import AnswerRule, EventRules, UsageRule
from pytest_browsereval.features.programs.player import ProgramPlayer
from pytest_browsereval.features.programs.presets import preset, read_version
from pytest_browsereval.features.programs.process import environment
from pytest_browsereval.features.programs.server import TOKEN_PREFIX
from pytest_browsereval.needs import Needs
from pytest_browsereval.redaction.names import secret_values
from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.toolkit import Toolkit
from pytest_browsereval.tools.toolkits import veto_note, vetoes

IN_PROMPTS = ("task", "start_url", "max_steps", "timeout_s", "files_dir")
IN_COMMANDS = (
    *("task", "mcp_config", "mcp_url", "cdp_url", "output_dir", "model", "max_steps", "timeout_s"),
    *("start_url", "python", "config_dir", "files_dir"),
)


class CommandAgentConfig(AgentConfig):
    """A program, started for each attempt with the task; it ends when the task is done.

    Its answer is what it calls the tool ``done`` with, else what ``answer`` finds. It runs in a folder and a
    home of the attempt's own; the attempt's folder ``agent`` keeps its output and what it leaves there. The
    processes that it starts end with it, on Linux those in sessions of their own too; what another service
    starts for it, such as a container engine, does not.
    """

    type: Literal["command"] = "command"
    preset: str | None = None
    """``claude-code``, ``codex``, ``gemini``, ``opencode`` or ``qwen-code``; keys of the block override
    those of the preset."""
    command: tuple[str, ...] = ()
    """Program and arguments, never a shell line. A word such as ``my_agent.py`` that names a file with an
    ending, relative to the config, is that file. Placeholders: ``{task}`` (the prompt), ``{mcp_config}``
    (the file), ``{mcp_url}``, ``{cdp_url}``, ``{output_dir}``, ``{model}``, ``{max_steps}``,
    ``{timeout_s}``, ``{start_url}``, ``{python}`` (the Python that runs pytest), ``{config_dir}`` (the
    folder of the eval config), ``{files_dir}`` (copies of the row's ``files``)."""
    program: str | None = None
    """Replaces the first word of the command: where the program of a preset is."""
    extra_args: tuple[str, ...] = ()
    """Added to the command."""
    model: str | None = Field(default=None, min_length=1)
    """Which model the program uses; goes where the command says ``{model}``."""
    model_args: tuple[str, ...] = ()
    """Added to the command where there is a model."""
    prompt: str | None = None
    """What the program reads, with ``{task}``, ``{start_url}``, ``{max_steps}``, ``{timeout_s}``."""
    stdin: Literal["none", "task"] = "none"
    """What its standard input is: nothing, or the prompt."""
    mcp: Literal["http", "off"] = "http"
    """How it gets the attempt's tools: over HTTP, or not at all."""
    mcp_config: McpFile = McpFile()
    """The file that tells it where they are."""
    cdp: bool = False
    """True: it drives the browser itself, at ``{cdp_url}``; its steps are read from its output."""
    env: dict[str, str] = Field(default_factory=dict)
    """Its variables, in addition to a few that every program needs; secrets among them are redacted."""
    pass_env: tuple[str, ...] = ()
    """Names of variables of ours that it gets, ``HOME`` for example; each has to be set."""
    answer: AnswerRule = "event"
    """Where its answer is if it did not call ``done``: ``event`` (a line ``{"type": "answer", "content":
    ...}``), ``last_line``, ``stdout``, ``{file: NAME}`` or ``{json: EXPRESSION}``."""
    events: EventRules = EventRules()
    """Which lines of its output are messages."""
    usage: UsageRule = UsageRule()
    """Which lines of its output report tokens and money."""
    grace_s: float = Field(default=2.0, ge=0, le=2.5)
    """The time between asking it to end and killing it; none with ``cdp: true``."""
    linger_s: float = Field(default=30.0, ge=0, le=600)
    """How long it may go on after ``done``, to report its usage, for example."""
    _version_note: str = PrivateAttr(default="")

    # -- the block

    @model_validator(mode="before")
    @classmethod
    def _take_preset(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        name, env = value.get("preset"), value.get("env", {})
        if not isinstance(name, str):
            return value
        # Here and not in `build`: the block is checked and recorded with what the preset adds.
        base = preset(name).block
        return {**base, **value, "env": {**base.get("env", {}), **env} if isinstance(env, Mapping) else env}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.command or not self._words()[0]:
            raise ValueError(
                "there is neither a command nor a preset. Write `command: [PROGRAM, ARGUMENT, ...]` or "
                "`preset: claude-code`."
            )
        words, env = self._words(), [*self.env.values()]
        check_placeholders(words, IN_COMMANDS, "command")
        check_placeholders(env, IN_COMMANDS, "env")
        check_placeholders(self.prompt, IN_PROMPTS, "prompt")
        check_placeholders(self.mcp_config.content, IN_FILE, "mcp_config.content")
        used = {*names_in(words), *names_in(env)}
        for name, has, key in (
            ("model", self.model is not None, "model: NAME"),
            ("cdp_url", self.cdp, "cdp: true"),
            ("mcp_url", self.mcp != "off", "mcp: http"),
            ("mcp_config", self.mcp != "off", "mcp: http"),
        ):
            if name in used and not has:
                raise ValueError(f"the command has {{{name}}}, but nothing fills it in. Write `{key}`.")
        return self

    def needs(self) -> Needs:
        """Return how its program reaches the browser; the program asks its models by itself."""
        return Needs(
            cdp=self.cdp,
            tools=self.mcp != "off" and not self.cdp,
            unrecorded="its program asks its models itself",
        )

    def passed(self) -> tuple[str, ...]:
        """Return the names of variables of ours that the program gets where they are set."""
        return (*self.pass_env, *(preset(self.preset).passes if self.preset else ()))

    def secrets(self) -> tuple[str, ...]:
        """Return the secrets among its variables, and what the tokens of all attempts begin with."""
        passed = {name: os.environ.get(name, "") for name in self.passed()}
        return (*secret_values({**passed, **self.env}), TOKEN_PREFIX)

    def check_tools(self, tools: Mapping[str, Tool], kits: Sequence[Toolkit]) -> tuple[str, ...]:
        """Tell which tools the program is not offered, and if its preset was tried with another version."""
        note = "" if self.mcp == "off" else veto_note(vetoes(kits, tools), kits, tools)
        return tuple(filter(None, (note, self._version_note)))

    def label(self) -> str:
        """Return type, program and model."""
        words = self._words()
        first = words[1] if words[0] == "{python}" and len(words) > 1 else words[0]
        name = self.preset or Path(first).name
        return " ".join(filter(None, (self.type, name, self.model)))

    # -- before anything is spent

    def preflight(self, base_dir: Path) -> None:
        """Check that the program, the variables it needs and the MCP package are there.

        Raises:
            ConfigError: with what to install or to type.
        """
        own = preset(self.preset) if self.preset else None
        unset = [name for name in self.pass_env if name not in os.environ]
        if unset:
            raise ConfigError(
                f"the agent {self.label()!r} passes on {', '.join(unset)}, which is not set. "
                "Set it, or leave it out of pass_env."
            )
        env = environment(self.passed(), self.env)
        program = self._program(base_dir)
        # By the PATH that the program gets, which the block may have changed.
        if (path := shutil.which(program, path=env.get("PATH"))) is None:
            how = f"Run `{own.install}`" if own else "Install it"
            raise ConfigError(
                f"the agent {self.label()!r} runs {program!r}, which does not exist or cannot be executed. "
                f"{how}, or write its path, relative to the config, as `program: PATH`."
            )
        # Its home is an empty folder, so that no setting of the user's changes results.
        if own and own.needs_one_of and not any(env.get(name) for name in own.needs_one_of):
            names = " or ".join(own.needs_one_of)
            raise ConfigError(
                f"{own.title} runs in a home of the attempt's own, where nobody is logged in: {names} has to "
                f'be set. Set it, or write `env: {{{own.needs_one_of[0]}: "${{YOUR_KEY}}"}}` in the block.'
            )
        if self.mcp != "off" and importlib.util.find_spec("mcp") is None:
            raise ConfigError(
                f"the agent {self.label()!r} uses the attempt's tools over MCP, but the package mcp is not "
                "installed. Run `pip install 'pytest-browsereval[mcp]'`, or write `mcp: off`."
            )
        if own:
            self._version_note = own.compare(read_version(path, environment((), {})))

    def _words(self) -> tuple[str, ...]:
        first = self.command[0] if self.program is None else self.program
        return (first, *self.command[1:], *(self.model_args if self.model else ()), *self.extra_args)

    def _program(self, base_dir: Path) -> str:
        first = self._words()[0].replace("{python}", sys.executable)
        # Links are not followed: a Python of a virtual environment is one.
        return str(base_dir.absolute() / first) if os.sep in first else first

    # -- the attempt

    def words(self, base_dir: Path) -> list[str]:
        """Return the whole command; it runs in a folder without the files of the config's folder."""
        arguments = (
            str(path) if Path(word).suffix and (path := base_dir.absolute() / word).is_file() else word
            for word in self._words()[1:]
        )
        return [self._program(base_dir), *arguments]

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        return ProgramPlayer(context, self)
