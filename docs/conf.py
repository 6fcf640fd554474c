"""The documentation site: `nox -s docs` builds it into docs/_build/html."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "pytest-browsereval"
copyright = "the authors of pytest-browsereval"  # noqa: A001 Sphinx looks for this name
version = release = installed_version("pytest-browsereval")
language = "en"
smartquotes_action = "D"  # dashes only: quotes are to be typed as they stand

extensions = ["browsereval_docs", "myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build", "_ext"]

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4  # the anchors that code hosts give to headings, so that links work in both places

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
default_role = "code"  # single back-ticks in docstrings
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "pytest-browsereval"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "scorer.js")
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
