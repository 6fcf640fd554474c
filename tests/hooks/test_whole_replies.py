"""Only a whole reply of a model is its reply, streamed or plain: not what was broken off or only thought."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_browsereval.model.messages import AssistantMessage
from pytest_browsereval.runs.folder import read_messages
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, refuses, sends
from tests.hooks.small_evals import Evals, row, single_agent

Json = dict[str, Any]


def call(name: str, call_id: str | None = "c", **arguments: Any) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def whole(content: Any = None, finish: Any = "stop", *calls: Json, **more: Any) -> Json:
    """Return the body of a reply; ``usage`` and ``error`` are those of the body and of the choice."""
    message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}
    usage = more.pop("usage", {"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 109})
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish, **more}], "usage": usage}


def piece(delta: Json, **more: Any) -> Json:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, **more}]}


def pieces_of(body: Json) -> Iterator[Json]:
    """Yield what a server streams of a reply, a few characters at a time."""
    (choice,) = body["choices"]
    message = choice.pop("message")
    content = message.get("content") or ""
    for start in range(0, len(content), 3 if isinstance(content, str) else 1):
        yield piece({"content": content[start : start + (3 if isinstance(content, str) else 1)]})
    for index, made in enumerate(message.get("tool_calls") or ()):
        function = made["function"]
        yield piece({"tool_calls": [{**made, "index": index, "function": {**function, "arguments": ""}}]})
        for sign in function["arguments"]:
            yield piece({"tool_calls": [{"index": index, "function": {"arguments": sign}}]})
    yield {"choices": [{**choice, "delta": {}}]}
    if choice.get("finish_reason") not in (None, "", "null"):
        yield piece({}, finish_reason="stop")  # of a gateway that closes all that it streams alike
    yield {"choices": [], "usage": body["usage"]}


def stream(*pieces: Json, end: str = "\n\n") -> Reply:
    return sends("".join(f"data: {json.dumps(each)}{end}" for each in pieces) + f"data: [DONE]{end}")


def number_row(name: str, **more: Any) -> Json:
    return row(name, says=None, graders=[{"type": "answer", "match": "number"}], answer=7, **more)


PRICES = {"input_per_mtok": 1, "output_per_mtok": 10}
DONE = whole(None, "tool_calls", call("done", answer="7"))
UPSTREAM = {"code": 502, "message": "upstream died"}
FILTERED = "errored: a filter of the provider withheld the reply"
BROKEN = "errored: the provider cut the reply off"
THOUGHT = "I could not find it."

REPLIES: dict[str, tuple[Json, str]] = {
    "error": (whole("7", "error", error=UPSTREAM), "errored: upstream died"),
    "resource": (whole("7", "insufficient_system_resource"), BROKEN),
    "abort": (whole("7", "abort"), BROKEN),
    "malformed": (whole("7", "function_call_filter: MALFORMED_FUNCTION_CALL"), BROKEN),
    "call-broken-off": (whole(None, "error", call("done", answer="7")), BROKEN),
    "no-reason": (whole("7", None), "passed"),
    "null": (whole("7", "null"), "passed"),
    "no-reason-call": (whole(None, "", call("done", answer="7")), "passed"),
    "no-reason-nothing": (whole("\n", None), "errored: "),
    "no-reason-thought": (whole("<think>7", None), "errored: "),
    "filter": (whole("7", "content_filter"), FILTERED),
    "gemini": (whole(None, "content_filter: PROHIBITED_CONTENT"), FILTERED),
    "bedrock": (whole("7", "guardrail_intervened"), FILTERED),
    "lost-call": (whole("7", "tool_calls"), "errored: the reply ends with finish_reason 'tool_calls'"),
    "long": (whole("7", "length"), "failed: "),
    "long-call": (whole(None, "length", call("done", answer="7")), "failed: "),
    "tgi": (whole("7", "eos_token"), "passed"),
    "claude": (whole("7", "end_turn"), "passed"),
    "stop-with-call": (whole(None, "stop", call("done", answer="7")), "passed"),
    "a-number": (whole(None, "tool_calls", call("done", answer=7)), "passed"),
    "deepseek": (whole(f"<think>Maybe 7.</think>\n\n{THOUGHT}"), "failed: "),
    "never-closed": (whole("<think>Maybe 7."), "failed: "),
    "opened-in-the-prompt": (whole(f"Maybe 7.\n</think>\n\n{THOUGHT}"), "failed: "),
    "mistral": (whole(f"[THINK]Maybe 7.[/THINK]{THOUGHT}"), "failed: "),
    "parts": (
        whole([{"type": "thinking", "thinking": [{"type": "text", "text": "Maybe 7."}]}, {"text": THOUGHT}]),
        "failed: ",
    ),
    "harmony": (whole("<|channel|>analysis<|message|>Maybe 7.<|end|>"), "failed: "),
    "call-in-thoughts": (whole('<think>{"tool": "done", "arguments": {"answer": "7"}}</think>'), "failed: "),
    "answer-behind": (whole("<think>Maybe 8.</think>7"), "passed"),
    "answer-in-parts": (
        whole([{"type": "thinking", "thinking": "8?"}, {"type": "text", "text": "7"}]),
        "passed",
    ),
    "final": (whole("<|channel|>analysis<|message|>8?<|end|><|channel|>final<|message|>7"), "passed"),
    "about-html": (whole("7 times <think>."), "passed"),
}


NAMELESS = {name for name in REPLIES if name == "null" or name.startswith("no-reason")}
"""A plain body came whole; a stream ends in order also where a gateway has lost the model."""


def test_streamed_and_plain_come_to_the_same(evals: Evals) -> None:
    """What is broken off is errored, what was only thought is not an answer, words for an end are read."""

    def play(request: ModelRequest) -> Reply:
        body, _ = REPLIES[request.text.partition("answer of ")[2].partition(".\n")[0]]
        copy = json.loads(json.dumps(body))
        return stream(*pieces_of(copy)) if request.body.get("stream") else sends(json.dumps(copy))

    with ScriptedModel(play) as server:
        agent = single_agent(server.base_url)
        part = {key: value for key, value in agent.items() if key != "type"}
        pair = {"type": "orchestrator-executor", "orchestrator": part, "executor": agent}
        variants = {"plain": agent, "streamed": {**agent, "stream": True}, "pair": pair}
        run = evals.play(map(number_row, REPLIES), "--eval-keep-going", variants=variants, lanes=4)
        assert server.problems == []
    assert len(run.attempts) == 3 * len(REPLIES)
    for found in run.attempts:
        is_open = found.variant == "streamed" and found.query_id in NAMELESS
        told = "errored: the stream has no finish_reason" if is_open else REPLIES[found.query_id][1]
        verdict, _, reason = told.partition(": ")
        seen = (found.query_id, found.variant, found.reason)
        assert (found.verdict, reason in found.reason) == (verdict, True), seen
        assert found.error_source == ("provider" if verdict == "errored" else None)
    (log,) = evals.run_folder().glob("tasks/deepseek/plain/*/*/messages.jsonl")
    said = [each for each in read_messages(log.parent) if isinstance(each, AssistantMessage)]
    assert [(each.content, each.reasoning) for each in said] == [(THOUGHT, "Maybe 7.")]


def asked_row(request: ModelRequest) -> str:
    return request.text.partition("answer of ")[2].partition(".\n")[0]


def test_what_was_broken_off_is_asked_for_again(evals: Evals) -> None:
    """The next reply counts, the attempt has a warning, and both are paid for."""
    script = [sends(json.dumps(REPLIES["error"][0])), sends(json.dumps(DONE))]
    with ScriptedModel(script) as server:
        run = evals.play([number_row("lamp")], agent=single_agent(server.base_url, max_tries=2))
        server.assert_finished()
    assert run.ret == pytest.ExitCode.OK
    assert "the model answered only on try 2" in str(run.attempt("lamp").warnings)
    usage = run.attempt("lamp").usage
    assert (usage.input_tokens, usage.output_tokens, usage.requests) == (200, 18, 2)


def test_a_reply_that_nobody_counts_is_warned_of(evals: Evals) -> None:
    """An error in the middle of a reply, and a stream without an end, may be billed; a refusal is not."""
    busy = {"error": {"code": 503, "message": "Busy."}}
    script = {
        "middle": stream(piece({"content": "7"}), busy),
        "no-end": stream(piece({"content": "7"})),
        "refusal": stream(busy),
    }
    with ScriptedModel(lambda request: script[asked_row(request)]) as server:
        agent = single_agent(server.base_url, stream=True, max_tries=1)
        run = evals.play(map(number_row, script), "--eval-keep-going", agent=agent)
    assert {each.error_source for each in run.attempts} == {"provider"}
    warned = [each.query_id for each in run.attempts if "may have been billed" in str(each.warnings)]
    assert sorted(warned) == ["middle", "no-end"]


@pytest.mark.slow
def test_replies_of_no_use_are_paid_for(evals: Evals) -> None:
    """Of an attempt and of a judge that get no other; and an absurd count is left out."""
    absurd = whole("7", usage={"prompt_tokens": 10**13, "completion_tokens": 1})
    broken = REPLIES["error"][0]
    scripts = {"broken": [broken, broken], "absurd": [absurd, broken], "whole": [absurd, DONE]}
    left = {name: list(script) for name, script in {**scripts, "judge": [broken, broken]}.items()}
    with ScriptedModel(lambda request: sends(json.dumps(left[request.body["model"]].pop(0)))) as server:
        more = {"max_tries": 2, "prices": PRICES}
        judge = {"model": "judge", "base_url": server.base_url, **more}
        evals.write_rows(row("lamp", says=None, graders=[], answer=7))
        variants = {name: single_agent(server.base_url, model=name, **more) for name in scripts}
        evals.write_config(variants=variants, graders=[{"type": "browsecomp", "judge": judge}])
        run = evals.run("shop.eval.yaml", "--eval-keep-going", "--eval-set=retries=0")
    found = {each.variant: each for each in run.attempts}
    tokens = {name: each.usage.input_tokens for name, each in found.items()}
    assert tokens == {"broken": 200, "absurd": 100, "whole": 100}
    assert found["broken"].cost_usd == pytest.approx(0.00038)
    (grade,) = found["whole"].grader_results.values()
    assert (grade.verdict, grade.usage.input_tokens) == ("errored", 200)


def json_call(answer: str) -> str:
    return json.dumps({"tool": "done", "arguments": {"answer": answer}})


BY_TEXT: dict[str, tuple[Json, str]] = {
    "thought": (whole(f"<think>Maybe {json_call('8')}</think>{json_call('7')}"), "passed"),
    "in-the-prompt": (whole(f"Maybe {json_call('8')}\n</think>\n{json_call('7')}"), "passed"),
    "in-a-fence": (whole(f"<think>hm</think>\n```json\n{json_call('7')}\n```"), "passed"),
    "about-html": (whole(json_call("7 </think>")), "passed"),
    "only-thought": (whole(f"<think>{json_call('7')}"), "failed"),
    "long": (whole(json_call("7"), "length"), "failed"),
    "filter": (whole(json_call("7"), "content_filter"), "errored"),
}


def test_a_call_by_text_is_a_whole_reply_too(evals: Evals) -> None:
    """Models without tool calls of their own think as well, and are cut off as well."""
    with ScriptedModel(lambda request: sends(json.dumps(BY_TEXT[asked_row(request)][0]))) as server:
        evals.write(
            map(number_row, BY_TEXT), agent=single_agent(server.base_url, tool_calling="json_schema"), lanes=4
        )
        run = evals.run("shop.eval.yaml", "--eval-keep-going")
    assert {each.query_id: each.verdict for each in run.attempts} == {n: v for n, (_, v) in BY_TEXT.items()}


def test_a_request_that_is_refused_for_its_content_errs_its_row(evals: Evals) -> None:
    """The run goes on, before and after the key has answered; a key that never did still ends it."""
    reasons = {"error": {"code": 403, "message": "No.", "metadata": {"reasons": ["violence"]}}}
    replies = {
        "flagged": Reply(status=403, raw=json.dumps(reasons)),
        "guidelines": Reply(status=403, raw='{"error": "Content violates usage guidelines."}'),
        "fine": sends(json.dumps(DONE)),
        "later": refuses(403, "Forbidden"),
        "last": sends(json.dumps(DONE)),
    }
    with ScriptedModel(lambda request: replies[asked_row(request)]) as server:
        run = evals.play(map(number_row, replies), agent=single_agent(server.base_url, api_key="none"))
    found = {each.query_id: (each.verdict, each.error_source) for each in run.attempts}
    errored, passed = ("errored", "provider"), ("passed", None)
    assert list(map(found.get, replies)) == [errored, errored, passed, errored, passed]
    assert "the key none" not in run.stdout.str()


USAGES = {
    "thoughts-in-the-total": {"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 3109},
    "texts": {"prompt_tokens": "100", "completion_tokens": "3009"},
    "floats": {"prompt_tokens": 100.0, "completion_tokens": 3009.0, "total_tokens": 3109.0},
    "no-total": {"prompt_tokens": 100, "completion_tokens": 3009},
    "other-names": {"input_tokens": 100, "output_tokens": 3009},
    "thoughts-counted": {
        "prompt_tokens": 100,
        "completion_tokens": 3009,
        "total_tokens": 3109,
        "completion_tokens_details": {"reasoning_tokens": 3000},
    },
}


def test_tokens_are_counted_however_they_are_written(evals: Evals) -> None:
    """What a model thought is paid for, and limited, also where the total alone has it."""
    evals.write_rows(*map(number_row, USAGES))

    def play(request: ModelRequest) -> Reply:
        body = {**DONE, "usage": USAGES[asked_row(request)]}
        zeros = {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}
        return stream(*pieces_of(json.loads(json.dumps(body))), zeros)

    with ScriptedModel(play) as server:
        prices = {"input_per_mtok": 1, "output_per_mtok": 10}
        evals.write_config(
            agent=single_agent(server.base_url, stream=True, prices=prices), limits={"max_tokens": 3000}
        )
        run = evals.run("shop.eval.yaml")
    for each in run.attempts:
        assert (each.usage.input_tokens, each.usage.output_tokens) == (100, 3009), each.query_id
        assert each.cost_usd == pytest.approx(0.03019)
        assert each.termination_reason == "budget"


UNREADABLE = {
    "deep": ("[" * 200_000, "the reply is not JSON: '[[[["),
    "tokens": (
        json.dumps({**DONE, "usage": {"prompt_tokens": 1, "completion_tokens": int("9" * 400)}}),
        "the reply reports more than 1,000,000,000,000 tokens",
    ),
    "digits": (json.dumps({**DONE, "n": "N"}).replace('"N"', "9" * 5_000), "the reply is not JSON"),
}


def test_a_reply_that_cannot_be_read_is_the_providers_fault(evals: Evals) -> None:
    """It is asked again, then the attempt is errored with source *provider*; the rows beside it pass."""
    asked: Counter[str] = Counter()

    def play(request: ModelRequest) -> Reply:
        name = asked_row(request)
        asked[name] += 1
        return sends(UNREADABLE[name][0] if name in UNREADABLE else json.dumps(DONE))

    with ScriptedModel(play) as server:
        agent = single_agent(server.base_url, max_tries=2, prices=PRICES)
        run = evals.play(map(number_row, (*UNREADABLE, "fine")), agent=agent, lanes=5)
    for name, (_, told) in UNREADABLE.items():
        found = run.attempt(name)
        assert (found.verdict, found.error_source) == ("errored", "provider"), found.reason
        assert f"gave no usable reply after 2 tries: {told}" in found.reason
        assert asked[name] == 2
    assert run.attempt("fine").verdict == "passed"
