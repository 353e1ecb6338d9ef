"""The documentation site: its Markdown sources, the pages generated for it, and the checks of the built HTML.

Must not know the program that renders Markdown; `scripts/website.py` starts it.
"""
