"""A row before the first attempt: its graders, and whether it fits them, its sites and its agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches

from pydantic import JsonValue, ValidationError

from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.agents.scripted import ScriptedConfig, check_variables, refuse_untrusted
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.contracts import naming
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.errors import ConfigError, DatasetError, Fault, RegistryError, StopRun, nearest
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import unfold
from pytest_browsereval.graders.page_checks import check_milestones, read_page_check
from pytest_browsereval.graders.trust import check_trust
from pytest_browsereval.llm.client import check_key
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import Asker, Needs, Offers, ask_needs, check_fit
from pytest_browsereval.redaction.config import hide_passwords
from pytest_browsereval.registry import Registry, read_block
from pytest_browsereval.run.relations import list_own_sites, sites_to_reset
from pytest_browsereval.run.toolsets import Toolsets
from pytest_browsereval.sites import names_in, unknown_sites
from pytest_browsereval.tools.toolkits import PAGELESS
from pytest_browsereval.validation_errors import list_problems, wrong_booleans


def read_graders(
    blocks: Iterable[str | Mapping[str, JsonValue]], registry: Registry, where: str, *, hide: bool = True
) -> Iterator[GraderConfig]:
    """Yield the graders of a row.

    Args:
        blocks: as the row has them.
        registry: where they are looked up.
        where: file, line and row, for messages.
        hide: False allows values in messages: the row is not protected.

    Raises:
        DatasetError: one is unknown, or its options are wrong.
    """
    for given in blocks:
        block = {"type": given} if isinstance(given, str) else given
        name = block.get("type")
        if not isinstance(name, str):
            raise DatasetError(f"{where}: the grader {given!r} has no type. Write {{'type': NAME}}.")
        try:
            member = registry.get("grader", name)
            if problem := next(wrong_booleans(block, member, registry), None):
                raise DatasetError(f"{where}: grader {name}: {problem.where}: {problem.message}")
            options = {**block, "type": member.type_name()}
            grader = read_block(member, options, {"registry": registry})
        except RegistryError as error:
            raise DatasetError(f"{where}: {error}") from None
        except ValidationError as error:
            found = list_problems(error, member, options, registry, hide=hide)
            problems = "; ".join(f"{one.where}: {one.message}" if one.path else one.message for one in found)
            raise DatasetError(f"{where}: grader {name}: {problems}") from None
        assert isinstance(grader, GraderConfig)  # noqa: S101 what the family holds
        yield grader


def read_own_graders(
    task: Task, dataset: DatasetConfig, registry: Registry, where: str
) -> tuple[GraderConfig, ...]:
    """Return the graders that a row brings, those of a dataset's block in the config included.

    Raises:
        DatasetError: one is wrong, or does what only rows of a trusted dataset may ask for.
    """
    graders = tuple(read_graders(task.graders, registry, where, hide=task.protected))
    if not dataset.trusted:
        own, given = dataset.own_graders, zip(graders, task.graders, strict=True)
        try:
            check_trust([grader for grader, block in given if block not in own], task, {})
        except ValueError as error:
            raise DatasetError(f"{where}: {error}") from None
    return graders


def add_advisory(
    graders: tuple[GraderConfig, ...], advisory: Iterable[GraderConfig]
) -> tuple[GraderConfig, ...]:
    """Return a row's graders and those that features add, but for one whose name is taken."""
    labels = {grader.label for grader in graders}
    return (*graders, *(grader for grader in advisory if grader.label not in labels))


def check_that_all_is_read(
    task: Task, graders: Iterable[GraderConfig], registry: Registry, where: str
) -> None:
    """Refuse a row with a check that nothing reads, which would be passed over in silence.

    Raises:
        DatasetError: it has one, or ``effects``; with the feature or the graders that would read it.
    """
    for key in (key for check in (*task.checks, *(one.check for one in task.milestones)) for key in check):
        if feature := registry.find_left_out("check", key):
            raise DatasetError(
                f"{where}: the row has a check with `{key}`, and the feature that looks at it is left out "
                f"(-p no:{feature}). Leave that option out, or take the check out."
            )
    read_by = [one.reads for grader in graders for one in unfold(grader)]
    if task.effects is not None and not any(one.effects for one in read_by):
        raise DatasetError(f"{where}: the row has `effects`, but no grader that reads it. Add effects.")
    for check in task.checks:
        if not any(one.include(check) for one in read_by):
            known = ((name, m) for name, m, _ in registry.members("grader"))
            readers = [name for name, m in known if issubclass(m, GraderConfig) and m.reads.include(check)]
            keys, named = ", ".join(f"`{key}`" for key in check), " or ".join(readers)
            raise DatasetError(
                f"{where}: the row has a check with {keys}, but no grader that reads it. "
                f"Add {named or 'a grader that does'}, or take the check out."
            )


