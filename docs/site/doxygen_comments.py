# SPDX-License-Identifier: Apache-2.0
"""A header as Doxygen reads it: its plain comments become documentation.

A comment above a declaration, or after it on its line, documents the declaration; indented lines in it are code or
a table. All that a header declares is put into one group, which its first comment documents. The inline namespace
AP_TARGET, which users never write, is left out.
"""
import re

COMMENT = re.compile(r"^(\s*)//(?: (.*)|)$")
BEHIND = re.compile(r"^(\s*[^\s#].*?)\s\s// (.*)$")
ROW = re.compile(
    r'^([^\s;={}"]+(?: [^\s;={}"]+)*) {2,}(?!//)(\S+(?: \S+)*)$'
)  # of a table: a name, a gap, a text
CODE = re.compile(r"[;{}]( *//.*)?$|  // ")
BLOCK = re.compile(r"^ */\*( .*?)\*/", re.MULTILINE | re.DOTALL)  # of C
TYPEDEF = re.compile(r"^typedef ((?:struct|enum) (\w+) \{.*?^\}) \2;", re.MULTILINE | re.DOTALL)
# A member that is defined below its class, which declares it.
MEMBER = re.compile(r"^(?://.*\n)*AP_DEV void \w+::\w+\([^)]*\) \{\n(?:.+\n)*?\}\n", re.MULTILINE)
FORWARD = re.compile(r"^namespace [\w:]+ \{\n(?:(?:class|struct) \w+;\n)+\}.*\n", re.MULTILINE)
SPECIAL = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "@": "@@",
    "\\": "\\\\",
    "%": "\\%",
    "#": "\\#",
}


def escaped(text):
    text = "".join(SPECIAL.get(c, c) for c in text)
    return re.sub(r"\bdocs/([\w/]+)\.md", r'<a href="../\1.html">\g<0></a>', text)


def paragraph(line):
    """A line of text, its `code` marked as such."""
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return escaped(line)
    return "".join(f"<code>{escaped(p)}</code>" if i % 2 else escaped(p) for i, p in enumerate(parts))


def documentation(lines):
    """A comment's lines in Doxygen's form."""
    while lines:
        if not lines[0].startswith("  "):
            yield paragraph(lines.pop(0))
            continue
        block = []
        while lines and (lines[0].startswith("  ") or not lines[0]):
            block.append(lines.pop(0)[2:])
        if block[0].startswith("- "):
            yield from map(paragraph, block)
        elif ROW.match(block[0]) and all(ROW.match(line) or line.startswith("  ") for line in block if line):
            yield "<dl>"
            for line in block:
                row = ROW.match(line)
                yield f"<dt><code>{escaped(row[1])}</code></dt><dd>{paragraph(row[2])}" if row else paragraph(
                    line
                )
            yield "</dl>"
        else:
            kind = ("code{.cpp}", "endcode") if any(map(CODE.search, block)) else ("verbatim", "endverbatim")
            yield from (f"@{kind[0]}", *"\n".join(block).rstrip().split("\n"), f"@{kind[1]}")
        yield ""


def documented(text, group):
    text = BLOCK.sub(lambda found: re.sub(r"^(?: \*)?", "//", found[1].rstrip(), flags=re.MULTILINE), text)
    text = MEMBER.sub("", FORWARD.sub("", TYPEDEF.sub(r"\1;", text)))  # each name is documented once
    lines = text.split("\n")[1:]  # without the license
    out = [f"/// @defgroup {group} {group}"]
    begin, end, depth = [f"/// @addtogroup {group}", "/// @{"], "/// @}", 0

    def take_comment():
        block = []
        while lines and (more := COMMENT.match(lines[0])):
            block.append((more[2] or "").rstrip())
            lines.pop(0)
        return block

    out += [f"/// {line}" for line in documentation(take_comment())] + [""]
    in_namespace = any(line.startswith("namespace ") for line in lines)
    out += [] if in_namespace else begin
    while lines:
        if COMMENT.match(lines[0]):
            block = take_comment()
            if (
                lines and lines[0].strip() and not lines[0].lstrip().startswith("}")
            ):  # it stands above something
                out += [f"/// {line}" for line in documentation(block)]
            continue
        line = lines.pop(0)
        if re.match(r"namespace [\w:]+ \{$", line):
            out += [*([end] if depth else []), line, *begin]
            depth += 1
        elif re.match(r"\}  // namespace (?!AP_TARGET)", line):
            depth -= 1
            out += [end, line, *(begin if depth else [])]
        elif "namespace AP_TARGET" in line:
            continue
        elif behind := BEHIND.match(line):
            text = behind[2]
            while (
                lines and (more := COMMENT.match(lines[0])) and len(more[1]) > len(behind[1])
            ):  # goes on below
                text += f" {more[2]}"
                lines.pop(0)
            out += ["///", f"/// {paragraph(text)}", behind[1]]
        else:
            out.append(line)
    return "\n".join(out + ([] if in_namespace else [end])) + "\n"
