"""What identifies the rules of a grade: stored grades are compared by it, and regraded by it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import JsonValue

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import observation_keys
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.tasks import Task


def grader(name: str, **options: Any) -> GraderConfig:
    registry = builtin_registry()
    block = {"type": name, **options}
    made = registry.get("grader", name).model_validate(block, context={"registry": registry})
    assert isinstance(made, GraderConfig)
    return made


class Looking(GraderConfig):
    """A grader of a plug-in that says nothing of what it observes."""

    type: Literal["looking"] = "looking"
    bar: float = 1.0

    async def observe(self, window: Any, task: Any, site_urls: Any) -> JsonValue:
        del task, site_urls
        return window.url  # type: ignore[no-any-return]

    async def grade(self, recorded: Any) -> GraderResult:
        del recorded
        return GraderResult(grader=self.label, verdict=Verdict.PASSED, reasoning="")


def keys_of(one: GraderConfig, **keys: Any) -> dict[str, str]:
    return observation_keys([one], Task(query_id="a", query="Do it.", **keys))


def page(locator: str, expected: str) -> dict[str, Any]:
    target = {"url": "last", "locator": locator, "required_contents": {"must_include": [expected]}}
    return {"eval_types": ["program_html"], "program_html": [target]}


def test_what_is_observed_makes_the_difference() -> None:
    """Another source or locator does; what is expected of it, and how it is compared, does not."""
    first, second = ({"source": {"js": name}} for name in "ab")
    same = keys_of(grader("state_diff", **first, mode="lenient"))
    assert same == keys_of(grader("state_diff", **first, pass_at=0.5))
    assert same != keys_of(grader("state_diff", **second))
    arena = grader("webarena")
    assert keys_of(arena, evals=[page("document.a", "1")]) == keys_of(arena, evals=[page("document.a", "2")])
    assert keys_of(arena, evals=[page("document.a", "1")]) != keys_of(arena, evals=[page("document.b", "1")])
    assert keys_of(arena, evals=[{"eval_types": ["url_match"], "reference_url": "http://a.test/"}]) == {}


def test_a_plug_in_that_says_nothing() -> None:
    """What it observes may depend on the checks and evals of the row, its own options set aside."""
    assert keys_of(Looking(bar=0.5)) == keys_of(Looking())
    assert keys_of(Looking(), checks=[{"title": "A"}]) != keys_of(Looking())


def test_renewed_secrets_make_no_difference() -> None:
    """A secret in an address is left out of the key."""

    def key(secret: str) -> dict[str, str]:
        one = grader("state_diff", source={"url": f"http://a.test/?key={secret}"})
        return observation_keys(
            [one], Task(query_id="a", query="Do it."), lambda text: text.replace(secret, "-")
        )

    assert key("old") == key("new")
