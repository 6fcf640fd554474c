"""Fills the reference pages from the code, and writes `llms.txt`.

A page asks for a part by the fence `{generated}` with its name. What stands there is made when Sphinx reads
the page, so nothing that is generated is committed.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from browsereval_docs import api, catalogs, checks, families, llms, programs, settings

PARTS: dict[str, Callable[[], str]] = {
    "config": settings.write_config,
    "rows": settings.write_rows,
    "gate": settings.write_gate,
    "model": settings.write_model,
    "judge": settings.write_judge,
    "sites": settings.write_sites,
    "page-checks": checks.write_page_checks,
    "comparisons": checks.write_comparisons,
    "agents": lambda: families.write_family("agent"),
    "browsers": lambda: families.write_family("browser"),
    "graders": lambda: families.write_family("grader"),
    "datasets": lambda: families.write_family("dataset"),
    "attacks": lambda: families.write_family("attack"),
    "exports": lambda: families.write_family("export"),
    "guards": lambda: families.write_family("guard"),
    "tools": catalogs.write_tools,
    "providers": catalogs.write_providers,
    "hooks": catalogs.write_hooks,
    "fixtures": catalogs.write_fixtures,
    "markers": catalogs.write_markers,
    "options": programs.write_options,
    "commands": programs.write_commands,
    "testing": api.write_testing,
    **{f"api-{title}": partial(api.write_group, title) for title in api.GROUPS},
}
FENCE = re.compile(r"^```\{generated\} ([\w-]+)\n```$", re.MULTILINE)

SHORT = 28
OUTWARDS = re.compile(r"\]\((\.\./[^)#\s]+\.md)\)")


def expand(text: str) -> str:
    """Return a page with its generated parts."""
    return FENCE.sub(lambda match: PARTS[match[1]](), text)


def _expand_page(app: Sphinx, page: str, content: list[str]) -> None:
    folder = Path(app.env.doc2path(page)).parent

    def offer(match: re.Match[str]) -> str:
        is_page = (folder / match[1]).resolve().is_relative_to(app.srcdir)
        return match[0] if is_page else f"](path:{match[1]})"

    # A page of the repository that is none of the site's can be downloaded, as its other files.
    content[0] = OUTWARDS.sub(offer, expand(content[0]))


def _mark_short_words(_app: Sphinx, doctree: nodes.document) -> None:
    """Mark what is to stay on one line: an option, a key."""
    for literal in doctree.findall(nodes.literal):
        text = literal.astext()
        if " " not in text and len(text) <= SHORT:
            literal["classes"].append("short")


def _show_key(_env: BuildEnvironment, signature: str, node: addnodes.desc_signature) -> str:
    """Show a key as it is written in its block; links and search know it by its whole name."""
    name, _, shown = signature.partition(" ")
    node += addnodes.desc_name("", shown or name)
    return name


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx what this extension does."""
    # Pages are millions of objects that stay: to look for garbage among them takes a fifth of the build.
    gc.set_threshold(100_000, 50, 1000)
    app.setup_extension("sphinx.ext.autodoc")
    app.add_object_type("key", "key", parse_node=_show_key, objname="key")
    app.connect("source-read", _expand_page)
    app.connect("doctree-read", _mark_short_words)
    app.connect("autodoc-process-docstring", api.read_docstring)
    app.connect("missing-reference", api.find_public)
    app.connect("doctree-resolved", llms.keep_text)
    app.connect("build-finished", llms.write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
