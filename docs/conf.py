"""The documentation site: ``make docs`` builds it, offline, with warnings as errors."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(ROOT)]

import holdfast  # noqa: E402

project = "holdfast"
author = "The holdfast developers"
copyright = "The holdfast developers, BSD-3-Clause"
version = release = holdfast.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "mathml",
    "measured",
]
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
language = "en"

# Pages are Markdown; formulas are written as in TeX and leave as MathML, so that no page needs a script.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
html_math_renderer = "mathml"

# The reference comes from the docstrings.
autosummary_generate = True
autosummary_imported_members = True  # the import line is the registry
autosummary_context = {"root": holdfast.__all__}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Figures are drawn while the site is built.
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 160)]
plot_rcparams = {"figure.autolayout": False, "font.size": 10, "savefig.bbox": "tight"}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": False,
    "reference_url": {"holdfast": None},
    "doc_module": ("holdfast",),
    "backreferences_dir": None,
    "nested_sections": False,
}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["holdfast.css"]
html_title = f"holdfast {version}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "holdfast"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
}
html_sidebars = {"quickstart": [], "paper": [], "glossary": [], "changelog": [], "contributing": []}
