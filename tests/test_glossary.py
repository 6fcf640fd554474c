"""One noun for each thing: names that plug-ins import and names of files are made of the glossary's words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest_browsereval
from pytest_browsereval import testing

PACKAGE = Path(pytest_browsereval.__file__).parent
GLOSSARY = PACKAGE.parent / "docs/glossary.md"
REFUSED_HEADING = "## Words that we do not use"

PROPER_NAMES = """
    agisdk assistantbench atif browsecomp browseros chromium compose fara gaia github gitlab infinity inspect
    kubernetes mind2web miniwob odysseys otel playwright ray slurm stwebagentbench wasp webarena
    webbench webtailbench webvoyager xdist
"""
WEB = """
    address app banner bucket cdp clipboard console dom download endpoint event frame har html http input link
    llm local log login mcp navigation origin page pointer popup pull push redirect remote
    response script search server service
    stream timeline token totp trace view viewer wire
"""
CODE = """
    base binary cache callable choice ci conftest contract control controller env environment file filter
    fixture folder function gitignore guard hook hookspecs id import index init install json jsonl junit
    key lease lint listing load lock loop machine main manager mark markdown merge name noop option output
    package parquet parse part path pattern place placeholder plan player prefetch preflight preset
    process program progress protocol py queue read reader registration runner scheduling schema scope
    setting share size state static store suffix sync table template temporary terminal termination text
    thread toml toolset traceback use validation value verifier write writer yaml
"""
FIGURES = """
    agreement alignment analysis calibration comparator compare comparison correction diff
    list measure number observation pair passrate performance permutation plot quantity relevance
    repeat sequential statistics stats vote
"""
PLAIN = """
    about active ask assertion behaviour blame blank book bound close closeness collection canvas combine
    combobox common computer confirm conflict content conversation current date deadline delegate
    description detail display draft drag drift early ending example expression family feed fence field
    finish flight focus follow foreign form front further goal group handwritten hidden hints home interop
    journal kind known labelling leave live lookup mapping multimodal my nested new observe online
    orchestrator order original overview own pace planning play point presence price prompt protection
    provenance redaction redactor refusal relation representation restore rewritten scroll second select
    selection serve shop show single spelling stand standard start suite surroundings tail target testing
    trust unobserved use verified visual volatile way supervise wait whole workplace
"""
OURS = """
    group history outcome suite table
    bar block branch break claim collector curve decision doctor door engine figure hit line node
    receiver recorder starter strip supervisor switch world
"""
PUBLIC = """
    action browser call client command completion component conformance digest directive driver
    format key label message metadata model rate reader reason reply report request score session
    source store summary survey traffic usage warning worker
"""
NOUNS = frozenset(PUBLIC.split())
"""Last nouns of public names that readers know from elsewhere."""
USUAL = frozenset((PROPER_NAMES + WEB + CODE + FIGURES + PLAIN + OURS).split())
"""Words that files may have too: those of the field, those that mean what they mean in any text, and those of
parts that users do not name."""
NO_NOUNS = {
    "ChecksRead": "completes a grader's `reads = ChecksRead(...)`",
    "Imported": "what an import returns; 'import' is a keyword",
    "LimitReached": "an exception, named by what happened",
    "RowRef": "short for reference, as in Python's weakref",
    "Select": "the block of the config key `select`",
}
"""Public names that do not end in a noun, each with its reason."""
USED_ANYWAY = {"JobPart": "a job of GitHub Actions"}
"""Names with a word that the glossary replaces, each with its reason."""


def _rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")
    ]


def _tables() -> tuple[list[list[str]], list[list[str]]]:
    words, _, refused = GLOSSARY.read_text(encoding="utf-8").partition(REFUSED_HEADING)
    return [row for row in _rows(words) if row[0] != "word"], _rows(refused)[1:]


WORDS = frozenset(row[0].replace("-", "") for row in _tables()[0])
REFUSED = {word: row[1] for row in _tables()[1] for word in row[0].split(", ")}


def _forms(word: str) -> Iterator[str]:
    """Yield the words that this one may be a form of: criteria, boxes, grading, stored."""
    yield word
    yield {"criteria": "criterion"}.get(word, word)
    for ending, base in (
        ("s", ""),
        ("es", ""),
        ("ies", "y"),
        ("ing", ""),
        ("ing", "e"),
        ("ed", ""),
        ("d", ""),
    ):
        if word.endswith(ending):
            yield word.removesuffix(ending) + base


def _split(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)]


def find_unknown_noun(name: str) -> str | None:
    """Return the last word of a class's name if neither the glossary nor the field has it."""
    noun = _split(name)[-1]
    return None if any(form in WORDS | NOUNS for form in _forms(noun)) else noun


def find_unknown_words(name: str) -> list[str]:
    """Return the words of a file's name that are in no list."""
    return [word for word in _split(name) if not any(form in WORDS | NOUNS | USUAL for form in _forms(word))]


def find_refused_words(name: str) -> list[str]:
    """Return what to write instead of the words of a name that the glossary replaces."""
    found = {word: form for word in _split(name) for form in _forms(word) if form in REFUSED}
    return [f"{name}: {word}: write {REFUSED[form]}" for word, form in found.items()]


def _public_classes() -> list[str]:
    names = [*pytest_browsereval.__all__, *testing.__all__]
    return [name for name in names if name[0].isupper() and not name.isupper()]


def _paths() -> list[Path]:
    """Return files and the folders that hold some: a checkout keeps the caches of a folder that was moved."""
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    folders = {folder for path in files for folder in path.parents if PACKAGE in folder.parents}
    return [*files, *sorted(folders)]


def _all_names() -> list[str]:
    """Return the names of all files, folders and classes of the package that do not begin with `_`."""
    paths = _paths()
    texts = [path.read_text(encoding="utf-8") for path in paths if path.suffix == ".py"]
    classes = [name for text in texts for name in re.findall(r"^ *class (\w+)", text, re.MULTILINE)]
    return [name for name in [*(path.stem for path in paths), *classes] if not name.startswith("_")]


def test_the_glossary_has_one_line_for_each_word() -> None:
    """Each word has its meaning and its place, no word twice, and no word is both used and refused."""
    rows, refused = _tables()
    assert [row for row in rows if len(row) != 3 or not all(row)] == []
    assert [row for row in refused if len(row) != 2 or not all(row)] == []
    words = [row[0] for row in rows]
    assert sorted(words) == sorted(set(words))
    assert WORDS & set(REFUSED) == set()


def test_public_classes_end_in_words_of_the_glossary() -> None:
    """What plug-ins import is named by a noun that the glossary or the field has."""
    unknown = {name for name in _public_classes() if find_unknown_noun(name)}
    assert unknown == set(NO_NOUNS), "add the word to docs/glossary.md, or take one that is there"


def test_names_of_files_are_made_of_known_words() -> None:
    """Files and folders have words of the glossary, or usual ones; a new word is a decision."""
    found = {str(path.relative_to(PACKAGE)): find_unknown_words(path.stem) for path in _paths()}
    unknown = {path: words for path, words in found.items() if words}
    told = "take a word of docs/glossary.md; a new thing takes a line there, another word one in PLAIN"
    assert unknown == {}, told


def test_no_name_has_a_word_that_the_glossary_replaces() -> None:
    """No file, no folder and no class of the package has a second noun for a thing."""
    found = {name: problem for name in _all_names() for problem in find_refused_words(name)}
    assert {name: problem for name, problem in found.items() if name not in USED_ANYWAY} == {}
    assert set(USED_ANYWAY) <= set(found), "no exceptions for names that are gone"
