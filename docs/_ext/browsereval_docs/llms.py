"""`llms.txt`, a list of pages for agents that read, and `llms-full.txt`, the pages themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

LONGEST = 200
DIRECTIVES = re.compile(r"^`{3,}\{(?:key|option)\} (?:\S+ )?(.+)$", re.MULTILINE)


def write_index(app: Sphinx, expand: Callable[[str], str]) -> None:
    """Write both files to the root of a site that was built."""
    if app.builder.format != "html":
        return
    env, out = app.env, Path(app.outdir)
    pages = [page for page in _walk(env, "index") if page != "index"]
    head = f"# {app.config.project}\n\n> {app.config.html_theme_options.get('summary', '')}\n".replace(
        "> \n", ""
    )
    lines = [f"- [{env.titles[page].astext()}]({page}.html): {_describe(env, page)}" for page in pages]
    (out / "llms.txt").write_text(f"{head}\n## Pages\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    texts = [expand(Path(env.doc2path(page)).read_text(encoding="utf-8")) for page in pages]
    (out / "llms-full.txt").write_text("\n\n".join([head, *map(_clean, texts)]), encoding="utf-8")


def _walk(env: BuildEnvironment, page: str) -> Iterator[str]:
    """Yield the pages in the order of the tables of contents."""
    yield page
    for child in env.toctree_includes.get(page, ()):
        yield from _walk(env, child)


def _describe(env: BuildEnvironment, page: str) -> str:
    """Return the beginning of a page's first paragraph."""
    first = next(iter(env.get_doctree(page).findall(nodes.paragraph)), None)
    words = "" if first is None else " ".join(first.astext().split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST].rpartition(' ')[0]} …"


def _clean(text: str) -> str:
    """Return a page in plain Markdown."""
    text = DIRECTIVES.sub(r"**\1**", re.sub(r"^\{\.\w+\}\n", "", text, flags=re.MULTILINE))
    return re.sub(r"^`{4,}$\n?", "", text, flags=re.MULTILINE)
