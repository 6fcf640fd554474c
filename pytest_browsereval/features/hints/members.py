"""What to write for the name of a member that there is not, where the name says what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from pytest_browsereval.foreign_names import find_maker
from pytest_browsereval.graders.page_checks import list_page_checks
from pytest_browsereval.providers import PROVIDERS

_FUNCTION = re.compile(r"([\w./]+?)(?:\.py)?:{1,2}(\w+)")
"""``my_agent:solve``, and as pytest names a test: ``my_agent.py::solve``."""

_GRADERS = {
    "contains icontains includes": '{type: answer, match: includes}` and `"answer": "..."` in the row',
    "equals exact exact_match match": '{type: answer, match: exact}` and `"answer": "..."` in the row',
    "answer-relevance factuality g-eval llm-judge llm-rubric llm_as_judge llm_judge model_graded_fact "
    "model_graded_qa model-graded-closedqa": '{type: llm, prompt: "... {query} ... {answer}"}`',
    "javascript js": 'page_state` and `"checks": [{"js": "...", "equals": ...}]` in the row',
}
"""Graders of other tools, and ours."""


def explain(family: str, name: str) -> str:
    """Return what to write instead of the name of a member; "" where nobody knows."""
    find = _FAMILIES.get(family)
    return "" if find is None else find(name)


def _explain_agent(name: str) -> str:
    if function := _FUNCTION.fullmatch(name):
        module = function[1].removeprefix("./").replace("/", ".")
        block = f'{{type: function, function: "{module}:{function[2]}"}}'
        return (
            f"a function of yours is an agent of the type `function`. Write `agent: {block}` into the "
            f"config, or `--eval-set 'agent={block}'`."
        )
    provider, model = split_provider(name)
    if provider is None:
        return ""
    key = PROVIDERS[provider].key_variable or "NAME_OF_VARIABLE"
    return (
        f"a model is an agent of the type `single`. Write `agent: {{type: single, provider: {provider}, "
        f"model: {model or PROVIDERS[provider].default_model or 'NAME'}, api_key: {key}}}`."
    )


def split_provider(name: str) -> tuple[str | None, str]:
    """Return the provider and the model of ``anthropic/claude``, ``openai:gpt-4o`` or ``gpt-4o``."""
    if name in PROVIDERS:
        return name, ""
    first, mark, rest = re.match(r"([\w-]*)([/:]?)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    if mark and first in PROVIDERS:
        return first, rest
    return find_maker(name), name


def _explain_grader(name: str) -> str:
    if form := list_page_checks().get(name):
        return f'it is a check. Write `graders: ["page_state"]` and `checks: {form.example}`.'
    function = _FUNCTION.fullmatch(name)
    if name == "python" or name.endswith(".py") or function:
        named = "grader" if name == "python" else name.removesuffix(".py")
        file = (function[1] if function else named).replace(".", "/") + ".py"
        block = json.dumps({"type": "command", "command": ["{python}", file]})
        called = f"{function[2] if function else 'grade'}(attempt['task'], attempt['final_answer'])"
        return (
            f"a grader of your own is a program. Write `{block}`, and let {file} end with `attempt = "
            f"json.load(open(sys.argv[1])); print(json.dumps({{'pass': {called}}}))`. Rows may name it if "
            "their dataset has `trusted: true`. Or it is a class that a conftest registers in "
            "pytest_browsereval_register."
        )
    ours = next((one for others, one in _GRADERS.items() if name in others.split()), None)
    return "" if ours is None else f"here the name is different. Write `{ours}."


def _explain_browser(name: str) -> str:
    if name in ("chrome", "chromium", "msedge"):
        return "it is what `playwright` starts. Leave `browser` out, or write `browser: {type: playwright}`."
    if name in ("firefox", "webkit", "safari"):
        return "evals run in Chromium only. Leave `browser` out."
    return ""


_FAMILIES: dict[str, Callable[[str], str]] = {
    "agent": _explain_agent,
    "browser": _explain_browser,
    "grader": _explain_grader,
}
