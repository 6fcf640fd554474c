"""AssistantBench's own scorer against ours (``-m published``)."""

from __future__ import annotations

import itertools
import json

import pytest

from pytest_browsereval.benchmarks.assistantbench.grader import score_answer
from tests.published import published

pytestmark = [pytest.mark.published, pytest.mark.timeout(900)]

OWN = """
import importlib.util, pathlib, sys, types, warnings

def answer(cases):
    warnings.simplefilter("ignore")
    # The package itself loads its rows over the network when it is imported; only the scorer is wanted.
    top = pathlib.Path(importlib.util.find_spec("browsergym").submodule_search_locations[0])
    for name in ("browsergym", "browsergym.assistantbench"):
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = [str(top.joinpath(*name.split(".")[1:]))]
    from browsergym.assistantbench.evaluation.evaluator import question_scorer
    told = []
    for reference, given in cases:
        try:
            accuracy, has_answer = question_scorer(given, reference)
            told.append([float(accuracy), bool(has_answer)])
        except Exception as error:
            told.append(type(error).__name__)
    return told
"""

NUMBERS = ["20", "0", "1.5", "$1,5", "12%", "900 sqft", "3 square kilometers", "1000000"]
TEXTS = ["The Old Mill", "Café de Flore, Paris", "Route 66", "twenty-one", "4.5 stars"]
TEXTS += ["CrossFit East River, Avea Pilates"]
LISTS = ["Ada Lovelace\nAlan Turing", "Gym 24\nThe Yoga Room\nPilates", "red\nred\nblue"]
BLOCKS = [
    '{"name": "Ada", "age": 36}',
    "{'name': 'Blue Mug', 'price': '$12.50'}",
    '{"name": "Ada"}\n{"name": "Alan", "age": 41}',
    '{"stops": ["Oslo", "Bergen"], "is_direct": true}\n{"stops": ["Oslo"], "is_direct": false}',
]
ANSWERS = [
    *("20", "21", "-20", "0", "0.0001", "19.5", "$20", "20%", "about 20", "1.5", "900", "3", "1000", "nan"),
    *("the old mill", "Old Mill!", "mill", "An old mill in Oslo", "route 67", "Route 66.0", "66"),
    *("cafe de flore paris", "CAFÉ DE FLORE", "twenty one", "21", "Avea Pilates", "4.50", "stars 4"),
    *("Ada Lovelace", "Alan Turing, Ada Lovelace", '["Alan Turing", "ada lovelace"]', '["red", "blue"]'),
    *('["Gym 24", "Yoga Room", "Pilates", "Boxing"]', '["blue", "red", "red"]', "Ada Lovelace\nAlan Turing"),
    *('{"name": "Ada", "age": 36}', '{"name": "ada", "age": 40}', '{"name": "Ada"}', '{"age": "36"}'),
    '[{"name": "Alan", "age": "41"}, {"name": "Ada"}]',
    '{"name": "Alan", "age": 41}\n{"name": "Ada"}',
    '{"name": "the blue mug", "price": 12.5}',
    '[{"stops": ["Bergen", "Oslo"], "is_direct": true}, {"stops": "Oslo", "is_direct": false}]',
    *("", "[]", '[""]', "I could not find it."),
]

CASES = [*itertools.product([*NUMBERS, *TEXTS, *LISTS, *BLOCKS], ANSWERS)]


def test_the_same_accuracy_and_the_same_flag() -> None:
    """On every reference with every answer; where theirs breaks, ours gives a score all the same."""
    own = published("numpy", "scipy", alone=("browsergym-assistantbench==0.14.3",))
    theirs = own.run(OWN, CASES)
    assert len(CASES) > 900
    compared, wrong = 0, []
    for (reference, given), told in zip(CASES, theirs, strict=True):
        is_answered, score, kind = score_answer(given, reference.split("\n"))
        assert 0 <= score <= 1
        if isinstance(told, list):
            compared += 1
            if is_answered != told[1] or abs(score - told[0]) > 1e-9:
                wrong.append((reference, given, kind, told, (score, is_answered)))
    assert wrong == [], json.dumps(wrong[:20], indent=1)
    assert compared > 800
    assert sum(0 < told[0] < 1 for told in theirs if isinstance(told, list)) >= 40
    assert sum(told[0] == 1 for told in theirs if isinstance(told, list)) >= 15


def test_where_ours_differs_on_purpose() -> None:
    """Two negative numbers may score more than 1 there; a list of one number is read as a pair there."""
    own = published("numpy", "scipy", alone=("browsergym-assistantbench==0.14.3",))
    cases = [("-2", "-4"), ("20", "[20]"), ("20", "null")]
    theirs = own.run(OWN, cases)
    assert theirs[0][0] > 1
    assert theirs[1:] == ["TypeError", "TypeError"]
    ours = [score_answer(given, [reference])[1] for reference, given in cases]
    assert ours == [pytest.approx(0.30685, abs=1e-5), 1.0, 0.0]