def check_row(
    config: EvalConfig, task: Task, graders: Iterable[GraderConfig], modify: Callable[[Task], Task] | None
) -> None:
    """Check that a row can be run and judged.

    Args:
        config: what it is run with.
        task: the row.
        graders: those that judge it.
        modify: what plug-ins make of a row, None if nothing: they may put addresses into it.

    Raises:
        ValueError: it cannot.
        ConfigError: there is no key for the run's judge.
    """
    offers = Offers(
        page=config.browser.has_page,
        pictures=config.capture.screenshots != "off",
        traffic=config.browser.has_page,
        judge=config.judge,
        browser=config.browser.type,
    )
    own_sites = {name: config.sites[name] for name in list_own_sites(task, config.sites)}
    for grader in graders:
        with naming(grader, "check", ValueError):
            grader.check(task, config.base_dir)
            grader.check_sites(task, own_sites, config.base_dir)
            check_needs(grader, task, offers, config)
    check_milestones(task)
    _check_comparisons(task, config, modify)
    check_addresses(task, config.sites, modify)
    way = "Prepare the state with the `reset` of the site or with the start_url"
    needs = Needs(page=task.setup_script is not None)
    check_fit(Asker("the row", "has a setup_script", way), needs, offers)
    addresses = task.model_dump_json(include={"start_url", "solution"})
    if hide_passwords(addresses) != addresses:
        raise ValueError(
            "an address has a user and a password, which each record of it would show. Take them out, and "
            "write `browser: {context: {http_credentials: {username: NAME, password: ${VARIABLE}, origin: "
            "...}}}`."
        )
    config.browser.check_window(task.context, task.clock or config.clock)
    if task.ready or any(
        config.sites[name].ready for name in names_in(task.start_url or "") & {*config.sites}
    ):
        check_fit(Asker("the row", "waits for `ready`", "Leave it out"), Needs(page=True), offers)
    lacking, _ = sites_to_reset(task, config.sites)
    if lacking:
        raise ValueError(
            f"the row requires_reset, and the site {lacking[0]!r} has no `reset`. Write `sites: "
            f'{{{lacking[0]}: {{reset: "POST /reset"}}}}` or `{{reset: restart}}`, '
            "or take requires_reset out of the row."
        )


def check_agent(
    config: EvalConfig,
    task: Task,
    graders: Iterable[GraderConfig],
    variant: str,
    toolsets: Toolsets,
    *,
    is_trusted: bool,
) -> None:
    """Check that the agent of a variant can work on a row with the tools that it has.

    Args:
        config: has the agent.
        task: the row.
        graders: those that judge it.
        variant: the name of the agent.
        toolsets: the tools of the run.
        is_trusted: whether the row may use the config's variables.

    Raises:
        ValueError: it cannot.
    """
    agent: AgentConfig = config.variants[variant]
    sites = toolsets.sites_used(task, config.sites)
    tools = {tool.name: tool for tool in toolsets.tools_for(variant, sites)}
    try:
        with naming(agent, "check", ValueError):
            agent.check(task, tools)
        if isinstance(agent, ScriptedConfig):
            check_variables(task.solution, config.variables, config.variable_values(), trusted=is_trusted)
    except ValueError as error:
        raise ValueError(toolsets.with_absent_tools(variant, error)) from None
    typed = [name for name in config.variables if f"${{{name}}}" in task.query]
    if typed and not is_trusted:
        raise refuse_untrusted(f"the query has ${{{typed[0]}}}")
    names: dict[str, Collection[str]] = {name: () for kit in toolsets.kits for name in kit.names}
    names |= {name: tool.parameters for name, tool in tools.items()}
    has_others = not ask_needs(agent).tools
    for grader in (one for outer in graders for one in unfold(outer)):
        grader.check_tools(task, names, has_others=has_others)
    for milestone in task.milestones:
        read_page_check(milestone.check).check_tools(names, has_others=has_others)
    if task.start_url is not None:
        asker = Asker(f"the row starts at {task.start_url}, and the agent {agent.type!r}")
        is_lost = not config.browser.has_page and set(tools) <= PAGELESS
        why = toolsets.with_absent_tools(variant, "no tool of the run reaches a page")
        check_fit(asker, ask_needs(agent), Offers(no_tools=why if is_lost else None))


