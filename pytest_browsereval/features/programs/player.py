"""Plays one attempt with a program: equips it, reads what it prints, and ends it when it is over."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.capture.output_log import OutputLog, readable
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, StopRun
from pytest_browsereval.features.programs.files import (
    MOST_BYTES,
    MOST_FILES,
    copy_files,
    find_free,
    keep_files,
    redact_folder,
)
from pytest_browsereval.features.programs.mcp_file import TOKEN_VARIABLE, URL_VARIABLE, filled, names_in
from pytest_browsereval.features.programs.output import AnswerFile, AnswerRule, OutputReader
from pytest_browsereval.features.programs.process import Program, environment
from pytest_browsereval.features.programs.server import ToolServer, serving
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.model.spans import current_ids
from pytest_browsereval.redaction.known import ending
from pytest_browsereval.temporary import OwnedFolder

if TYPE_CHECKING:
    from pytest_browsereval.features.programs.agent import CommandAgentConfig

FOLDER = "agent"
"""In the attempt's folder: the program's output, and what it has left where it ran."""
LONGEST_PROBLEM = 300
CDP_VARIABLE, OUTPUT_VARIABLE = "BROWSEREVAL_CDP_URL", "BROWSEREVAL_OUTPUT_DIR"
FILES_VARIABLE = "BROWSEREVAL_FILES_DIR"
TRACE_VARIABLE = "TRACEPARENT"
"""As OpenTelemetry names it where programs start programs: https://opentelemetry.io/docs/specs/otel/context/env-carriers."""

DELETED = (
    f"deleted, because they held a secret and are not text, or are beyond the {MOST_FILES:,} files and "
    f"{MOST_BYTES // 10**6} MB that are searched"
)
ENDED_EARLY = "the program was ended while it ran: usage that it had not reported yet is not in the cost"

_MAX_ANSWER_BYTES = 1_000_000
_POLL_S = 0.2

MCP_PROMPT = read_prompts(__file__)["mcp"]
"""What a program reads that uses our tools, unless its block says it in its own words."""


