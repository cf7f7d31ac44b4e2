#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `trace` in a browser: it loads, shows its figures, zooms, and describes the item under the
pointer. Skipped without a browser."""
import json
import os
import subprocess
import unittest

import browser
from process import ToolTest, main

CPU = ("--on", "cpu")


class Page(ToolTest):
    def page(self, *arguments, **options):
        if browser.find() is None:
            self.skipTest("no browser: neither chromium nor google-chrome is on PATH")
        self.figures = json.loads(
            self.run_tool("trace", "gemm", *arguments, "--output", "t.html", "--json", *CPU).stdout
        )["timelines"]
        return browser.Page(self.folder / "t.html", **options)

    def test_nothing_is_cut_in_print(self):
        with self.page("--compare", "stages=1,2,3,4", "--k", "256", width=700) as page:
            page.call("Emulation.setEmulatedMedia", media="print")
            self.assertEqual(
                page.value(
                    "[...document.querySelectorAll('.scroll, body')].filter(e => e.scrollWidth > e.clientWidth).length"
                ),
                0,
            )
            self.assertEqual(
                page.value("getComputedStyle(document.getElementById('controls')).display"), "none"
            )
            self.assertEqual(
                page.value("getComputedStyle(document.querySelector('#legend i')).printColorAdjust"), "exact"
            )

    def view(self, page):
        return page.value("[Number(lanes.dataset.from), Number(lanes.dataset.to)]")

    def test_figures_zoom_and_hover(self):
        for dark in (False, True):
            with self.page("--compare", "stages=1,2,3", "--k", "256", dark=dark) as page:
                self.assertEqual(
                    page.value("getComputedStyle(document.body).backgroundColor"),
                    "rgb(22, 22, 22)" if dark else "rgb(255, 255, 255)",
                )
                shown = page.value(
                    "[...document.querySelectorAll('td[data-figure=hidden]')].map(e => e.firstChild.textContent)"
                )
                self.assertEqual(shown, [f"{100 * t['hidden_share']:.0f} %" for t in self.figures])
                self.assertIn(
                    "take turns", page.value("document.querySelector('td[data-figure=limit]').textContent")
                )
                everything = self.view(page)

                page.value("lanes.focus()")
                page.key("+")
                near = self.view(page)
                self.assertLess(near[1] - near[0], 0.7 * (everything[1] - everything[0]))
                page.key("ArrowRight")
                self.assertGreater(self.view(page)[0], near[0])
                page.key("0")
                self.assertEqual(self.view(page), everything)
                x, y, width = page.value("(r => [r.left, r.top, r.width])(lanes.getBoundingClientRect())")
                page.mouse("mouseWheel", x + width / 2, y + 45, deltaX=0, deltaY=-60, modifiers=2)
                self.assertLess(self.view(page)[1] - self.view(page)[0], everything[1] - everything[0])
                page.value("document.getElementById('fit').click()")

                page.move(x + 160, y + 42)  # the first load into the first buffer
                self.assertFalse(page.value("tip.hidden"))
                self.assertIn("being loaded", page.value("tip.textContent"))
                self.assertIn("step along K 0", page.value("tip.textContent"))
                page.move(x + 160, y + 5)  # a heading
                self.assertTrue(page.value("tip.hidden"))
                tall = page.value("lanes.height")
                page.value("document.getElementById('unfold').click()")
                self.assertGreater(page.value("lanes.height"), 2 * tall)
                page.key("ArrowDown"), page.key(".")
                self.assertIn("buffer 0", page.value("live.textContent"))
                self.assertEqual(page.errors, [])
                self.assertEqual([r for r in page.requests if not r.startswith(("file:", "data:"))], [])

    @unittest.skipUnless(os.environ.get("ANTIPHASE_BROKEN_TOOL"), "this build has no checker")
    def test_a_schedule_that_shows_a_finding(self):
        if browser.find() is None:
            self.skipTest("no browser: neither chromium nor google-chrome is on PATH")
        done = subprocess.run(
            [
                os.environ["ANTIPHASE_BROKEN_TOOL"],
                "check",
                "ticket/broken",
                "--trace",
                str(self.folder / "t.html"),
            ],
            capture_output=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 5)
        for dark in (False, True):
            with browser.Page(self.folder / "t.html", dark=dark) as page:
                self.assertIn(
                    "by block 0, thread 1",
                    page.value("document.querySelector('td[data-finding=earlier]').textContent"),
                )
                self.assertEqual(page.value("document.querySelector('.of-figures').checkVisibility()"), False)
                page.value("lanes.focus()")
                page.key("ArrowDown")
                for _ in range(4):
                    page.key(".")
                self.assertIn("access that was found", page.value("live.textContent"))
                page.key("+")
                self.assertLess(self.view(page)[1] - self.view(page)[0], 9)
                self.assertEqual(page.errors, [])

    def test_many_events_are_drawn_in_time(self):
        with self.page("--stages", "4", "--m", "32", "--n", "32", "--k", "25600", "--record", "800") as page:
            self.assertGreater(
                page.value("JSON.parse(data.textContent).timelines[0].spans.length"), 8 * 100000
            )
            page.value("lanes.focus()")
            for _ in range(3):
                page.key("+"), page.key("0")
            # 20 ms on an idle machine
            self.assertLess(page.value("Number(lanes.dataset.ms)"), 250)
            self.assertEqual(page.errors, [])


if __name__ == "__main__":
    main()
