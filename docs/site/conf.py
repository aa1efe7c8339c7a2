"""Settings of Sphinx for the site; `build.py` beside it writes the pages and starts Sphinx."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import ppl

project = "ppl"
author = "the authors of ppl"
version = release = ppl.__version__
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design", "mathml"]
root_doc = "index"
html_math_renderer = "mathml"
highlight_language = "text"
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_dmath_allow_space = False
myst_dmath_allow_digits = False
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"ppl {release}"
html_static_path = ["_static"]
html_css_files = ["ppl.css"]
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None  # the same repository gives the same site
html_theme_options = {
    "logo": {"text": "ppl"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_end": [],
}