def _check_comparisons(task: Task, config: EvalConfig, modify: Callable[[Task], Task] | None) -> None:
    """Refuse comparisons with the name of a variable: ``not`` would always hold, the others never would."""
    name = _find_compared(task, config.variables)
    if name and modify is not None:
        try:
            name = _find_compared(modify(task), config.variables)
        except (Fault, StopRun):  # the attempt reports it
            return
    if name:
        raise ValueError(
            f"the row compares with ${{{name}}}, and only what is typed gets the value of a variable. Check "
            "what the page shows after it was typed."
        )


def _find_compared(task: Task, variables: Iterable[str]) -> str | None:
    blocks = (one.get("checks") for one in task.graders if isinstance(one, Mapping))
    own = [one for block in blocks if isinstance(block, list | tuple) for one in block]
    checks = [*task.checks, *(one.check for one in task.milestones), *own]
    # An agent's call has the name.
    seen = [one for one in checks if isinstance(one, Mapping) and "called" not in one]
    given = str((seen, task.answer, task.effects))
    return next((name for name in variables if f"${{{name}}}" in given), None)


_BARE_HOST = re.compile(r"(?:(?P<local>localhost|127\.[\d.]+|\[::1\])|[\w-]+(\.[\w-]+)+)(:\d+)?([/?#]|$)")


def check_addresses(task: Task, sites: Collection[str], modify: Callable[[Task], Task] | None) -> None:
    """Check that addresses have a scheme, and name sites that there are.

    Raises:
        ValueError: one does not; the message says what to write.
    """
    unknown = list(_list_unknown_sites(task, sites))
    if unknown and modify is not None:
        try:
            unknown = list(_list_unknown_sites(modify(task), sites))
        except (Fault, StopRun):  # the attempt reports it
            return
    url = task.start_url
    if url and modify is None and (host := _BARE_HOST.match(url)):
        scheme = "http" if host["local"] else "https"
        raise ValueError(f"start_url is {url!r}, which has no scheme. Write {scheme}://{url}")
    for name in task.sites:  # others may be somewhere else
        if name not in sites and get_close_matches(name, sites, n=1, cutoff=0.8):
            raise ValueError(
                f"`sites` has {name!r}, which is not a site of the config.{nearest(name, sites)} "
                f"Sites: {', '.join(sites)}."
            )
    for address, name in unknown:
        raise ValueError(
            f"the address is {address!r}, and {name!r} is not a site of the config."
            f"{nearest(name, sites)} Sites: {', '.join(sites) or 'none'}. "
            "Write one of these, or add it to the key `sites`."
        )


def _list_unknown_sites(task: Task, sites: Collection[str]) -> Iterator[tuple[str, str]]:
    stones = [milestone.check for milestone in task.milestones]
    start = {"start_url": task.start_url}, task.ready and task.ready.model_dump()
    return unknown_sites([*start, task.checks, stones, task.graders, task.solution], sites)


def check_needs(grader: GraderConfig, task: Task, offers: Offers, config: EvalConfig) -> None:
    """Check that a grader has what it needs for a row, and that there is a key for each model it asks.

    Raises:
        ValueError: something is not offered, or there is no key for a model of its own.
        ConfigError: there is no key for the run's judge: that is wrong once, not for each row.
    """
    needs = ask_needs(grader, task)
    check_fit(Asker(f"the grader {grader.label!r}"), needs, offers)
    for judge in (need.choose_model(config.judge) for need in needs.models):
        try:
            check_key(judge)
        except ConfigError as error:
            if judge is config.judge:
                raise config.wrong(("judge",), error) from None
            raise ValueError(str(error)) from None
