# SPDX-License-Identifier: Apache-2.0
"""The commands that a page shows, with or without their output: what release_check.py tries."""
import re

import check_docs


def without_comment(line):
    return " ".join(re.sub(r"(^|\s)#.*", "", line).split())


def commands_of(text):
    """(command, whether in a clone, whether of a block) of a page: lines of blocks of sh, and code that begins with
    antiphase in running text."""
    for match in re.finditer(r"(?ms)^```sh\n(.*?)^```", text):
        before = text[: match.start()].rstrip()
        cloned = "clone" in before[before.rfind("\n\n") + 2 :] + match[1]
        for line in match[1].replace("\\\n", " ").splitlines():
            if command := without_comment(line):
                yield command, cloned or command.startswith("./run") or "build/wheels/" in command, True
    for _, paragraph in check_docs.paragraphs(text):
        for code in re.findall(r"`([^`]+)`", paragraph):
            command = " ".join(code.split())
            if re.match(r"antiphase\s", command):
                yield command, "clone" in paragraph, False


def installing(text):
    """The commands of a page that install something, in blocks or in running text."""
    code = [line for block in re.findall(r"(?ms)^```sh\n(.*?)^```", text) for line in block.splitlines()]
    code += [c for _, paragraph in check_docs.paragraphs(text) for c in re.findall(r"`([^`]+)`", paragraph)]
    for command in map(without_comment, code):
        if re.match(r"(sudo )?(pip|apt|apt-get) install [^-\s.]|pip install \./", command):
            yield command
