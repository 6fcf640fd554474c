"""Leases of sites: which attempt uses which instance, and when instances start and end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from pathlib import Path

from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, Outage, nearest
from pytest_browsereval.sites.base import Site
from pytest_browsereval.sites.settings import RESTART, SiteConfig, find_kind


class Sites:
    """The sites of one process, started when they are first needed.

    Args:
        configs: the sites by name.
        base_dir: the folder of the config.
        log_dir: where the output of commands is written, one file an instance; None keeps it nowhere.
        redact: takes secrets out of that output.
        withheld: files and folders that no static site serves, and no copy of data has.
    """

    def __init__(
        self,
        configs: Mapping[str, SiteConfig],
        base_dir: Path,
        log_dir: Path | None = None,
        redact: Callable[[str], str] = str,
        withheld: Sequence[Path] = (),
    ) -> None:
        self._configs = configs
        self._base_dir = base_dir
        self._log_dir = log_dir
        self._redact = redact
        self._withheld = withheld
        self._shared: dict[str, Site] = {}
        self._idle: defaultdict[str, list[Site]] = defaultdict(list)
        self._running: set[Site] = set()
        self._changed: set[Site] = set()
        """Those that a row which needs a reset was run on, since they were started."""
        self._starting: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._numbers = itertools.count(1)
        # When each site last answered: an error that follows can say how long it was up.
        self._answered_at: dict[str, float] = {}
        self._is_closed = False

    @contextlib.asynccontextmanager
    async def lease(
        self, names: Collection[str], *, needs_reset: bool = True
    ) -> AsyncIterator[Mapping[str, str]]:
        """Yield the base URLs of the sites, by name, for as long as they are needed.

        A site with a ``reset`` is the holder's alone and is in its first state; the others are shared.

        Args:
            names: the sites that are needed.
            needs_reset: whether the holder changes their state: one that is reset by a restart is restarted
                before and after it.

        Raises:
            ConfigError: the config has no site of that name.
            Fault: source *site*: one does not start or is not reset; or, when the lease ends, one has
                ended in the meantime, so that what was seen of it is worth nothing.
        """
        async with contextlib.AsyncExitStack() as stack:
            urls = {}
            for name in sorted(set(names)):
                urls[name] = await stack.enter_async_context(self._lease_one(name, needs_reset=needs_reset))
            yield urls

    def find_data(self, urls: Mapping[str, str]) -> dict[str, Path]:
        """Return the copies of data that sites in use have, by the names of the sites.

        Args:
            urls: base URLs by name.
        """
        data = {site.url: site.data for site in self._running if site.data is not None}
        return {name: data[url] for name, url in urls.items() if url in data}

    async def check(self, urls: Mapping[str, str]) -> None:
        """Check that sites that are in use are still up.

        Args:
            urls: base URLs by name.

        Raises:
            Fault: source *site*: one has ended, so that what was seen of it is worth nothing.
        """
        for site in [one for one in self._running if one.url in urls.values()]:
            if why := await site.trouble():
                raise Fault(ErrorSource.SITE, why)

    async def close(self) -> None:
        """End all sites; never raises."""
        self._is_closed = True
        running, self._running = self._running, set()
        self._shared.clear()
        self._idle.clear()
        self._changed.clear()
        await asyncio.gather(*(site.close() for site in running), return_exceptions=True)

    @contextlib.asynccontextmanager
    async def _lease_one(self, name: str, *, needs_reset: bool) -> AsyncIterator[str]:
        if name not in self._configs:
            raise ConfigError(
                f"{name!r} is not a site of the config.{nearest(name, self._configs)} "
                f"Sites: {', '.join(self._configs) or 'none'}. Add it to `sites`."
            )
        is_exclusive = self._configs[name].reset is not None
        try:
            site = await (self._take(name, needs_reset=needs_reset) if is_exclusive else self._share(name))
        except Fault as fault:
            if self._is_closed:
                raise
            last, what = self._answered_at.get(name), f"the site {name!r}"
            raise Outage(fault.source, str(fault), what=what, answered_at=last) from fault
        self._answered_at[name] = time.time()
        try:
            yield site.url
        except BaseException as error:
            if site.has_ended:
                error.add_note(f"The site {name!r} had ended by then.")
            raise
        else:
            if why := await site.trouble():
                raise Fault(ErrorSource.SITE, why)
        finally:
            if is_exclusive and site in self._running:
                if needs_reset:
                    self._changed.add(site)
                # The last one is taken first: better one that needs no restart.
                self._idle[name].insert(0 if needs_reset else len(self._idle[name]), site)

    async def _share(self, name: str) -> Site:
        async with self._starting[name]:
            if name in self._shared and self._shared[name].has_ended:  # its last holder got the error
                await self._discard(self._shared.pop(name))
            if name not in self._shared:
                self._shared[name] = await self._start(name)
            return self._shared[name]

    async def _take(self, name: str, *, needs_reset: bool) -> Site:
        config, idle = self._configs[name], self._idle[name]
        while idle and idle[-1].has_ended:
            await self._discard(idle.pop())
        site = idle.pop() if idle else None
        if site is not None and config.reset == RESTART and (needs_reset or site in self._changed):
            await self._discard(site)
            site = None
        if site is None:
            site = await self._start(name)
            if config.data is not None:  # a new copy: it is in its first state
                return site
        try:
            await site.reset()
        except BaseException:
            await self._discard(site)
            raise
        return site

    async def _start(self, name: str) -> Site:
        site = self._make_site(name)
        self._running.add(site)
        try:
            await site.start()
        except BaseException:
            self._running.discard(site)
            raise
        if self._is_closed:
            await self._discard(site)
            raise Fault(ErrorSource.SITE, f"The site {name!r} was asked for while the run was ending.")
        return site

    def _make_site(self, name: str) -> Site:
        config = self._configs[name]
        if config.static is not None:
            from pytest_browsereval.sites.static import StaticSite  # most evals have no web server

            return StaticSite(config.folder(self._base_dir), self._withheld)
        name_of_log = f"{name}-{os.getpid()}-{next(self._numbers)}.log"
        log = self._log_dir / name_of_log if self._log_dir else None
        site: Site = find_kind("command")(
            name, config, self._base_dir, log, self._redact, withheld=self._withheld
        )
        return site

    async def _discard(self, site: Site) -> None:
        self._running.discard(site)
        self._changed.discard(site)
        await site.close()
