"""Settings of Sphinx; the pages are put together by build.py beside this file."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

import subscape

# Before anything imports matplotlib.
os.environ["MPLBACKEND"] = "Agg"

project = "Subscape"
author = "The Subscape developers"
copyright = author
version = release = subscape.__version__

extensions = [
    "numpydoc",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "gallery_source",
    *(f"gallery/**/*.{kind}" for kind in ("ipynb", "json", "md5", "py", "zip")),
]
root_doc = "index"
templates_path: list[str] = []
nitpicky = False

# -- pages in Markdown, and tutorials that are executed --------------------------------------------
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "html_image"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
suppress_warnings = ["config.cache"]

# -- the reference ---------------------------------------------------------------------------------
autodoc_typehints = "none"  # the docstrings have them, in words
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = True
toc_object_entries_show_parents = "hide"  # the list beside a page is narrow
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# -- the gallery -----------------------------------------------------------------------------------
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")
sphinx_gallery_conf = {
    "examples_dirs": ["gallery_source"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("subscape",),
    "download_all_examples": False,
    "matplotlib_animations": False,
    "min_reported_time": 1e9,
    "plot_gallery": "True",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (320, 224),
    "write_computation_times": False,
}

# -- how it looks ----------------------------------------------------------------------------------
#: Pages of tables that need the whole width: nothing stands beside them.
WIDE = ("benchmarks/RESULTS", "docs/catalogue", "docs/tracking")
html_theme = "pydata_sphinx_theme"
html_title = f"Subscape {version}"
html_static_path = ["static"]
html_css_files = ["subscape.css"]
html_favicon = "static/favicon.svg"
html_search_scorer = os.path.join(os.path.dirname(__file__), "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Subscape"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WIDE}},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "monokai",
    "use_edit_page_button": False,
    "search_bar_text": "Search …",
}
html_sidebars = {page: [] for page in ("index", "docs/start", "docs/which", *WIDE)}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


# -- docstrings ------------------------------------------------------------------------------------
LITERAL = re.compile(r"(``.*?``|`[^`]*`)")
REFERENCE = re.compile(r"(?<![\\\w*\]])([A-Za-z]\w*)_(?=[\s,.;:)]|$)")


def plain_signs(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Write sizes such as |U| and attributes such as front_ so that they are what they look like."""
    for place, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "| ", ".. ")) or "+--" in line:
            continue
        parts = LITERAL.split(line)
        for at in range(0, len(parts), 2):
            parts[at] = re.sub(r"(?<!\\)\|", r"\|", parts[at])
            parts[at] = REFERENCE.sub(r"\1\_", parts[at])
        lines[place] = "".join(parts)


def leave_out(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn puts into every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", plain_signs, priority=900)
    app.connect("autodoc-skip-member", leave_out)
