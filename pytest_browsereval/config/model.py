"""The eval config: a frozen model of the file, the command line and the environment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.browsers.base import BrowserConfig, PictureFormat
from pytest_browsereval.capture.context import ScreenshotMode
from pytest_browsereval.capture.recording import TraceMode
from pytest_browsereval.config.block import Block
from pytest_browsereval.config.export import ExportConfig
from pytest_browsereval.config.gate import GateConfig, GatedRow
from pytest_browsereval.config.guard import GuardConfig
from pytest_browsereval.config.names import SiteName, VariableName, VariantName
from pytest_browsereval.config.variables import TotpVariable, Variables, name_variables
from pytest_browsereval.config.wall import WallConfig
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.errors import ConfigError, nearest
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.verdicts import PassWhen, Primary
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.clock import Clock
from pytest_browsereval.redaction.config import redact_config
from pytest_browsereval.registry import Component, MemberOf
from pytest_browsereval.sites import SiteConfig
from pytest_browsereval.tools.switches import SwitchBlock
from pytest_browsereval.tools.toolkit import ToolkitConfig

LISTS = ("graders", "toolkits", "export", "attacks", "guards")
"""The keys with several blocks; one may stand without its list."""

MAX_NAME = 100

Traffic = Literal["record", "replay", "auto"]
"""What to do with the requests of pages, besides the record for graders."""

VariablesInput = (
    tuple[VariableName | dict[VariableName, TotpVariable], ...] | dict[VariableName, TotpVariable | None]
)

RULES = ("all", "any", "majority")


class LimitsConfig(Block):
    """What one attempt may use. A limit ends the attempt, and graders judge the result so far."""

    timeout_ms: int = Field(default=1_800_000, ge=1_000, le=86_400_000)
    """The agent's time, in milliseconds."""
    max_steps: int = Field(default=100, ge=1)
    """Tool calls, without ``done``."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Input and output tokens together."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """What the model calls of the agent may cost in an attempt; those of a judge count in ``budget``."""
    max_message_bytes: int | None = Field(default=None, ge=1_024)
    """The largest size of a model's reply, of a tool's output and of its arguments (2 MiB). Longer texts are
    cut. Larger arguments are refused."""
    stuck_s: float = Field(default=10.0, ge=0.5, le=3_600)
    """How long code of an async agent may run without an ``await``, which stops all lanes."""


class BudgetConfig(Block):
    """What the whole run may use; after that, no further attempt starts."""

    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """What all attempts of the run may cost, with those of earlier sessions. Attempts in flight are
    finished."""
    max_minutes: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """How long after the start of the session attempts may start."""


class RoundsConfig(Block):
    """Trials in rounds, one of each row in each, until a sequential test of the gate's rates has decided."""

    min: int = Field(default=1, ge=1)
    """How many times each task runs at least."""
    max: int = Field(ge=2, le=100)
    """How many times each task runs at most."""

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        if self.min >= self.max:
            raise ValueError(f"max is {self.max}, but min is {self.min}. Write a larger max.")
        return self


class DownloadLimits(Block):
    """How much of what pages download is kept of an attempt; the agent and the record name the rest."""

    max_files: int = Field(default=50, ge=0)
    """How many files."""
    max_bytes: int = Field(default=100_000_000, ge=0)
    """How large they may be together."""


class CaptureConfig(Block):
    """What to record of an attempt besides its messages."""

    screenshots: ScreenshotMode = "after"
    """When to take pictures: of the start page and after every tool call, before each call too (``both``), of
    the final page only, or never (``off``)."""
    format: PictureFormat = "jpeg"
    """The format of pictures."""
    quality: int = Field(default=80, ge=1, le=100)
    """The quality of JPEG and WebP pictures."""
    har: bool | Traffic = False
    """True records the network traffic as ``network.har``: addresses, headers, what was sent and the status,
    without cookies and keys; replies only if a grader needs them. It is recorded too where a grader needs it.
    ``record`` also stores the replies of all servers but the config's sites with the cassettes, ``replay``
    answers pages from there, and ``auto`` does what ``--eval-llm`` does."""
    trace: TraceMode = "off"
    """``on`` writes a ``trace.zip`` for Playwright's trace viewer, without cookies, keys and replies that are
    not drawn; ``retain-on-failure`` keeps it only for attempts that did not pass."""
    console: bool = False
    """True writes the consoles of pages, and their uncaught errors, to ``console.jsonl``."""
    dom: bool = False
    """True keeps the markup of the page after every tool call that can change it, as ``dom/001.html``, ..."""
    downloads: DownloadLimits = DownloadLimits()
    """How much of what pages download is kept in ``downloads/``."""
    checks: Literal["end", "each"] = "end"
    """``each`` asks the ``checks`` and ``milestones`` of a row that a page can answer after every step too,
    so that an attempt shows how far it came."""

    @field_validator("trace", mode="before", json_schema_input_type=TraceMode | bool)
    @classmethod
    def _is_a_mode(cls, value: Any) -> Any:
        # Writers of YAML 1.1 make a boolean of `on`, and many people write one themselves.
        return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


