"""A browser's side of the contract: what it does not let an eval do is refused, what it breaks is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextvars import Context

from pytest_browsereval.browsers.base import Browser, BrowserConfig, Survey
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.contracts import check_result, describe_member, naming
from pytest_browsereval.errors import BrowserEvalError, PluginError
from pytest_browsereval.needs import Asker, Needs, Offers, ask_needs, check_fit, find_misfits
from pytest_browsereval.tools.toolkit import Toolkit


async def survey_of(browser: BrowserConfig) -> Survey:
    """Ask a browser what it can do.

    Raises:
        ConfigError: it cannot be reached or lacks something.
        PluginError: it raises or returns what it must not.
    """
    with naming(browser, "survey"):
        survey = await browser.survey()
    survey = check_result(browser, "survey", survey, Survey, "a Survey")
    if browser.brings_tools and survey.tools is None:
        raise PluginError(
            f"{describe_member(browser)}: `brings_tools` is true, and `survey` returned a Survey without "
            "tools. Fix the plug-in."
        )
    return survey


async def start_browser(block: BrowserConfig) -> Browser:
    """Build a browser and start it.

    Raises:
        Fault: it cannot be started.
        PluginError: it raises or returns what it must not.
    """
    with naming(block, "build"):
        built = block.build()
    browser = check_result(block, "build", built, Browser, "a Browser")

    async def start() -> None:
        with naming(block, f"{type(browser).__name__}.start"):
            await browser.start()

    # What a browser starts is no part of the attempt that happened to need it first.
    await asyncio.create_task(start(), context=Context())
    return browser


async def close_browser(block: BrowserConfig, browser: Browser) -> str | None:
    """Close a browser; return why it could not be closed, None if it was."""
    try:
        with naming(block, f"{type(browser).__name__}.close"):
            await browser.close()
    except BrowserEvalError as error:
        return str(error)
    return None


def check_agents(config: EvalConfig, offers: Offers) -> None:
    """Refuse agents that need what the run does not offer.

    Raises:
        ConfigError: there is one.
    """
    for name, agent in config.variants.items():
        try:
            check_fit(Asker("this agent"), ask_needs(agent), offers)
        except ValueError as error:
            raise config.wrong(("variants", name), error) from None


def check_capture(config: EvalConfig, survey: Survey) -> None:
    """Refuse to record what the browser does not let be recorded.

    Raises:
        ConfigError: it is asked for.
    """
    capture, offers = config.capture, Offers(page=config.browser.has_page, browser=config.browser.type)
    refused = {"har": survey.no_har, "trace": survey.no_trace}
    for name in ("har", "trace", "console", "dom", "checks"):
        if getattr(capture, name) in (False, "off", "end"):
            continue
        asker = Asker(f"capture.{name}", "is on", f"Leave {name} out")
        why = next(find_misfits(asker, Needs(page=True), offers), refused.get(name))
        if why is not None:
            raise config.wrong(("capture", name), why)


def check_switches(
    config: EvalConfig, variant: str, kits: Iterable[Toolkit], vetoes: Mapping[str, str]
) -> None:
    """Refuse to switch tools on that need a page where windows have none.

    Args:
        config: its switches count, and before them those of the variant.
        variant: its name.
        kits: the toolkits of the run.
        vetoes: tools of the variant that are on and cannot work.

    Raises:
        ConfigError: somebody does.
    """
    names = {kit.key: kit.names for kit in kits}
    own = config.variants[variant].tools or {}
    for name, is_on in {**config.tools, **own}.items() if not config.browser.has_page else ():
        lacking = [tool for tool in names.get(name, (name,)) if tool in vetoes]
        if is_on and lacking:
            place = ("variants", variant, "tools") if name in own else ("tools",)
            raise config.wrong(
                (*place, name),
                f"{name} is on, and {', '.join(lacking)} cannot work: {vetoes[lacking[0]]}. "
                f"Leave {name} out, or use a browser of type playwright or cdp.",
            )
