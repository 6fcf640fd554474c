"""What other tools call a thing, our names of it, and how ours are written."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

_MEANT = {
    # rows
    "query_id": "id task_id",
    "id task_id key_id": "query_id",
    "question instruction intent": "query",
    "prompt goal task": "query prompt",
    "expected expected_answer expected_output gold ground_truth reference": "answer",
    "url start address": "start_url base_url url",
    "assert asserts assertions expect conditions": "checks graders",
    "steps actions script": "solution",
    # configs
    "llm model models provider providers solver": "agent",
    "prompts": "variants",
    "cases data datasets examples input inputs rows samples tasks test_cases tests": "dataset",
    "defaulttest eval_metrics evaluators metrics scorer scorers": "graders",
    "epochs n num_repetitions num_trials repeat repetitions runs": "trials",
    "concurrency jobs max_concurrency max_connections max_samples max_workers parallel workers": "lanes",
    "base_url host server target_url web_server webserver": "sites",
    "max_iterations max_turns step_limit": "max_steps limits",
    "time_limit": "timeout_ms limits",
    "fail_under min_score pass_threshold success_threshold threshold thresholds": "min_pass_rate gate",
    "experiment experiment_prefix project project_name": "name",
    "env environment secrets vars": "variables",
    "log_dir output output_path outputpath results": "output_dir",
    "channel headless slow_mo use": "browser",
    "max_retries retry": "retries",
    # subcommands
    "diff": "compare",
    "dashboard html open report serve show ui": "view",
    "history list ls": "runs",
    "check lint validate": "doctor",
    "create new setup": "init",
    "eval exec run start test": "pytest",
    # blocks
    "credentials key token secret": "api_key",
    "selector locator css xpath element": "target",
    "timeout timeout_s timeout_ms": "timeout_s timeout_ms limits",
    "pass_rate score accuracy": "min_pass_rate",
    "color_scheme device geolocation http_credentials locale storage_state user_agent viewport": "context",
    # values
    "contains icontains substring": "includes",
    "equals equal is": "exact",
    "chatgpt gpt open_ai": "openai",
    "claude": "anthropic",
    "gemini googleai": "google",
    "azure-openai azure_openai": "azure",
    "aws": "bedrock",
    "litellm vllm": "openai-compatible",
}
"""Names of other tools, and ours: the first of these that is known is meant."""

_FORMS = {
    "agent": "agent: {type: single, provider: openai, model: gpt-4o, api_key: OPENAI_API_KEY}",
    "variants": "variants: {NAME: {type: single, provider: openai, model: gpt-4o, api_key: OPENAI_API_KEY, "
    'instructions: "..."}}',
    "browser": "browser: {headless: false}",
    "context": "context: {viewport: {width: 1280, height: 720}}",
    "checks": 'checks: [{"text": "2 items in cart"}]',
    "dataset": "dataset: tasks.jsonl",
    "gate": "gate: {min_pass_rate: 0.8}",
    "graders": 'graders: ["answer"]',
    "judge": "judge: {provider: openai, model: o4-mini, api_key: OPENAI_API_KEY}",
    "lanes": "lanes: 4",
    "limits": "limits: {max_steps: 30, timeout_ms: 300000}",
    "pytest": "pytest",
    "query": 'query: "Put two blue mugs into the cart."',
    "retries": "retries: 1",
    "sites": "sites: {shop: {command: [npm, start]}}",
    "solution": 'solution: [{"tool": "click", "target": "text=Buy"}]',
    "trials": "trials: 3",
    "variables": "variables: [PASSWORD]",
}
_REMARKS = {
    "pytest": "evals are run by pytest itself, one config alone by `pytest shop.eval.yaml`",
    "query": "a row is one task: write all of it into one text",
    "retries": "only errored attempts are repeated",
    "sites": 'rows begin with its name, `start_url: "{shop}/cart"`; an app that runs already '
    "needs no site, but rows with its whole address",
    "variables": "their values are in the environment",
}


def find_meant(given: str, known: Collection[str]) -> str | None:
    """Return the one of the known names that another tool calls so; None if it is another word."""
    ours = (names for others, names in _MEANT.items() if given.lower() in others.split())
    return next((one for names in ours for one in names.split() if one in known and one != given), None)


def describe_form(name: str) -> str:
    """Return ``" Write `lanes: 4`."`` for a key of a config or a row, or ``""``."""
    remark = f"; {_REMARKS[name]}" if name in _REMARKS else ""
    return f" Write `{_FORMS[name]}`{remark}." if name in _FORMS else ""


def hint_at_dotenv(name: str) -> str:
    """Return what to type where a variable that is not set stands in a file ``.env``, or ``""``."""
    try:
        text = Path(".env").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    known = f"{name}=" in text.replace(" ", "")
    return " The file .env has it and is not read: run `set -a; . ./.env; set +a` first." if known else ""
