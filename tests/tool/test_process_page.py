#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `trace` in a browser: it loads, shows its figures, zooms, and describes the item under the
pointer. Skipped without a browser."""
import json
import os
import subprocess
import unittest

import browser
from process import ToolTest, main, results

CPU = ("--on", "cpu")


class Page(ToolTest):
    def page(self, *arguments, **options):
        if browser.find() is None:
            self.skipTest("no browser: neither chromium nor google-chrome is on PATH")
        self.figures = json.loads(
            self.run_tool("trace", "gemm", *arguments, "--output", "t.html", "--json", *CPU).stdout
        )["timelines"]
        return browser.Page(self.folder / "t.html", **options)

    def test_the_page_of_buffers(self):
        """The page of `bench overlap` on a phone and in print, and by keys."""
        if browser.find() is None:
            self.skipTest("no browser: neither chromium nor google-chrome is on PATH")
        measured = max(results().glob("experiments/*-overlap.json"))
        self.run_tool("bench", "overlap", "--read", measured, "-o", "o.html")
        with browser.Page(self.folder / "o.html", width=390) as page:
            cut = "[...document.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth).length"
            self.assertEqual(page.value(cut), 0)
            said = "document.getElementById('said').textContent"
            before = page.value(said)
            page.value("document.getElementById('at').focus()")
            page.key("ArrowRight")
            self.assertNotEqual(page.value(said), before)
            page.call("Emulation.setEmulatedMedia", media="print")
            shown = "[...document.querySelectorAll('#lines label')].filter(e => e.offsetWidth > 0).map(e => e.textContent.trim())"
            self.assertEqual(page.value(shown + ".length"), 5)  # four numbers of buffers, and the formula
            fills = (
                "new Set([...document.querySelectorAll('#lines path')].map(e => e.getAttribute('fill'))).size"
            )
            self.assertEqual(page.value(fills), 4)
            self.assertEqual(page.errors, [])
        with browser.Page(self.folder / "o.html", dark=True) as page:
            paper = "getComputedStyle(document.body).backgroundColor"
            self.assertEqual(page.value(paper), "rgb(22, 22, 22)")
            page.call(
                "Emulation.setEmulatedMedia",
                media="print",
                features=[{"name": "prefers-color-scheme", "value": "dark"}],
            )
            self.assertEqual(page.value(paper), "rgb(255, 255, 255)")

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
            page.value("void dispatchEvent(new Event('beforeprint'))")  # each timeline on a sheet of its own
            sheets = page.value(
                "[...document.querySelectorAll('.sheet')].map(s => [s.width, s.height > 100])"
            )
            self.assertEqual(sheets, [[1440, True]] * 4)
            page.value("void dispatchEvent(new Event('afterprint'))")
            self.assertEqual(page.value("document.querySelectorAll('.sheet').length"), 0)

    def test_nothing_is_cut_on_a_telephone(self):
        with self.page("--compare", "stages=1,2,3", "--k", "256", width=390, dark=True) as page:
            self.assertLessEqual(
                *page.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            )
            beyond = "[...document.querySelectorAll('#summary td, #ring, canvas, button')].filter(e => e.getBoundingClientRect().right > innerWidth).length"
            self.assertEqual(page.value(beyond), 0)
            self.assertEqual(page.errors, [])

    def test_a_broken_schedule_fits_a_telephone(self):
        """Places in the sources have long names without a space."""
        with self.page("--policy", "async-2", "--without-waits", width=390, dark=True) as page:
            page.value(
                "(() => { const w = document.getElementById('without'); w.value = 1; w.dispatchEvent(new Event('change')); })()"
            )
            self.assertIn(".cuh:", page.value("document.getElementById('agents').textContent"))
            told = "(e => [e.scrollWidth, e.clientWidth])(document.getElementById('told'))"
            self.assertLessEqual(*page.value(told))
            self.assertEqual(page.errors, [])

    # The player's table of slots: state and step of each.
    STATES = "[...states.tBodies[0].rows].map(r => [r.cells[1].textContent, r.cells[2].textContent])"

    def test_the_player_shows_the_ring_at_each_moment(self):
        with self.page("--compare", "stages=1,3", "--k", "256") as page:
            page.value("which.value = 1, void which.onchange({target: which})")
            recorded = self.figures[1]
            seen = set()
            times = range(5, recorded["duration"], recorded["duration"] // 200)
            shown_at = page.value(
                f"{[*times]}.map(now => (time.value = now, time.oninput({{target: time}}), {self.STATES}))"
            )
            for now, states in zip(times, shown_at, strict=True):
                expected = [("empty", "")] * 3
                for step, (slot, issued, landed, begin, end) in enumerate(recorded["step_times"]):
                    if issued <= now < landed:  # full before, if no warp waited
                        expected[slot] = (("being loaded", "full, not yet used"), f"{step}")
                    elif landed <= now < begin:
                        expected[slot] = ("full, not yet used", f"{step}")
                    elif begin <= now < end:
                        expected[slot] = ("in use", f"{step}")
                for shown, wanted in zip(states, expected, strict=True):
                    self.assertEqual(shown[1], wanted[1])
                    self.assertIn(shown[0], wanted[0] if isinstance(wanted[0], tuple) else [wanted[0]])
                    seen.add(shown[0])
            self.assertEqual(seen, {"empty", "being loaded", "full, not yet used", "in use"})
            page.value("time.value = 0, void time.oninput({target: time})")
            page.value("lanes.focus()")
            page.key("n"), page.key("n"), page.key("n")
            self.assertIn("warps (32)", page.value("live.textContent"))
            self.assertIn("async-3", page.value("live.textContent"))
            self.assertEqual(page.value("document.querySelectorAll('#code li').length"), 6)
            later = page.value("Number(time.value)")
            page.key("p")
            self.assertLess(page.value("Number(time.value)"), later)
            page.key(" ")
            self.assertEqual(page.value("play.textContent"), "Pause")
            while page.value("Number(time.value)") <= later:
                pass
            page.key(" ")
            self.assertEqual(page.value("play.textContent"), "Play")
            stopped = page.value("time.value")
            self.assertEqual(page.value("time.value"), stopped)
            self.assertEqual(page.errors, [])

    def test_roles_wait_for_each_other(self):
        with self.page("--policy", "tensor-core-tma", "--k", "1024") as page:
            heads = page.value("[...states.tHead.rows[0].cells].map(c => c.firstChild.textContent)")
            self.assertEqual(heads, ["slot", "state", "step", "round", "full", "empty"])
            # What is reported, and the phases of full barriers, at each of the player's stops.
            told, phases = page.value(
                "(() => { const told = new Set, phases = new Set; do { on.click(); "
                "for (const r of agents.rows) told.add(r.cells[1].innerText.replace(/\\d+/g, '#')); "
                "for (const r of states.tBodies[0].rows) phases.add(r.cells[4].textContent); "
                "} while (time.value !== time.max); return [[...told], [...phases]]; })()"
            )
            self.assertTrue(
                any(t.startswith("waits for slot # to be free, in which step # is in use") for t in told),
                told,
            )
            self.assertTrue(
                any("wait for the data of step # in slot #, still in flight" in t for t in told), told
            )
            self.assertGreaterEqual({*phases}, {"0, 0", "1, 1", "2, 0"})
            self.assertEqual(page.errors, [])

    @unittest.skipUnless(os.environ.get("ANTIPHASE_BROKEN_TOOL"), "this build has no checker")
    def test_a_wait_that_is_taken_away(self):
        with self.page("--policy", "async-2", "--k", "128", "--without-waits") as page:
            waits = page.value("[...without.options].map(o => o.textContent)")
            self.assertEqual(waits, ["no wait", "the wait for data", "the barriers"])
            for i in range(len(waits) - 1):
                page.value(f"without.value = {i}, void without.onchange({{target: without}})")
                self.assertIn(f"Without {waits[i + 1]} the checker finds", page.value("broken.textContent"))
                self.assertIn("--without", page.value("broken.textContent"))
                self.assertEqual(page.value("agents.textContent.includes('found here')"), False)
                page.value("lanes.focus()")
                page.key("n")
                self.assertGreater(page.value("Number(time.value)"), 0)
                page.value("(() => { while (time.value !== time.max) on.click(); })()")
                self.assertIn("found here", page.value("agents.textContent"))
            page.value("without.value = -1, void without.onchange({target: without})")
            self.assertEqual(page.value(self.STATES), [["being loaded", "0"], ["empty", ""]])
            self.assertEqual(page.errors, [])

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
                page.value("scrollTo(0, scrollY + lanes.getBoundingClientRect().top - 300)")
                x, y, width = page.value("(r => [r.left, r.top, r.width])(lanes.getBoundingClientRect())")
                page.mouse("mouseWheel", x + width / 2, y + 45, deltaX=0, deltaY=-60, modifiers=2)
                self.assertLess(self.view(page)[1] - self.view(page)[0], everything[1] - everything[0])
                page.value("document.getElementById('fit').click()")

                page.move(x + 160, y + 53)  # the first load into the first buffer
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
