# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation, which `./run docs` builds. Its pages are docs/**/*.md as they are. A page of docs/api
lists headers and Python modules: each becomes its reference, from the comments above its declarations."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import griffe
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import doxygen_comments  # noqa: E402

# The repository's address, such as https://HOST/OWNER/antiphase: set when the site is published, here or by the
# environment. Links to files that are no pages lead there; without an address, into this working tree.
repository_url = os.environ.get("ANTIPHASE_REPOSITORY_URL", "").rstrip("/")
repository_branch = "main"

project = author = "antiphase"
copyright = "the authors of antiphase; licensed under Apache-2.0"
release = re.search(r"project\(antiphase VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "breathe", "sphinx_copybutton"]
exclude_patterns = ["site"]
myst_heading_anchors = 6
highlight_language = "none"
smartquotes = False
toc_object_entries = False  # they are thousands, and would stand in the contents of every page

html_theme = "furo"
html_title = f"antiphase {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
# Pages that scripts/pages/generated_pages.py has made, if any.
PAGES = {"overlap.html": "buffers, to explore", "course.ipynb": "the course, as a notebook"}
made = pathlib.Path(os.environ.get("ANTIPHASE_PAGES", "/nonexistent"))
html_extra_path = ["../learn/tutorial.ipynb", *(str(made / name) for name in PAGES if (made / name).exists())]
html_copy_source = html_show_sphinx = False
if repository_url:
    html_theme_options = {
        "source_view_link": f"{repository_url}/blob/{repository_branch}/docs/{{filename}}",
        "top_of_page_buttons": ["view"],
    }

linkcheck_ignore = [r"\.\./"]  # into this working tree
linkcheck_anchors_ignore_for_url = [re.escape(repository_url)] if repository_url else []

breathe_default_project = "antiphase"
breathe_default_members = ("members", "undoc-members")
breathe_show_include = False
breathe_show_enumvalue_initializer = True
breathe_domain_by_extension = {"cuh": "cpp", "hpp": "cpp", "h": "c"}
breathe_domain_by_file_pattern = {
    "*/antiphase/record.h": "cpp"
}  # for nvcc, as the other headers of that folder

logger = logging.getLogger(__name__)
LISTED = re.compile(r"^- \[[^\]]*\]\(\.\./\.\./(include|python)/(\S+)\)$", re.MULTILINE)
# Headers that are installed but not for users to include, and the one that is made of others.
INTERNAL = re.compile(
    r"antiphase/(plain/|stand_ins/|ring\.cuh|scan/detail/|core/finding_kind|executor/cpu/(machine|checked)|device/(call_site|wgmma\w*_instructions))"
)


def run_doxygen(app):
    """Doxygen's XML of all public headers, next to the site."""
    folder = pathlib.Path(app.outdir).parent / "doxygen"
    shutil.rmtree(folder, ignore_errors=True)
    listed = {
        path for page in (ROOT / "docs/api").glob("*.md") for _, path in LISTED.findall(page.read_text())
    }
    for header in (ROOT / "include").rglob("*.*"):
        path = header.relative_to(ROOT / "include").as_posix()
        if header.is_dir() or INTERNAL.match(path):
            continue
        if path not in listed:
            logger.warning("include/%s is public, but no page of docs/api lists it", path)
        copy = folder / "include" / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(doxygen_comments.documented(header.read_text(), group_of(path)))
    subprocess.run(["doxygen", HERE / "Doxyfile"], cwd=folder, check=True)
    for file in (folder / "xml").glob("*.xml"):
        text = file.read_text()
        # Breathe shows a group's classes with their namespaces, but not its functions.
        if file.name.startswith("group_"):
            text = re.sub(
                r"<name>.*</name>(\s*<qualifiedname>(.*)</qualifiedname>)", r"<name>\2</name>\1", text
            )
        # Breathe loses spaces before links in code.
        text = re.sub(r"<codeline>.*?</codeline>", lambda line: re.sub(r"</?ref\b[^>]*>", "", line[0]), text)
        # Sphinx reads no designated initialisers.
        file.write_text(re.sub(r"<initializer>[= ]*\{.*\..*</initializer>", "", text))
    app.config.breathe_projects = {"antiphase": str(folder / "xml")}


def group_of(path):
    """The name of a header's group in Doxygen."""
    return re.sub(r"\W", "_", path)


def complete(app, name, source):
    """Adds the contents to the first page and to the course's, and the reference of what a page of docs/api lists."""
    if name == "index":
        links = [f"`{text} <{page}>`__" for page, text in PAGES.items() if (made / page).exists()]
        if links:
            source[0] += f"\n\n```{{eval-rst}}\nMade from the results and labs: {', '.join(links)}.\n```\n"
        source[0] += (HERE / "contents.md").read_text()
    if name == "course/README":  # folded below the course in the list of all pages
        labs = sorted(f"{lab.parent.name}/README" for lab in (ROOT / "docs/course").glob("*/README.md"))
        source[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(labs) + "\n```\n"
    if name.startswith("api/"):
        source[0] = LISTED.sub(lambda i: of_header(i[2]) if i[1] == "include" else of_module(i[2]), source[0])


def of_header(path):
    group = group_of(path)
    text = (ROOT / "include" / path).read_text()
    concepts = re.findall(r"^concept (\w+) =", text, re.MULTILINE)
    namespace = re.search(r"^namespace ([\w:]+) \{$", text, re.MULTILINE)
    blocks = [f"{{doxygengroup}} {group}\n:desc-only:"]
    blocks += [f"{{doxygenconcept}} {namespace[1]}::{name}" for name in concepts]  # no group has them
    blocks += [f"{{doxygengroup}} {group}\n:content-only:"]
    return f"### `{path}`\n\n" + "".join(f"```{block}\n```\n\n" for block in blocks)


def of_module(path):
    """What a module exports: types by its stub, docstrings by its source. Nothing is imported."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package = griffe.load("antiphase", search_paths=[ROOT / "python"])
    module = griffe.load(name, search_paths=[ROOT / "python"])
    lines = [f".. py:module:: {name}", "", *of_docstring(module), ""]
    for exported in module.exports:
        found = module[exported]
        described_there = exported in package.exports and package[exported].canonical_path == found.path
        if module is package or not described_there:
            lines += of_object(found.final_target if found.is_alias else found, f"{name}.{exported}")
    return f"## `{name}`\n\n```{{eval-rst}}\n" + "\n".join(lines) + "\n```\n"


def of_object(found, name):
    if found.is_function:
        lines = [f".. py:function:: {name.rpartition('.')[0]}.{found.signature()}", "", *of_docstring(found)]
    elif found.is_class:
        lines = [f".. py:class:: {name}", "", *of_docstring(found)]
        for member, what in found.members.items():
            if not member.startswith("_") and (what.docstring or what.is_attribute):
                lines += of_object(what, member)
    else:
        lines = [f".. py:attribute:: {name}", f":type: {found.annotation}", "", *of_docstring(found)]
    return [lines[0], *(f"   {line}".rstrip() for line in lines[1:]), ""]


def of_docstring(found):
    """Docstrings are plain text: a line that begins with parameters and a colon describes them; indented lines are
    code, and lines with a gap a table."""
    text = found.docstring.value if found.docstring else ""
    parameters = {p.name for p in found.parameters} if found.is_function else set()
    out, inside = [], ""  # what the line before is part of: a "block" of code, an "item" or "text"
    for line in text.split("\n"):
        item = re.match(r"(\w+(?:, \w+)*): (.*)", line)
        table = re.search(r"\S   +\S", line)
        if not line:
            inside = inside if inside == "block" else ""
        elif line.startswith("  ") or table:
            out += [] if inside == "block" else ["", f".. code-block:: {'text' if table else 'python'}", ""]
            line, inside = f"  {line}", "block"
        elif item and parameters.issuperset(item[1].split(", ")):
            out += [] if inside == "item" else [""]
            line, inside = f"* ``{item[1]}``: {marked(item[2])}", "item"
        else:
            out += [""] if inside == "block" else []
            inside = "item" if inside == "item" else "text"
            line = ("  " if inside == "item" else "") + marked(line)
        out.append(line)
    return [*out, ""]


def marked(text):
    """A line of plain text in reStructuredText, where `code` is ``code``, with links to the pages it names."""
    parts = text.split("`")
    text = "``".join(p if i % 2 else re.sub(r"([*_|\\])", r"\\\1", p) for i, p in enumerate(parts))
    return re.sub(
        r"\bdocs/([\w/\\]+)\.md", lambda page: f"`{page[0]} <../{page[1]}.html>`__".replace("\\", ""), text
    )


class LinksOut(SphinxTransform):
    """Links to files that are no pages: some are copied next to the pages, the others stay in the repository."""

    default_priority = 9  # before Sphinx collects downloads and looks for pages

    def apply(self):
        page = pathlib.Path(self.env.doc2path(self.env.docname))
        out = pathlib.Path(self.app.outdir, self.env.docname).parent
        copied = [(HERE / path).resolve() for path in html_extra_path]
        for node in list(self.document.findall(nodes.Element)):
            if isinstance(node, addnodes.download_reference):
                name, fragment = node["reftarget"], ""
            elif isinstance(node, addnodes.pending_xref) and node["refdomain"] == "doc":
                name, fragment = f"{node['reftarget']}.md", node["reftargetid"]
            elif isinstance(node, addnodes.pending_xref) and node["reftype"] == "myst":
                name, _, fragment = node["reftarget"].partition("#")
            else:
                continue
            target = (page.parent / name).resolve()
            within = target.is_relative_to(ROOT / "docs") and target not in copied
            if within or not target.is_relative_to(ROOT) or not target.exists():
                continue
            if target in copied:
                address = os.path.relpath(pathlib.Path(self.app.outdir, target.name), out)
            elif repository_url:
                kind = "tree" if target.is_dir() else "blob"
                address = f"{repository_url}/{kind}/{repository_branch}/{target.relative_to(ROOT)}"
            else:
                address = os.path.relpath(target, out)
            address += f"#{fragment}" if fragment else ""
            node.replace_self(nodes.reference("", "", *node.children, refuri=address))


class Ungrouped(SphinxTransform):
    """Breathe puts the description of a header under the name of its group, which says nothing."""

    default_priority = 9

    def apply(self):
        for node in list(self.document.findall(addnodes.desc)):
            if node["objtype"] == "group":
                node.replace_self(node[1].children)


def setup(app):
    app.add_transform(LinksOut)
    app.add_transform(Ungrouped)
    app.connect("builder-inited", run_doxygen, priority=1)
    app.connect("source-read", complete)
