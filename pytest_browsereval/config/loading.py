"""Load an eval config from a file, the command line and the environment, or report all problems."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationError

from pytest_browsereval import validation_errors
from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.config.draft import Draft
from pytest_browsereval.config.environment import Interpolation
from pytest_browsereval.config.gate import GateConfig
from pytest_browsereval.config.model import LISTS, MAX_NAME, EvalConfig
from pytest_browsereval.config_text import Document, DocumentError, KeyPath, format_path, parse, read_text
from pytest_browsereval.datasets.rows import TYPE_BY_SUFFIX
from pytest_browsereval.errors import ConfigError, RegistryError, nearest
from pytest_browsereval.foreign_names import find_meant
from pytest_browsereval.redaction.known import know_secrets
from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.registry import ConfigReader, MemberOf, Registry
from pytest_browsereval.validation_errors import Problem, canonical_key, list_problems, wrong_booleans

SCHEMA_KEY = "$schema"
"""The key by which a file names its JSON schema, for editors."""

SHORTEST_VARIABLE = 4
"""Characters of what a solution may type by name. Less than of other secrets: a PIN is one as well."""

AGENTS: tuple[KeyPath, ...] = (("agent",), ("variants",))
"""The keys of agents."""


def load_config(
    path: Path,
    *,
    registry: Registry,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    agent: str | None = None,
) -> EvalConfig:
    """Return the config of a file: YAML, JSON or TOML, with our keys or those of a system with a reader.

    Args:
        path: the file.
        registry: the members that blocks may name.
        overrides: ``key.path=value`` each; they take precedence over the file.
        environ: the environment; by default that of the process.
        agent: the only variant to run, or the type of an agent that replaces those of the file; what is wrong
            with the others does not count.

    Raises:
        ConfigError: with all problems, each with file, line and path.
    """
    path = path.absolute()
    environment = Interpolation(os.environ if environ is None else environ)
    draft = _draft(_read(path), path, registry, environment)
    for text in overrides:
        draft.override(text)
    rename_keys(draft, registry)
    if agent is not None:
        _choose_agent(draft, agent, registry)
    return _build_config(draft, path, registry)


def config_from(
    value: Mapping[str, Any], *, path: Path, registry: Registry, overrides: Sequence[str] = ()
) -> EvalConfig:
    """Return the config of a mapping, the keywords of a marker for example.

    Args:
        value: the keys of a config.
        path: the file that has it; messages name the file, and paths are relative to its folder.
        registry: the members that blocks may name.
        overrides: ``key.path=value`` each; they take precedence.

    Raises:
        ConfigError: with all problems.
    """
    path = path.absolute()
    document = Document(dict(value), lambda _: None)
    draft = _draft(document, path, registry, Interpolation(os.environ))
    for text in overrides:
        draft.override(text)
    return _build_config(draft, path, registry)


def load_gate(
    path: Path, *, registry: Callable[[], Registry], overrides: Sequence[str] = ()
) -> GateConfig | None:
    """Return the gate of a config's file; None if it has none.

    The rest of the file is ignored, so that a job that only gates needs no API key.

    Args:
        path: the file.
        registry: makes the registry; called only if the gate names rules of plug-ins.
        overrides: ``gate.key=value`` each; they take precedence over the file.

    Raises:
        ConfigError: the file cannot be read, or the gate has problems.
    """
    document, environment = _read(path.absolute()), Interpolation(os.environ)
    tree = environment.fill(_select_keys(document, "gate"))
    know_secrets(list_spellings(environment.secrets))  # rules of plug-ins may say them
    return _gate(Draft(tree, format_path(path), document.line_of, environment), registry, overrides)


def gate_from(
    value: object, *, name: str, registry: Callable[[], Registry], overrides: Sequence[str] = ()
) -> GateConfig | None:
    """Return the gate of a value, that of a run's manifest for example; None if there is none.

    Args:
        value: the block; None if there is none.
        name: where the value is, for messages.
        registry: makes the registry; called only if the gate names rules of plug-ins.
        overrides: ``gate.key=value`` each.

    Raises:
        ConfigError: with all problems.
    """
    tree = {} if value is None else {"gate": copy.deepcopy(value)}
    return _gate(Draft(tree, name, lambda _: None, Interpolation(os.environ)), registry, overrides)


def load_place(path: Path) -> tuple[Path, str] | None:
    """Return the results folder of a config and the name of its runs; None for a file that only has a gate.

    The rest of the file is ignored, so no API key has to be set.

    Args:
        path: the file.

    Raises:
        ConfigError: the file cannot be read, or a variable in one of the two is not set.
    """
    path = path.absolute()
    document = _read(path)
    if not _select_keys(document, "dataset"):
        return None
    environment = Interpolation(os.environ)
    given = environment.fill(_select_keys(document, "output_dir", "name", "id"))
    if environment.problems:
        draft = Draft(given, format_path(path), document.line_of, environment)
        raise ConfigError("\n".join(draft.list_messages()))
    given = {canonical_key(key): value for key, value in given.items()}
    name = given.get("name") or given.get("id") or default_name(path)
    return (path.parent / str(given.get("output_dir") or "results")).absolute(), str(name)


def default_name(path: Path) -> str:
    """Return the name of a config without one: the stem of its file, or for ``eval.yaml`` its folder."""
    # `a/eval.yaml` and `b/eval.yaml` are two evals, which may share a results folder.
    stem = path.stem.removesuffix(".eval")
    return (stem if stem.lower() not in ("", "eval") else path.resolve().parent.name[:MAX_NAME]) or "eval"


def _choose_agent(draft: Draft, name: str, registry: Registry) -> None:
    """Keep one variant of a draft, or put an agent of a type in the place of all."""
    given = draft.tree.get("variants")
    variants = list(map(str, given)) if isinstance(given, dict) else ["default"]
    draft.variants_left_out = len(variants) - (name in variants)
    if not isinstance(given, dict) and name in variants:
        return
    own = (*AGENTS[1], name)
    draft.problems[:] = [p for p in draft.problems if p.path[:1] not in AGENTS or p.path[:2] == own]
    if isinstance(given, dict) and name in given:
        draft.tree["variants"] = {name: given[name]}
        return
    draft.set(AGENTS[0], {"type": name}, f"--eval-agent={name}")
    try:
        registry.get("agent", name)
    except RegistryError as error:
        draft.report(AGENTS[0], f"{error} Variants: {', '.join(variants)}.{nearest(name, variants)}")


def _gate(draft: Draft, registry: Callable[[], Registry], overrides: Sequence[str]) -> GateConfig | None:
    has_rules = any("rules" in text for text in (*map(str, draft.tree.values()), *overrides))
    members = registry() if has_rules else Registry()
    for text in overrides:
        draft.override(text)
    rename_keys(draft, members)
    for key in [key for key in draft.tree if key != "gate"]:
        draft.report((key,), "only keys of the gate can be set here, such as gate.min_pass_rate=0.9.")
    raw = draft.tree.get("gate", {})
    draft.problems += wrong_booleans(raw, GateConfig, members, path=("gate",))
    try:
        gate = GateConfig.model_validate(raw, context={"registry": members})
    except ValidationError as error:
        found = list_problems(error, GateConfig, raw, members, notation=Path(draft.file).suffix)
        draft.problems += [Problem(("gate", *p.path), p.message, p.kind) for p in found]
    if draft.problems:
        raise ConfigError("\n".join(draft.list_messages()))
    return gate if "gate" in draft.tree else None


def _draft(document: Document, path: Path, registry: Registry, environment: Interpolation) -> Draft:
    tree = environment.fill(document.value)
    draft = Draft(tree, format_path(path), document.line_of, environment)
    draft.unread = [(line, message) for line, message in document.problems]
    rename_keys(draft, registry)
    draft.readers = [reader for reader in registry.readers if reader.recognises(draft.tree)]
    for convert in _list_methods(draft.readers, "convert"):
        convert(draft, environment.environ)
    return draft


def _list_methods(readers: Iterable[ConfigReader], name: str) -> list[Callable[..., Any]]:
    return [method for reader in readers if (method := getattr(reader, name, None)) is not None]


def _build_config(draft: Draft, path: Path, registry: Registry) -> EvalConfig:
    environment = draft.environment
    know_secrets(list_spellings(environment.secrets))  # errors of rows come later, without this draft
    readers = [one for one in registry.readers if one in draft.readers or one.recognises(draft.tree)]
    for convert in _list_methods(readers, "convert_blocks"):
        convert(draft, registry)
    _complete(draft, path)
    config = _validate(draft, registry)
    if config is not None and (config.gate.passed_trials or 0) > (least := config.least_trials):
        message = f"rows have only {least} trials. Write {least} or fewer, or raise `trials`."
        message = message.replace("1 trials. Write 1 or fewer", "1 trial. Write 1")
        draft.report(("gate", "passed_trials"), message)
    if config is not None:
        _take_variables(draft, config)
    if draft.problems or draft.unread or config is None:
        raise ConfigError("\n".join(draft.list_messages()))
    config._path, config._notes = path, tuple(draft.notes)  # noqa: SLF001 set only here
    config._locate_message = draft.locate_message  # noqa: SLF001
    config._secrets = dict(environment.named)  # noqa: SLF001
    config._literals = tuple(environment.literals)  # noqa: SLF001
    config._in_clear = tuple(environment.in_clear)  # noqa: SLF001
    config._variants_left_out = draft.variants_left_out  # noqa: SLF001
    config = config.model_copy(update={"output_dir": (path.parent / config.output_dir).absolute()})
    for complete in _list_methods(readers, "complete"):
        config = complete(config)
    return config


def _take_variables(draft: Draft, config: EvalConfig) -> None:
    """Make secrets of the variables that solutions may type, no matter what they are called."""
    environment = draft.environment
    for place, (name, made) in enumerate(config.variables.items()):
        if made is not None:
            environment.named[name] = made.totp.get_secret_value()
            continue
        value = environment.environ.get(name, "")
        if value and len(value.strip()) < SHORTEST_VARIABLE:
            draft.report(
                ("variables", place),
                f"the value of {name} has fewer than {SHORTEST_VARIABLE} characters, so it cannot be "
                "redacted: it would be found in any text. Use a longer one.",
            )
        elif value:
            environment.named[name] = value
    know_secrets(list_spellings(environment.secrets))


def _read(path: Path) -> Document:
    name = format_path(path)
    try:
        document = parse(read_text(path), path.suffix)
    except DocumentError as error:
        raise ConfigError(error.locate(name)) from None
    if document.value is None or document.value == {}:
        raise ConfigError(f"{name}: the file is empty. Write at least `agent: ...` and `dataset: ...`.")
    if not isinstance(document.value, dict):
        raise ConfigError(
            f"{name}:1: an eval config is a block of keys, not {validation_errors.shorten(document.value)}. "
            "Write at least `agent: ...` and `dataset: ...`."
        )
    document.value.pop(SCHEMA_KEY, None)
    return document


def _select_keys(document: Document, *names: str) -> dict[str, Any]:
    """Return the top-level keys of a file with these names, in the spelling of the file."""
    return {key: value for key, value in document.value.items() if canonical_key(key) in names}


# -- shorthands


def _complete(draft: Draft, path: Path) -> None:
    tree = draft.tree
    tree.setdefault("name", default_name(path))
    tree.setdefault("browser", {"type": "playwright"})
    if isinstance(tree["browser"], dict):
        tree["browser"].setdefault("type", "playwright")
    if "lanes" in tree and "num_workers" in tree:
        draft.report(("num_workers",), "cannot be combined with `lanes`. Leave one out.")
    _complete_agents(draft)
    for key in LISTS:
        if isinstance(tree.get(key), str | dict):
            tree[key] = [tree[key]]
            draft.note_move((key,), (key, 0))
    if "dataset" in tree:
        _complete_datasets(draft)


def _complete_agents(draft: Draft) -> None:
    tree = draft.tree
    if "agent" in tree and "variants" in tree:
        draft.report(("agent",), "cannot be combined with `variants`. Leave one out.")
        tree.pop("agent")
    elif "agent" in tree:
        tree["variants"] = {"default": tree.pop("agent")}
        draft.note_move(("agent",), ("variants", "default"))
    elif "variants" not in tree and not any(find_meant(str(key), ("agent",)) for key in tree):
        draft.report((), "agent: missing. Write `agent: {type: NAME}` or `variants: {NAME: {type: ...}}`.")
        tree["variants"] = None


def _complete_datasets(draft: Draft) -> None:
    given = draft.tree["dataset"]
    if not isinstance(given, list):
        given = [given]
        draft.note_move(("dataset",), ("dataset", 0))
    blocks = []
    for place, entry in enumerate(given):
        path: KeyPath = ("dataset", place)
        block = entry
        if isinstance(entry, str):
            block = {"path": entry}
            draft.note_move(path, (*path, "path"))
        if isinstance(block, dict) and "type" not in block and isinstance(block.get("path"), str):
            block = {**block, "type": _type_of(draft, (*path, "path"), block["path"])}
        blocks.append(block)
    draft.tree["dataset"] = blocks


def _type_of(draft: Draft, where: KeyPath, file: str) -> str | None:
    suffix = Path(file).suffix.lower()
    if "://" in file:
        draft.report(where, f"{file!r} is not on this machine. Download it first: `curl -O {file}`.")
    elif suffix not in TYPE_BY_SUFFIX and "${" not in file:  # an unset variable is reported already
        draft.report(
            where,
            f"the suffix of {file!r} names no format. Known: {', '.join(TYPE_BY_SUFFIX)}. Convert it, or say "
            "what text it holds: `dataset: [{type: jsonl, path: ...}]`.",
        )
    return TYPE_BY_SUFFIX.get(suffix)


# -- checking


def _validate(draft: Draft, registry: Registry) -> EvalConfig | None:
    rename_keys(draft, registry)
    draft.problems += wrong_booleans(draft.tree, EvalConfig, registry)
    try:
        return EvalConfig.model_validate(draft.tree, context={"registry": registry})
    except ValidationError as error:
        known = {problem.path for problem in draft.problems}
        found = list_problems(error, ConfigFile, draft.tree, registry, notation=Path(draft.file).suffix)
        if any(one.means == "agent" for one in found):
            found = [one for one in found if one.where != "variants"]
        for problem in found:
            # Validation sees the same fault once more, `${NAME}` in the place of a URL for example.
            covered = problem.kind != "extra_forbidden" and any(
                problem.path[: len(path)] == path or path[:-1] == problem.path for path in known
            )
            # A list may only be too short because its entry is wrong.
            covered |= problem.kind == "too_short" and any(
                other.path != problem.path and other.path[: len(problem.path)] == problem.path
                for other in found
            )
            if not covered:
                draft.problems.append(problem)
        return None


class ConfigFile(EvalConfig):
    """The keys that a file may have; no value is validated by this class."""

    agent: Annotated[AgentConfig, MemberOf("agent")]


def rename_keys(draft: Draft, registry: Registry) -> None:
    """Rename the keys of a draft that are in camelCase.

    It is done three times: for the readers of the file, for what the command line has added, and when readers
    and shorthands have given a type to blocks that nobody could describe before.

    Args:
        draft: values as the user wrote them.
        registry: the members that blocks may name.
    """
    for path, block, kind in validation_errors.walk(draft.tree, ConfigFile, registry):
        # Names of variants, headers and variables stay as they are, and so do keys of plug-ins that accept
        # one spelling only. Keys of a block that no model describes are renamed, because a reader of another
        # system may know them; keys further inside are not, because they may be data.
        if not isinstance(block, dict) or not (kind is None or validation_errors.accepts_camel_case(kind)):
            continue
        items = list(block.items())
        block.clear()
        for key, value in items:
            # A marker of a test may have other keys than texts, which validation refuses.
            name = canonical_key(key) if isinstance(key, str) else key
            if name != key and name in dict(items):
                draft.report((*path, key), f"also given as {name!r}. Leave one out.")
                continue
            block[name] = value
            if name != key:
                draft.note_move((*path, key), (*path, name))
