# SPDX-License-Identifier: Apache-2.0
"""antiphase report as a process."""
import html.parser
import json
import pathlib
import re

from process import ToolTest, gpu_is_usable, main

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "results"


class Elements(html.parser.HTMLParser):
    """Elements opened and closed, and external resources of a page."""

    ALONE = {"meta", "!doctype"}

    def __init__(self, text):
        super().__init__()
        self.open, self.count, self.asked = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.asked += [
            value for name, value in attributes if name in ("src", "href") and not value.startswith("#")
        ]
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_startendtag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1


class Report(ToolTest):
    def page(self, *arguments):
        self.run_tool("report", "--output", "r.html", *arguments)
        text = (self.folder / "r.html").read_text()
        page = Elements(text)
        # everything is closed, and nothing is loaded from a network
        self.assertEqual((page.open, page.asked), ([], []))
        self.assertNotRegex(text, r"https?:|url\(|@import|<script")
        return text, page

    def test_of_files(self):
        file = str(next(RESULTS.glob("*-gemm-2048x2048x2048-rested.json")))
        text, page = self.page(file)
        record = next(
            r for r in json.loads(pathlib.Path(file).read_text())["records"] if r["policy"] == "tiled"
        )
        self.assertIn(f"<td>{record['time_us']['ours']:.1f}</td>", text)
        bars, timelines = text.split("<h2>Timelines, recorded on NVIDIA H200</h2>")
        self.assertEqual(bars.count("<rect"), 17)  # a bar for each step
        # With 1, 2 and 3 buffers, eight steps of each: a load, its use, and the work of the warps.
        drawn = timelines.split("</svg>")[0]
        self.assertEqual([drawn.count(f'<rect class="s{series}"') for series in (0, 1)], [3 * 8, 3 * 8 * 2])
        self.assertEqual([int(n) for n in re.findall(r">(\d) buffers?<", drawn)], [1, 2, 3])
        uses = [[int(n) for n in pair] for pair in re.findall(r"in use, (\d+) to (\d+)", drawn)]
        loads = [[int(n) for n in pair] for pair in re.findall(r"loaded, (\d+) to (\d+)", drawn)]
        overlaps = [sum(loads[i + 1][0] < uses[i][1] for i in range(8 * n, 8 * n + 7)) for n in range(3)]
        # except with one buffer, the next load begins before a step has been used
        self.assertEqual(overlaps, [0, 7, 7])
        recorded = json.loads((RESULTS / "timelines/steps/h200.json").read_text())["timelines"]
        # of the timeline with three buffers
        self.assertEqual(loads[16:24], [step[1:3] for step in recorded[2]["step_times"][:8]])
        for t in recorded:
            self.assertIn(
                f"<td>{t['duration'] / t['recorded']:.0f} cycles</td><td>{100 * t['hidden_share']:.0f} %</td>",
                timelines,
            )
        self.assertNotIn("nothing was measured", text)
        self.assertNotIn("modelled", text)
        self.assertIn('class="loss">-', text)  # padded
        self.assertNotIn("No GPU is usable", text)

    def test_timelines_say_whence_they_are(self):
        """Modelled for a machine without recordings. With a file of trace, those of the file: here one that
        claims to be of this machine."""
        file = json.loads(next(RESULTS.glob("*-gemm-2048x2048x2048-rested.json")).read_text())
        file["machine"]["name"] = "NVIDIA A100"
        (self.folder / "a100.json").write_text(json.dumps(file))
        text = self.page("a100.json")[0]
        for_a100 = "odelled on the CPU executor, for NVIDIA A100"
        self.assertIn(f"<h2>Timelines, m{for_a100}</h2>", text)
        self.assertIn(f"M{for_a100}, block 0, in ticks of a model: nothing was measured", text)
        self.assertNotIn("recorded on", text)
        told = json.loads(
            self.run_tool(
                *("trace", "--stages", "1,2", "--k", "256", "--output", "t.svg", "--json"),
                *("--on", "cpu", "--as", "A100"),
            ).stdout
        )
        self.assertIn(
            f"<title>One block of a GEMM kernel, m{for_a100}</title>", (self.folder / "t.svg").read_text()
        )
        self.assertEqual(
            [(t["origin"], len(t["step_times"])) for t in told["timelines"]], [(f"m{for_a100}", 8)] * 2
        )
        (self.folder / "t.json").write_text(json.dumps({**told, "machine": {"name": "NVIDIA A100"}}))
        text = self.page("a100.json", "t.json")[0]
        self.assertIn(f"<h2>Timelines, m{for_a100}</h2>", text)
        self.assertIn(f"M{for_a100}, in ticks of a model, nothing was measured: block 0", text)
        for t in told["timelines"]:
            t |= {"origin": "recorded on NVIDIA A100", "unit": "cycles"}
        (self.folder / "t.json").write_text(json.dumps({**told, "machine": {"name": "NVIDIA A100"}}))
        text = self.page("a100.json", "t.json")[0]
        self.assertIn("<h2>Timelines, recorded on NVIDIA A100</h2>", text)
        self.assertIn("Recorded on NVIDIA A100, in clock cycles: block 0", text)
        self.assertEqual(re.findall(r">(\d) buffers?<", text), ["1", "2"])
        self.refused(3, ["timelines alone"], "report", "--output", "x.html", "t.json")
        told["timelines"][0]["step_times"][0][0] = 7
        (self.folder / "t.json").write_text(json.dumps({**told, "machine": {"name": "NVIDIA A100"}}))
        self.refused(3, ["slot 7 of 1"], "report", "--output", "x.html", "a100.json", "t.json")

    def test_a_step_has_one_promise(self):
        text = self.page(*map(str, RESULTS.glob("*-gemm-4096x4096x4096-rested.json")))[0]
        row = re.search(r"<td>register-tile</td>(.*?)</tr>", text)[1]
        promised = re.findall(r"<td[^>]*>(.*?)</td>", row)[3]
        self.assertRegex(
            text,
            rf"predicts two buffers {re.escape(promised)} at 4096 \(measured Tl and Tc\) and \S+ % at 1024 \(the model's Tl and Tc\)",
        )

    def test_without_a_GPU_of_an_H200(self):
        if gpu_is_usable():
            self.skipTest("there is a GPU")
        text, page = self.page()
        self.assertIn("No GPU is usable here: this is an H200", text)
        self.assertGreater(page.count["circle"], 50)
        self.assertLess(len(text), 500_000)
        for section in (
            "Roofline",
            "Model against measurement",
            "Accuracy",
            "How many buffers",
            "The machine",
        ):
            self.assertIn(f"<h2>{section}</h2>", text)
        self.assertIn("prefers-color-scheme:dark", text)

    def test_what_is_refused(self):
        self.refused(2, ["--output is required"], "report")
        file = json.loads(next(RESULTS.glob("*-gemm-2048x2048x2048-rested.json")).read_text())
        for name, content, said in (
            ("a.json", [], "'a.json' is no result file"),
            ("b.json", {**file, "machine": {}}, "says of no machine"),
            ("c.json", {**file, "machine": {"name": "Other GPU"}}, "no machine profile of Other GPU"),
            (
                "d.json",
                {**file, "records": [{"kernel": "gemm.ladder.tiled", "time_us": {}}]},
                "docs/measuring.md",
            ),
        ):
            (self.folder / name).write_text(json.dumps(content))
            self.refused(4 if name == "c.json" else 3, [said], "report", "--output", "r.html", name)
            self.assertFalse((self.folder / "r.html").exists())
        self.refused(
            3, ["'none.json': cannot be read: No such file"], "report", "--output", "r.html", "none.json"
        )
        self.refused(2, ["both write to standard output"], "report", "--output", "-", "--json", "a.json")
        self.refused(2, ["'a.json' is the same file as the input"], "report", "--output", "a.json", "a.json")
        self.assertEqual(json.loads((self.folder / "a.json").read_text()), [])

    def test_json_says_what_was_written(self):
        file = next(RESULTS.glob("*-gemm-2048x2048x2048-rested.json"))
        result = json.loads(self.run_tool("report", "--output", "r.html", "--json", file).stdout)
        machine = json.loads(file.read_text())["machine"]["name"]
        self.assertEqual((result["schema"], result["output"], result["machine"]), (1, "r.html", machine))
        self.assertEqual(result["results"], [str(file)])

    def test_names_are_text(self):
        file = json.loads(next(RESULTS.glob("*-gemm-2048x2048x2048-rested.json")).read_text())
        file["machine"]["driver"] = '<b>"&'
        (self.folder / "x.json").write_text(json.dumps(file))
        text, page = self.page("x.json")
        self.assertTrue(re.search(r"driver &lt;b&gt;&quot;&amp;", text))
        self.assertNotIn("b", page.count)


if __name__ == "__main__":
    main()
