"""From a file, the command line and the environment to an eval config, or to all that is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_browsereval.config.draft import Draft
from pytest_browsereval.config.environment import Interpolation
from pytest_browsereval.config.gate import GateConfig
from pytest_browsereval.config.model import MAX_NAME, EvalConfig
from pytest_browsereval.config.refusals import take_refused
from pytest_browsereval.config_text import Document, DocumentError, KeyPath, format_path, parse, read_text
from pytest_browsereval.datasets.rows import TYPE_BY_SUFFIX
from pytest_browsereval.errors import ConfigError, nearest
from pytest_browsereval.redaction.known import know_secrets
from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.registry import Registry
from pytest_browsereval.validation_errors import (
    Problem,
    field_names,
    find_key,
    problems_in,
    short,
    snake,
    wrong_booleans,
)

AGENTS: tuple[KeyPath, ...] = (("agent",), ("variants",))
"""Where agents stand."""


def load_config(
    path: Path,
    *,
    registry: Registry,
    overrides: Sequence[str] = (),
    options: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    agent: str | None = None,
) -> EvalConfig:
    """Return the config of a file: YAML, JSON or TOML, of ours or of BrowserOS.

    Args:
        path: the file.
        registry: the members that blocks may name.
        overrides: ``key.path=value`` each; they beat the file.
        options: values by dotted key; they beat the overrides.
        environ: the environment; the process's own by default.
        agent: the only variant that is run, or the type of an agent that stands in for those of the file;
            what is wrong with the others does not matter then.

    Raises:
        ConfigError: with everything that is wrong, each with file, line and path.
    """
    path = path.absolute()
    environment = Interpolation(os.environ if environ is None else environ)
    draft = _draft(_read(path, format_path(path)), path, registry, environment)
    _override(draft, overrides, environment)
    if agent is not None:
        _choose_agent(draft, agent, registry)
    for key, value in (options or {}).items():
        draft.set(tuple(key.split(".")), value, f"the option for {key}")
    return _build_config(draft, path, registry, environment)


def config_from(value: Mapping[str, Any], *, path: Path, registry: Registry) -> EvalConfig:
    """Return the config that a mapping says, a marker's keywords for example.

    Args:
        value: keys of a config.
        path: the file that it stands in: messages name it, and paths are relative to its folder.
        registry: the members that blocks may name.

    Raises:
        ConfigError: with everything that is wrong.
    """
    path = path.absolute()
    environment = Interpolation(os.environ)
    draft = _draft(Document(dict(value), lambda _: None), path, registry, environment)
    return _build_config(draft, path, registry, environment)


def load_gate(
    path: Path,
    *,
    registry: Callable[[], Registry],
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> GateConfig:
    """Return the gate of a config's file; the rest of the file is not looked at, so no key has to be set.

    Args:
        path: the file.
        registry: makes the registry; called only if the gate names rules of plug-ins.
        overrides: ``gate.key=value`` each; they beat the file.
        environ: the environment; the process's own by default.

    Raises:
        ConfigError: the file cannot be read, or something of the gate is wrong.
    """
    document = _read(path.absolute(), format_path(path))
    environment = Interpolation(os.environ if environ is None else environ)
    key = find_key(document.value, "gate")
    tree = {} if key is None else {str(key): environment.fill(document.value[key], (key,))}
    draft = Draft(tree, format_path(path), document.line_of, secrets=environment.secrets)
    draft.problems += environment.problems
    return _gate(draft, registry, overrides, environment)


def gate_from(
    value: object, *, name: str, registry: Callable[[], Registry], overrides: Sequence[str] = ()
) -> GateConfig:
    """Return the gate that a value says, that of a run's manifest for example.

    Args:
        value: the block; None is an empty one.
        name: where it stands, for messages.
        registry: makes the registry; called only if the gate names rules of plug-ins.
        overrides: ``gate.key=value`` each.

    Raises:
        ConfigError: with everything that is wrong.
    """
    draft = Draft({} if value is None else {"gate": value}, name, lambda _: None)
    return _gate(draft, registry, overrides, Interpolation(os.environ))


def load_place(path: Path) -> tuple[Path, str] | None:
    """Return a config's results folder and the name of its runs; None for a file that holds a gate alone.

    The rest of the file is not looked at, so no key has to be set.

    Args:
        path: the file.

    Raises:
        ConfigError: the file cannot be read, or a variable in one of the two is not set.
    """
    path = path.absolute()
    document = _read(path, format_path(path))
    if find_key(document.value, "dataset") is None:
        return None
    environment = Interpolation(os.environ)
    keys = {name: find_key(document.value, name) for name in ("output_dir", "name", "id")}
    given = {name: environment.fill(document.value[key], (key,)) for name, key in keys.items() if key}
    if environment.problems:
        draft = Draft({}, format_path(path), document.line_of)
        draft.problems += environment.problems
        raise ConfigError("\n".join(draft.list_messages()))
    name = given.get("name") or given.get("id") or default_name(path)
    return (path.parent / str(given.get("output_dir") or "results")).absolute(), str(name)


def default_name(path: Path) -> str:
    """Return the name of a config that gives none: its file's stem.

    A file that is only called ``eval`` has its folder's name: ``a/eval.yaml`` and ``b/eval.yaml`` are two.
    """
    stem = path.stem.removesuffix(".eval")
    return (stem if stem.lower() not in ("", "eval") else path.resolve().parent.name[:MAX_NAME]) or "eval"


def _override(draft: Draft, overrides: Sequence[str], environment: Interpolation) -> None:
    """Set what the command line says, with ``${NAME}`` filled in as in the file."""
    known = len(environment.problems)
    for text in overrides:
        draft.override(text, environment.fill)
    draft.problems += environment.problems[known:]
    draft.secrets = environment.secrets


def _choose_agent(draft: Draft, name: str, registry: Registry) -> None:
    """Leave one agent in a draft; an unknown name is reported later."""
    variants, kept = draft.tree.get("variants"), ("variants", name)
    if isinstance(variants, dict) and name in variants:
        draft.tree["variants"] = {name: variants[name]}
    elif ("agent", name) in set(registry.names()):
        draft.set(("agent",), {"type": name}, f"--eval-agent={name}")
        kept = ("agent", "type")
    else:
        return
    draft.problems = [p for p in draft.problems if p.path[:1] not in AGENTS or p.path[:2] == kept]


def _gate(
    draft: Draft, registry: Callable[[], Registry], overrides: Sequence[str], environment: Interpolation
) -> GateConfig:
    _override(draft, overrides, environment)
    draft.problems += take_refused(draft.tree)
    strange = [str(key) for key in draft.tree if snake(str(key)) != "gate"]
    for key in strange:
        draft.wrong((key,), "only keys of the gate can be set here, such as gate.min_pass_rate=0.9.")
    raw = draft.tree.get(str(find_key(draft.tree, "gate")), {})
    members = registry() if isinstance(raw, dict) and raw.get("rules") else Registry()
    draft.problems += wrong_booleans(raw, GateConfig, members, path=("gate",))
    try:
        gate = GateConfig.model_validate(raw, context={"registry": members})
    except ValidationError as error:
        found = problems_in(error, GateConfig, raw, members)
        draft.problems += [Problem(("gate", *p.path), p.message, p.kind) for p in found]
    if draft.problems:
        raise ConfigError("\n".join(draft.list_messages()))
    return gate


def _draft(document: Document, path: Path, registry: Registry, environment: Interpolation) -> Draft:
    tree = environment.fill(document.value)
    draft = Draft(tree, format_path(path), document.line_of, secrets=environment.secrets)
    draft.unread = [(line, message) for line, message in document.problems]
    draft.problems += environment.problems
    draft.problems += _two_spellings(draft.tree)
    for reader in registry.readers:
        reader.convert(draft, environment.environ)
    return draft


def _build_config(draft: Draft, path: Path, registry: Registry, environment: Interpolation) -> EvalConfig:
    know_secrets(list_spellings(environment.secrets))  # of what is found only when rows are read, say
    for reader in registry.readers:
        reader.convert_blocks(draft, registry)
    draft.problems += take_refused(draft.tree)
    _complete(draft, path)
    config = _validate(draft, registry)
    if config is not None and (config.gate.passed_trials or 0) > config.trials:
        message = f"a row has {config.trials} trials here. Write {config.trials} or less, or more `trials`."
        draft.wrong(("gate", "passed_trials"), message.replace("1 trials", "1 trial"))
    if draft.problems or draft.unread or config is None:
        raise ConfigError("\n".join(draft.list_messages()))
    config._path, config._notes = path, tuple(draft.notes)  # noqa: SLF001 set once, here
    config._locate_message = draft.locate_message  # noqa: SLF001
    config._secrets = dict(environment.named)  # noqa: SLF001
    config._in_clear = tuple(environment.in_clear)  # noqa: SLF001
    return config.model_copy(update={"output_dir": (path.parent / config.output_dir).absolute()})


def _read(path: Path, name: str) -> Document:
    try:
        document = parse(read_text(path), path.suffix)
    except DocumentError as error:
        place = name if error.line is None else f"{name}:{error.line}"
        raise ConfigError(f"{place}: {error}") from None
    if document.value is None or document.value == {}:
        raise ConfigError(f"{name}: the file is empty. Write at least  agent: ...  and  dataset: ...")
    if not isinstance(document.value, dict):
        raise ConfigError(
            f"{name}:1: an eval config is a block of keys, not {short(document.value)}. "
            "Write at least  agent: ...  and  dataset: ..."
        )
    return document


def _two_spellings(value: Any, path: tuple[str | int, ...] = ()) -> list[Problem]:
    """Return a problem for each key that stands in a block in snake_case and in camelCase."""
    problems = []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        plain = snake(key) if isinstance(key, str) else key
        if plain != key and plain in value and isinstance(key, str) and key[:1].islower():
            problems.append(Problem((*path, key), f"also given as {plain!r}. Leave one out."))
        problems += _two_spellings(child, (*path, key))
    return problems


# -- shorthands in full


def _complete(draft: Draft, path: Path) -> None:
    tree = draft.tree
    tree.setdefault("name", default_name(path))
    tree.setdefault("browser", {"type": "playwright"})
    if isinstance(tree["browser"], dict):
        tree["browser"].setdefault("type", "playwright")
    if find_key(tree, "lanes") is not None and find_key(tree, "num_workers") is not None:
        draft.wrong(("num_workers",), "excludes `lanes`, which is given too. Leave one out.")
    _complete_agents(draft)
    for key in ("graders", "toolkits"):
        if isinstance(tree.get(key), str | dict):
            tree[key] = [tree[key]]
            draft.note_move((key,), (key, 0))
    if "dataset" in tree:
        _complete_datasets(draft)


def _complete_agents(draft: Draft) -> None:
    tree = draft.tree
    if "agent" in tree and "variants" in tree:
        draft.wrong(("agent",), "excludes `variants`, which is given too. Leave one out.")
        tree.pop("agent")
    elif "agent" in tree:
        tree["variants"] = {"default": tree.pop("agent")}
        draft.note_move(("agent",), ("variants", "default"))
    elif "variants" not in tree:
        draft.wrong((), "agent: missing. Write  agent: {type: NAME}  or  variants: {NAME: {type: ...}}.")
        tree["variants"] = None


def _complete_datasets(draft: Draft) -> None:
    given = draft.tree["dataset"]
    if not isinstance(given, list):
        given = [given]
        draft.note_move(("dataset",), ("dataset", 0))
    blocks = []
    for place, entry in enumerate(given):
        path: KeyPath = ("dataset", place)
        block = {"path": entry} if isinstance(entry, str) else entry
        if isinstance(entry, str):
            draft.note_move(path, (*path, "path"))
        if isinstance(block, dict) and "type" not in block and isinstance(block.get("path"), str):
            block = {**block, "type": _type_of(draft, (*path, "path"), block["path"])}
        blocks.append(block)
    draft.tree["dataset"] = blocks


def _type_of(draft: Draft, where: KeyPath, file: str) -> str | None:
    suffix = Path(file).suffix.lower()
    if suffix not in TYPE_BY_SUFFIX and "${" not in file:  # else the variable is told already
        draft.wrong(
            where,
            f"the suffix of {file!r} names no format. Known: {', '.join(TYPE_BY_SUFFIX)}. "
            "For another one write  dataset: [{type: jsonl, path: ...}].",
        )
    return TYPE_BY_SUFFIX.get(suffix)


# -- checking


def _validate(draft: Draft, registry: Registry) -> EvalConfig | None:
    draft.problems += wrong_booleans(draft.tree, EvalConfig, registry)
    try:
        return EvalConfig.model_validate(draft.tree, context={"registry": registry})
    except ValidationError as error:
        known = {problem.path for problem in draft.problems}
        found = problems_in(error, EvalConfig, draft.tree, registry)
        for problem in found:
            covered = any(problem.path[: len(path)] == path or path[:-1] == problem.path for path in known)
            if problem.kind == "too_short" and any(_is_inside(other.path, problem.path) for other in found):
                continue  # it lacks the entry that is wrong
            if not covered or not known:
                draft.problems.append(_top_level(problem))
        return None


def _is_inside(path: KeyPath, outer: KeyPath) -> bool:
    return len(path) > len(outer) and path[: len(outer)] == outer


def _top_level(problem: Problem) -> Problem:
    """Return the problem with the top-level keys that the model itself does not have."""
    if problem.kind != "extra_forbidden" or len(problem.path) != 1:
        return problem
    known = sorted({*field_names(EvalConfig), "agent"})
    hint = nearest(snake(str(problem.path[0])), known)
    return Problem(problem.path, f"unknown key.{hint} Allowed: {', '.join(known)}.")