class EvalConfig(Block):
    """The config of a run."""

    name: str = Field(min_length=1, max_length=MAX_NAME)
    """The name of the run; by default the stem of the file, or the name of its folder if that is ``eval``."""
    variants: dict[VariantName, Annotated[AgentConfig, MemberOf("agent")]] = Field(min_length=1)
    """Agents by name; each runs on every row. A single one may be given as ``agent``."""
    dataset: tuple[Annotated[DatasetConfig, MemberOf("dataset")], ...] = Field(min_length=1)
    """The source of rows: a path, or a list of blocks ``{type, path, select}``."""
    attacks: tuple[Annotated[Component, MemberOf("attack")], ...] = ()
    """What turns pages against the agent: each row also runs under each of these."""
    graders: tuple[Annotated[GraderConfig, MemberOf("grader")], ...] = ()
    """Graders of every row; if there are any, they replace those of the rows."""
    pass_when: PassWhen = "all"  # noqa: S105 a rule, not a password
    """Which grades have to pass for the verdict: ``all``, ``any``, a ``majority``, or ``{primary: NAME}``."""
    judge: JudgeConfig | None = None
    """The model for graders that name no model of their own."""
    tools: SwitchBlock = Field(default_factory=dict)
    """Switches by the name of a tool or a toolkit; a toolkit that is off switches off its tools. ``only:
    [click, snapshot]`` switches on what it names and ``done``, and nothing else."""
    toolkits: tuple[Annotated[ToolkitConfig, MemberOf("toolkit")], ...] = ()
    """Toolkits of plug-ins, in addition to the built-in ones; their switches are in ``tools`` too."""
    guards: tuple[Annotated[GuardConfig, MemberOf("guard")], ...] = ()
    """Defences that are asked before each tool call and before an answer: ``[origins, {type: confirm}]``."""
    browser: Annotated[BrowserConfig, MemberOf("browser")]
    """The browser; Playwright's Chromium by default."""
    clock: Clock | None = None
    """The time when pages open, of rows without a ``clock`` of their own: ``2026-03-01T09:00``."""
    sites: dict[SiteName, SiteConfig] = Field(default_factory=dict)
    """Local web apps under test; rows write ``{name}`` for the base URL of one."""
    variables: dict[VariableName, TotpVariable | None] = Field(default_factory=dict)
    """Environment variables that solutions and agents may type: what has ``${NAME}`` as its text types the
    value, if the dataset is ``trusted``. The values are redacted everywhere. ``{CODE: {totp: ${SECRET}}}``
    is a code for two-factor authentication."""
    limits: LimitsConfig = LimitsConfig()
    """What one attempt may use."""
    budget: BudgetConfig = BudgetConfig()
    """What the whole run may use."""
    trials: Annotated[int, Field(ge=1)] | RoundsConfig = 1
    """How many times each task runs: ``3``, or ``{min: 1, max: 8}`` for as many as a decision takes."""
    retries: int = Field(default=1, ge=0)
    """How many more attempts follow one that *errored*; a failed attempt is never repeated."""
    lanes: int = Field(default=1, ge=1)
    """How many attempts run at once in one process."""
    num_workers: int | None = Field(default=None, ge=1, le=20)
    """How many attempts run at once in all processes of ``-n`` together; instead of ``lanes``."""
    probe: Literal["off", "failed"] = "off"
    """``failed`` plays the known way of a row after an attempt has failed, its ``solution`` or the steps of a
    pass: where that breaks as well, the site is to blame (*errored*), else the agent."""
    walls: tuple[WallConfig, ...] = ()
    """Pages that stop an agent, besides known ones: ``[{name: a queue, title: "Waiting room*"}]``. An attempt
    that ends on one does not fail for it."""
    capture: CaptureConfig = CaptureConfig()
    """What to record of an attempt."""
    gate: GateConfig = GateConfig()
    """The rules that the run must meet."""
    export: tuple[Annotated[ExportConfig, MemberOf("export")], ...] = ()
    """What is made of the run at the end of a session, for other tools: ``[parquet, {type: csv}]``. An export
    that fails is reported, and changes no result; ``browsereval export`` does it again."""
    output_dir: Path = Path("results")
    """The folder of run folders; relative to the file."""
    cassettes: Path = Path("cassettes")
    """The folder where ``--eval-llm=record`` stores model calls; relative to the file."""

    _path: Path = PrivateAttr(default=Path("eval.yaml"))
    _secrets: dict[str, str] = PrivateAttr(default_factory=dict)
    _literals: tuple[str, ...] = PrivateAttr(default=())
    _codes: dict[str, Any] = PrivateAttr(default_factory=dict)
    _in_clear: tuple[str, ...] = PrivateAttr(default=())
    _derived: tuple[DatasetConfig, ...] = PrivateAttr(default=())
    _notes: tuple[str, ...] = PrivateAttr(default=())
    _variants_left_out: int = PrivateAttr(default=0)
    _locate_message: Callable[[tuple[str | int, ...], str], str] | None = PrivateAttr(default=None)

    # -- shorthands, before the fields are checked

    @field_validator("pass_when", mode="before")
    @classmethod
    def _is_a_rule(cls, value: Any) -> Any:
        is_primary = isinstance(value, dict) and list(value) == ["primary"]
        if is_primary or isinstance(value, Primary) or str(value).startswith("primary:"):
            return value
        if value not in RULES:
            hint = nearest(value, RULES) if isinstance(value, str) else ""
            raise ValueError(f"{value!r} is not a rule.{hint} Allowed: {', '.join(RULES)}, primary: NAME.")
        return value

    @field_validator("probe", mode="before", json_schema_input_type=Literal["off", "failed"] | Literal[False])
    @classmethod
    def _is_off(cls, value: Any) -> Any:
        return "off" if value is False else value  # what YAML 1.1 makes of `off`

    # -- what has to fit together

    @field_validator("output_dir")
    @classmethod
    def _is_no_url(cls, value: Path) -> Path:
        scheme, colon, rest = str(value).partition(":/")  # a path has lost one of the slashes
        if colon and len(scheme) > 1 and scheme.isalnum():
            raise ValueError(
                "is a folder on this machine; for runs at a URL write "
                f"`--eval-output={scheme}://{rest.lstrip('/')}` on the command line"
            )
        return value

    @field_validator("variables", mode="before", json_schema_input_type=VariablesInput)
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return name_variables(value)

    @field_validator("variants")
    @classmethod
    def _folders_differ(cls, value: dict[str, AgentConfig]) -> dict[str, AgentConfig]:
        # On macOS and Windows the folders `A` and `a` are one.
        if len({name.lower() for name in value}) < len(value):
            names = ", ".join(value)
            raise ValueError(f"{names} differ only in case and would share a folder. Rename one.")
        return value

    @field_validator("graders")
    @classmethod
    def _names_differ(cls, value: tuple[GraderConfig, ...]) -> tuple[GraderConfig, ...]:
        labels = [grader.label for grader in value]
        if twice := next((label for label in labels if labels.count(label) > 1), None):
            raise ValueError(f"two graders are named {twice!r}. Give one a `name` of its own.")
        return value

    @field_validator("pass_when")
    @classmethod
    def _primary_exists(cls, value: PassWhen, info: ValidationInfo) -> PassWhen:
        labels = [grader.label for grader in info.data.get("graders", ())]
        if labels and isinstance(value, Primary) and value.primary not in labels:
            hint = nearest(value.primary, labels)
            raise ValueError(f"no grader is named {value.primary!r}.{hint} Graders: {', '.join(labels)}.")
        return value

    # -- derived

    @property
    def path(self) -> Path:
        """The file of the config, absolute."""
        return self._path

    @property
    def base_dir(self) -> Path:
        """The folder of the file; paths in the config are relative to it."""
        return self._path.parent

    @property
    def datasets(self) -> tuple[DatasetConfig, ...]:
        """All sources of rows: those of the file, then those that a feature has derived from them."""
        return self.dataset + self._derived

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the header: which keys of the file have no effect, and why."""
        return self._notes

    @property
    def variants_left_out(self) -> int:
        """How many variants ``--eval-agent`` leaves out."""
        return self._variants_left_out

    def wrong(self, path: tuple[str | int, ...], message: object) -> ConfigError:
        """Return the error for a wrong value, with file and line.

        Args:
            path: the keys of the value.
            message: what is wrong, and what to write instead.
        """
        if self._locate_message is None:  # the config was made without a file
            return ConfigError(f"{self.path}: {'.'.join(map(str, path))}: {message}")
        return ConfigError(self._locate_message(path, str(message)))

    @property
    def most_trials(self) -> int:
        """How many times each task runs at most."""
        return self.trials if isinstance(self.trials, int) else self.trials.max

    @property
    def least_trials(self) -> int:
        """How many times each task runs at least."""
        return self.trials if isinstance(self.trials, int) else self.trials.min

    def list_feature_keys(self) -> Iterator[tuple[str, ...]]:
        """Yield the keys that are set and nothing but a feature acts on: without it, the run is refused."""
        yield from (("gate", rule) for rule in self.gate.compares)
        plain = CaptureConfig()
        for key in ("checks", "console", "downloads", "trace"):
            if getattr(self.capture, key) != getattr(plain, key):
                yield "capture", key
        yield from ((key,) for key in ("attacks", "export", "guards", "walls") if getattr(self, key))
        if not isinstance(self.trials, int):
            yield ("trials",)
        for key in ("command", "compose", "state"):
            if any(getattr(site, key) for site in self.sites.values()):
                yield "sites", key
        if any(self.variables.values()):
            yield "variables", "totp"
        if self.probe != "off":
            yield ("probe",)

    @property
    def absolute_gate(self) -> GateConfig:
        """The gate with the place of its baseline as it is, wherever the reader stands."""
        if self.gate.baseline is None:
            return self.gate
        return self.gate.model_copy(update={"baseline": self.base_dir / self.gate.baseline})

    @property
    def is_gated(self) -> bool:
        """True if the config has a gate."""
        return "gate" in self.model_fields_set

    @property
    def are_rows_expected(self) -> bool:
        """True if all rows that did not pass are shown as expected, because the gate decides about them."""
        return self.is_gated and self.gate.decides_all

    def expects(self, one: GatedRow) -> bool:
        """Return True if a trial that did not pass is shown as expected, because the gate decides about it.

        Args:
            one: the trial.
        """
        return self.is_gated and self.gate.decides(one)

    def secrets(self) -> tuple[str, ...]:
        """Return what is secret by its name in the file: values of variables, and texts."""
        return tuple(dict.fromkeys((*self._secrets.values(), *self._literals)))

    def secrets_by_name(self) -> dict[str, str]:
        """Return the values of variables by their names."""
        return dict(self._secrets)

    def variable_values(self) -> Variables:
        """Return the values of those ``variables`` that are set."""
        plain = [name for name, made in self.variables.items() if made is None]
        return Variables({name: self._secrets[name] for name in plain if name in self._secrets}, self.codes)

    @property
    def codes(self) -> dict[str, Any]:
        """What makes the codes among the variables, by their names."""
        return self._codes

    def names_in_clear(self) -> tuple[str, ...]:
        """Return the names of the other variables in the file, whose values are not redacted."""
        return self._in_clear

    def public_dump(self) -> dict[str, Any]:
        """Return the config as JSON, without secrets and without paths of this machine."""
        dump = self.model_dump(mode="json")
        if not self.is_gated:  # a gate of defaults decides, and none does not
            del dump["gate"]
        for key, folder in (("output_dir", self.output_dir), ("cassettes", self.cassettes)):
            if folder.is_relative_to(self.base_dir):
                dump[key] = folder.relative_to(self.base_dir).as_posix()
        members = (*self.variants.values(), *self.graders, *self.toolkits, *self.export, self.browser)
        secrets = {secret for member in members for secret in member.secrets()}
        secrets |= {secret for guard in self.guards for secret in guard.secrets()}
        secrets |= {*self.secrets(), *(self.judge.secrets() if self.judge else ())}
        result: dict[str, Any] = redact_config(dump, secrets)
        return result

    def content_hash(self) -> str:
        """Return 16 hex digits over everything that can change results."""
        # Names, folders, speed and the budget cannot; nor can the gate, which only reads results.
        own = {"name", "output_dir", "cassettes", "lanes", "num_workers", "gate", "budget"}
        own |= {"variables", "export"}  # the former are names alone
        dump = {key: value for key, value in self.public_dump().items() if key not in own}
        return hashlib.sha256(json.dumps(dump, sort_keys=True).encode()).hexdigest()[:16]
