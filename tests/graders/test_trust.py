"""What graders of a row may do without a trusted dataset."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import PluginError
from pytest_browsereval.features.combined_grader.grader import AnyGrader
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.trust import find_trust_needs
from pytest_browsereval.llm.config import ApiKey, LLMConfig
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import Needs

TASK = Task(query_id="r", query="q")
MODEL = {"provider": "openai-compatible", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
OWN_MODEL = "asks a model of its own (`judge`)"
FOREIGN = 'contacts "http://h.test:1", which is not one of the sites'
SHELL = {"type": "command", "command": ["sh", "-c", "true"]}


class Source(BaseModel):
    model: LLMConfig | None = None
    key: ApiKey | None = None


class Acme(GraderConfig):
    """A package's grader, with what a hostile row would like to fill in."""

    type: Literal["acme/any"] = "acme/any"

    sources: dict[str, Source] = Field(default_factory=dict)
    token: SecretStr | None = None
    inner: AnyGrader | None = None
    script: str | None = None
    page: str | None = None

    def needs(self, task: Task) -> Needs:
        return Needs(
            trust=(f"runs {self.script} for {task.query_id}",) if self.script else (),
            addresses=(self.page,) if self.page else (),
        )

    async def grade(self, recorded: Recorded) -> GraderResult:
        raise NotImplementedError


def needs(block: dict[str, Any], **site_urls: str) -> list[str]:
    """Return what a grader's block needs trust for."""
    registry = builtin_registry()
    registry.register(Acme, owner="acme 1.0")
    member = registry.get("grader", block["type"])
    grader = member.model_validate(block, context={"registry": registry})
    assert isinstance(grader, GraderConfig)
    return find_trust_needs(grader, TASK, site_urls)


def fetched(url: str, **site_urls: str) -> list[str]:
    return needs({"type": "state_diff", "source": {"url": url}}, **site_urls)


def test_what_needs_trust_is_found(subtests: pytest.Subtests) -> None:
    """Programs, folders of code, models, keys and foreign addresses, of packages and inside of others too."""
    cases: list[tuple[dict[str, Any], str]] = [
        (SHELL, "starts the program 'sh'"),
        ({"type": "infinity", "root": "apps"}, "runs verifiers of the folder 'apps' (`root`)"),
        ({"type": "infinity", "python": "/bin/sh"}, "starts the program '/bin/sh' (`python`)"),
        ({"type": "agisdk", "package_dir": "here"}, "runs scripts of the folder 'here' (`package_dir`)"),
        ({"type": "browsecomp", "judge": MODEL}, OWN_MODEL),
        ({"type": "rubric", "judge": {"provider": "openai", "model": "m"}}, OWN_MODEL),
        ({"type": "acme/any", "sources": {"a": {"model": MODEL}}}, "asks a model of its own (`model`)"),
        ({"type": "acme/any", "sources": {"a": {"key": "OPENAI_API_KEY"}}}, "contains a key (`key`)"),
        ({"type": "acme/any", "token": "SOME_TOKEN"}, "contains a key (`token`)"),
        ({"type": "acme/any", "script": "x.py"}, "runs x.py for r"),
        ({"type": "acme/any", "page": "http://h.test:1/a?k=1"}, FOREIGN),
        ({"type": "acme/any", "inner": SHELL}, "starts the program 'sh'"),
        ({"type": "combined", "graders": ["answer", SHELL]}, "starts the program 'sh'"),
    ]
    for block, need in cases:
        with subtests.test(block=block, need=need):
            assert needs(block) == [need]
            inner = {"type": "combined", "graders": ["answer", block]}
            assert needs({"type": "combined", "graders": ["gaia", inner]}) == [need]


def test_nothing_else_needs_trust() -> None:
    """Bare names of all our graders, and options that stay in the page or in the log."""
    named = {name: needs({"type": name}) for name in builtin_names() if name not in ("command", "llm")}
    assert named == {name: [] for name in named}
    assert needs({"type": "state_diff", "source": {"js": "window.state"}}) == []
    assert needs({"type": "acme/any"}) == []


def builtin_names() -> list[str]:
    """Return the graders that need no option."""
    members = builtin_registry().members("grader")
    return [n for n, member, _ in members if not any(f.is_required() for f in member.model_fields.values())]


def test_addresses_elsewhere_need_trust(subtests: pytest.Subtests) -> None:
    """Whatever an address begins like, it has to stay on the host of a site."""
    cases: list[str] = [
        "http://127.0.0.1:1/secret",
        "{shop}.evil.test/",
        "{shop}@evil.test/",
        "{shop}:80@evil.test/",
        "{shop}1/",
        "x{shop}/",
        "http://127.0.0.1:80001/",
        "http://127.0.0.1:8000@evil.test/",
        "//evil.test",
        "http://[",
    ]
    for url in cases:
        with subtests.test(url=url):
            (need,) = fetched(url, shop="http://127.0.0.1:8000")
            assert need.endswith("which is not one of the sites")


@pytest.mark.parametrize("rest", ["", "/", "/api/state", "?a=1", "#a"])
def test_addresses_of_sites_need_no_trust(rest: str) -> None:
    """Before the placeholders are filled in, and afterwards."""
    assert fetched("{shop}" + rest) == []
    assert fetched("http://127.0.0.1:8000" + rest, shop="http://127.0.0.1:8000") == []


def test_a_grader_that_cannot_say_what_it_needs_is_named() -> None:
    """Nobody knows whether such a row may be trusted, so it is refused."""

    class Broken(Acme):
        type: Literal["acme/broken"] = "acme/broken"  # type: ignore[assignment]

        def needs(self, task: Task) -> Needs:
            raise ValueError(task.query_id)

    with pytest.raises(PluginError, match=r"the grader 'acme/broken' .*`needs` raised ValueError: r"):
        find_trust_needs(Broken(), TASK, {})
