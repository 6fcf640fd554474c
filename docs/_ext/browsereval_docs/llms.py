"""`llms.txt`, a list of pages for agents that read, and `llms-full.txt`, the pages as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.text import TextBuilder
from sphinx.environment import BuildEnvironment
from sphinx.writers.text import TextTranslator

LONGEST = 200

_texts: dict[str, str] = {}
"""Pages that were written in this build, as plain text."""


def write_index(app: Sphinx, error: Exception | None) -> None:
    """Write both files to the root of a site that was built."""
    if error is not None or app.builder.format != "html":
        return
    env, out = app.env, Path(app.outdir)
    pages = [page for page in _walk(env, "index") if page != "index"]
    lines = [f"- [{env.titles[page].astext()}]({page}.html): {_describe(env, page)}" for page in pages]
    head = f"# {app.config.project}\n\n> {_describe(env, 'index')}\n\n"
    listed = "\n".join(lines)
    (out / "llms.txt").write_text(f"{head}## Pages\n\n{listed}\n", encoding="utf-8")
    texts = [head, *(f"<!-- {page}.html -->\n\n{_texts.get(page) or _read(app, page)}" for page in pages)]
    (out / "llms-full.txt").write_text("\n\n".join(texts), encoding="utf-8")


def keep_text(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Keep a page as plain text while it is written: to read and resolve it again takes longer than that.

    Not one with a table of contents, which is resolved after this.
    """
    if app.builder.format == "html" and next(doctree.findall(addnodes.toctree), None) is None:
        _texts[page] = _write(app, doctree)


def _walk(env: BuildEnvironment, page: str) -> Iterator[str]:
    """Yield the pages in the order of the tables of contents."""
    yield page
    for child in env.toctree_includes.get(page, ()):
        yield from _walk(env, child)


def _describe(env: BuildEnvironment, page: str) -> str:
    """Return the beginning of a page's first paragraph that is none of a table."""
    paragraphs = env.get_doctree(page).findall(nodes.paragraph)
    first = next((one for one in paragraphs if not isinstance(one.parent, nodes.entry)), None)
    words = "" if first is None else " ".join(first.astext().split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST].rpartition(' ')[0]} …"


def _read(app: Sphinx, page: str) -> str:
    """Return a page that this process has not written."""
    return _write(app, app.env.get_and_resolve_doctree(page, app.builder))


def _write(app: Sphinx, doctree: nodes.document) -> str:
    """Return a page as Sphinx writes it in plain text."""
    builder = TextBuilder(app, app.env)
    builder.secnumbers = {}  # pages have no numbers
    translator = TextTranslator(doctree, builder)
    doctree.walkabout(translator)
    return str(translator.body)