class ProgramPlayer(AgentEvaluator):
    """One attempt of a program."""

    def __init__(self, context: AgentContext, config: CommandAgentConfig) -> None:
        self._context = context
        self._config = config
        self._capture = context.capture
        self._reader = OutputReader(config.answer)
        self._was_started = self._has_reported_usage = self._has_ended = False
        self._code: int | None = None
        self._problem = ("", 0)
        """What the program has said last of why it cannot go on, and how many steps it had made by then."""
        self._kept = _new_folder(context.task_output_dir)

    async def execute(self) -> AgentResult:
        """Run the program until it has ended or the attempt is over.

        Raises:
            Fault: the program, or what it works with, broke.
            LimitReached: the attempt's steps, tokens or money ran out.
        """
        server = None
        try:
            async with AsyncExitStack() as stack:
                # Elsewhere than its files are kept: near these are rows, their references and other attempts.
                place = OwnedFolder()
                stack.push_async_callback(asyncio.to_thread, place.remove)
                self._home, self._folder = place.path / "home", place.path / FOLDER
                self._home.mkdir()
                self._folder.mkdir()
                self._files = place.path / "files"
                await asyncio.to_thread(copy_files, self._context.files, self._files)
                if self._config.mcp != "off":
                    served = serving(self._context.tools, self._capture, self._context.kits)
                    server = await stack.enter_async_context(served)
                code = await self._play(stack, server)
        except OSError as error:
            raise Fault(ErrorSource.HARNESS, f"the program cannot be prepared: {error}") from error
        except asyncio.CancelledError as error:
            if self._has_ended:  # in time: only its files were being kept
                try:
                    self._context.tools.answer = self._result(self._code, server).final_answer
                except Fault as broken:
                    raise broken from error
                raise
            if self._has_reported_usage:
                self._capture.add_warning(ErrorSource.AGENT, ENDED_EARLY)
            if fault := self._find_fault(server):
                raise fault from error
            raise
        finally:
            # A cost that nobody reported is unknown, and not 0.
            if self._was_started and not self._has_reported_usage:
                self._capture.spend_unseen()
        return self._result(code, server)

    async def _play(self, stack: AsyncExitStack, server: ToolServer | None) -> int | None:
        """Return the program's exit code; None if it was stopped after ``done``."""
        config, values = self._config, self._values(server)
        env = self._env(server, values)
        if server is not None:
            values["mcp_config"] = str(config.mcp_config.write(self._folder, values))
        # Registered before the program starts, so that it runs after that has ended.
        stack.push_async_callback(self._keep_files, server.token if server else "")
        self._out, self._err = (
            OutputLog(self._kept / name, self._capture.config.redact) for name in ("stdout.log", "stderr.log")
        )
        stack.callback(self._close_logs)
        stdin = self._folder / "stdin.txt" if config.stdin == "task" else None
        if stdin is not None:
            stdin.write_text(values["task"], encoding="utf-8")
        program = Program(
            filled(config.words(self._context.base_dir), values),
            self._folder,
            env,
            stdin=stdin,
            # Pages do not refuse what it does after a limit, as tools do.
            grace_s=0 if config.cdp else config.grace_s,
            out=self._take_line,
            err=self._take_error,
        )
        stack.push_async_callback(program.close)
        self._was_started = True
        try:
            code = await self._until_over(program, server)
        except (LimitReached, asyncio.CancelledError):
            # What it had said by then is judged, and not what it says while it is stopped.
            self._context.tools.answer = self._context.tools.answer or self._reader.find_answer()
            raise
        # Only now is it known that no line was an object, so that all of them together may be one.
        await self._take(self._reader.read_rest())
        self._code, self._has_ended = code, True
        self._capture.limits.acts_no_more = True
        return code

    # -- what it gets

    def _values(self, server: ToolServer | None) -> dict[str, str]:
        context, config = self._context, self._config
        cdp_url = context.window.cdp_url
        if config.cdp and cdp_url is None:
            raise Fault(
                ErrorSource.BROWSER,
                "the program drives the browser over CDP, but this browser gives no address for it. "
                "Use `browser: {type: playwright}`, or write `cdp: false`.",
            )
        values = {
            "start_url": context.task.start_url or "about:blank",
            "max_steps": str(context.max_steps),
            "timeout_s": f"{context.timeout_s:g}",
            "files_dir": str(self._files),
            "mcp_url": server.url if server else "",
            "mcp_token": server.token if server else "",
            "cdp_url": cdp_url or "",
            "output_dir": str(self._folder),
            "model": config.model or "",
            "python": sys.executable,
            "config_dir": str(context.base_dir.absolute()),
        }
        text = config.prompt or (MCP_PROMPT if server else "{task}")
        task = context.task.query
        if context.files and "files_dir" not in names_in(text):
            task += f"\n\nFiles of the task are in the folder {self._files}: {', '.join(context.files)}."
        prompt = filled(text, {**values, "task": task})
        if server and context.window.page_name:
            prompt += f"\n\nYour page is {context.window.page_name}."
        return {**values, "task": prompt, "mcp_config": ""}

    def _env(self, server: ToolServer | None, values: Mapping[str, str]) -> dict[str, str]:
        ids, passed = current_ids(), self._config.passed()
        ours = {
            OUTPUT_VARIABLE: values["output_dir"],
            FILES_VARIABLE: values["files_dir"],
            URL_VARIABLE: server.url if server else None,
            TOKEN_VARIABLE: server.token if server else None,
            CDP_VARIABLE: values["cdp_url"] if self._config.cdp else None,
            # An instrumented program's spans join ours.
            TRACE_VARIABLE: None if TRACE_VARIABLE in passed else ids and ids.traceparent,
            "HOME": None if "HOME" in passed else str(self._home),
        }
        given = {name: value for name, value in ours.items() if value is not None}
        return environment(passed, {**given, **filled(self._config.env, values)})

    # -- what it does

    async def _until_over(self, program: Program, server: ToolServer | None) -> int | None:
        exited = asyncio.create_task(program.ended())
        lost = asyncio.create_task(self._window_is_lost())
        waits: set[asyncio.Task[Any]] = {exited, lost}
        if server is not None:
            waits.add(asyncio.create_task(server.is_over.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            limit_s = self._config.linger_s
            if server is None or server.ending is None:
                # Many programs tell their usage after the last call.
                await asyncio.wait({exited, lost}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if server is not None and server.ending is not None:
                raise server.ending
            if exited.done():
                return exited.result()
            if lost.done():
                raise Fault(ErrorSource.BROWSER, lost.result())
            message = f"the program had not ended {limit_s:g} s after done, and was stopped"
            self._capture.add_warning(ErrorSource.AGENT, message)
            return None
        finally:
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _window_is_lost(self) -> str:
        """Return why the window is dead: a program that does not look at it would wait for its limit."""
        while (why := self._context.window.dead) is None:  # noqa: ASYNC110 a window sets no event
            await asyncio.sleep(_POLL_S)
        return why

    async def _take_line(self, line: bytes) -> None:
        self._out.write(line)
        await self._take(self._reader.read(readable(line)))

    async def _take_error(self, line: bytes) -> None:
        self._err.write(line)
        self._take_problem(self._config.events.problem_in(readable(line)))

    async def _take(self, record: dict[str, object] | None) -> None:
        """Take one object that the program printed: what it says, has done, has used."""
        if record is None:
            return
        usage, rules = self._config.usage.usage(record), self._config.events
        self._take_problem(rules.problem_of(record))
        for step in rules.steps(record, own=True):
            # By a tool of its own, which is no step in the browser.
            name, params, result = _read_step(step)
            call = await self._capture.before_tool_call(name, params, is_step=False, picture=False)
            await self._capture.after_tool_call(call, result, is_error=False, picture=False)
            self._capture.add_warning(ErrorSource.AGENT, f"the program used a tool of its own: {name}")
        for text in rules.texts(record):
            self._capture.log_assistant(text)
        # Steps by MCP are recorded where they are served: reported once more, they would count twice.
        for step in rules.steps(record) if self._config.cdp else ():
            await self._context.tools.record(*_read_step(step), is_error=step.get("is_error") is True)
        if usage is not None:
            self._has_reported_usage = True
            self._capture.spend(usage)

    def _take_problem(self, problem: str | None) -> None:
        """Note what the program says of why it cannot go on; "" says that it goes on.

        Raises:
            StopRun: nobody is logged in, so that no attempt can be made.
        """
        if problem is None:
            return
        self._problem = (problem, self._capture.steps)
        if self._config.events.is_refused(problem):
            raise _fault_of(problem, is_refused=True)

    def _find_fault(self, server: ToolServer | None) -> Fault | None:
        """Return why the program, which was stopped or has ended by itself, did not do the task."""
        if self._context.tools.is_done:
            return None
        problem, steps = self._problem
        if problem and self._capture.steps == steps:  # else its model has answered since
            return _fault_of(problem)
        if server is None or self._config.cdp or server.was_asked:
            return None
        return Fault(
            ErrorSource.AGENT,
            "the program never asked for the tools of the attempt: it does not read `mcp_config`, or did not "
            "wait for their server. Write `mcp: off` for a program that needs none. It printed: "
            f"{self._last_words or 'nothing'}",
        )

    async def _keep_files(self, token: str) -> None:
        """Keep the program's files without secrets, also where the attempt's time is over meanwhile.

        Raises:
            CancelledError: it was over; what the program had answered by then is judged.
        """
        keeping = asyncio.ensure_future(self._keep_without_secrets(token))
        is_late: asyncio.CancelledError | None = None
        while not keeping.done():
            try:
                await asyncio.shield(keeping)
            except asyncio.CancelledError as error:
                is_late = error
                if self._has_ended and not self._code:
                    self._context.tools.answer = self._context.tools.answer or self._reader.find_answer()
        if is_late is not None:
            raise is_late

    async def _keep_without_secrets(self, token: str) -> None:
        """Keep the program's files without the token, which opens nothing any more, and other secrets."""

        def keep() -> tuple[list[str], tuple[list[str], list[str]]]:
            lost = keep_files(self._folder, self._kept)
            return lost, redact_folder(self._kept, self._capture.config.redact, token)

        lost, (deleted, left) = await asyncio.to_thread(keep)  # in one piece: nothing ends it in between
        for what, names in (
            ("not kept of the program's files", lost),
            (DELETED, deleted),
            ("not searched for secrets, because they are compressed", left),
        ):
            if names:
                self._capture.add_warning(ErrorSource.MESSAGE_LOGGING, f"{what}: {', '.join(names)}")

    def _close_logs(self) -> None:
        for log in (self._out, self._err):
            log.close()
            if log.trouble is not None:
                message = f"a part of the program's output was not kept: {log.trouble}"
                self._capture.add_warning(ErrorSource.MESSAGE_LOGGING, message)

    # -- what it came to

    def _result(self, code: int | None, server: ToolServer | None) -> AgentResult:
        tools, warn = self._context.tools, self._capture.add_warning
        if code:
            said = self._last_words
            message = f"the program ended with code {code}: {said or 'it printed nothing'}"
            # A program that fails while it tidies up has done its task all the same.
            if not tools.is_done:
                if problem := self._problem[0]:
                    raise _fault_of(problem)
                if self._config.preset and self._config.events.is_refused(said):
                    raise _fault_of(said, is_refused=True)
                raise Fault(ErrorSource.AGENT, f"{message} (its output is in {self._kept.name}/*.log)")
            warn(ErrorSource.AGENT, message)
        if fault := self._find_fault(server):
            raise fault
        answer = tools.answer if tools.is_done else self._find_answer(self._config.answer)
        missing = [] if answer is not None else ["an answer"]
        # What a program does over CDP is a step only where it says so.
        step = "a reported step" if self._config.cdp else "a step in the browser"
        missing += [] if self._capture.steps else [step]
        if missing:
            did = "ended" if answer is None else "answered"
            warn(ErrorSource.AGENT, f"the program {did} without {' and without '.join(missing)}")
        return AgentResult(answer)

    @property
    def _last_words(self) -> str:
        return ending(self._err.last_words or self._out.last_words, 500)

    def _find_answer(self, rule: AnswerRule) -> str | None:
        return self._read_answer(rule.file) if isinstance(rule, AnswerFile) else self._reader.find_answer()

    def _read_answer(self, name: str) -> str | None:
        path = self._kept / name
        # The program may have left a link to a file of the user's there.
        if not path.is_file() or not path.resolve().is_relative_to(self._kept):
            return None
        if path.stat().st_size > _MAX_ANSWER_BYTES:
            raise Fault(ErrorSource.AGENT, f"the answer in {name} has more than {_MAX_ANSWER_BYTES} bytes")
        return path.read_text(encoding="utf-8", errors="replace").strip() or None


def _fault_of(problem: str, *, is_refused: bool = False) -> Fault:
    message = f"the program cannot use its model: {one_line(problem, LONGEST_PROBLEM)}"
    return StopRun(ErrorSource.PROVIDER, message) if is_refused else Fault(ErrorSource.PROVIDER, message)


def _read_step(step: Mapping[str, Any]) -> tuple[str, dict[str, Any], Any]:
    params = step.get("params")
    return str(step["tool"]), params if isinstance(params, dict) else {}, step.get("result")


def _new_folder(attempt: Path) -> Path:
    """Make the folder that keeps the program's files; each delegation of an attempt has one of its own."""
    folder = find_free(attempt.resolve() / FOLDER)
    try:
        folder.mkdir()
    except OSError as error:
        raise Fault(ErrorSource.HARNESS, f"the program's folder cannot be made: {error}") from None
    return folder
