# SPDX-License-Identifier: Apache-2.0
"""antiphase attention as a process."""
import json
import math
import random

from process import ToolTest, main, pattern

CPU = ("--on", "cpu")


def numbers(count, seed):
    """Numbers of f4, by which weights differ and none is nearly 1."""
    drawn = random.Random(seed)
    return [drawn.randint(-48, 48) / 32 for _ in range(count)]


def attend(q, k, v, queries, keys, depth, scale=None, sees=lambda i, j: True, bias=lambda i, j: 0.0):
    """One head in FP64, as a list of rows one after the other."""
    scale = 1 / math.sqrt(depth) if scale is None else scale
    out = []
    for i in range(queries):
        seen = [j for j in range(keys) if sees(i, j)]
        logits = [
            scale * sum(q[i * depth + c] * k[j * depth + c] for c in range(depth)) + bias(i, j) for j in seen
        ]
        weights = [math.exp(logit - max(logits)) for logit in logits]
        for c in range(depth):
            total = sum(w * v[j * depth + c] for w, j in zip(weights, seen))
            out.append(total / sum(weights) if seen else 0.0)
    return out


class Attention(ToolTest):
    def operands(self, shape_q, shape_k, **options):
        """Writes Q, K and V; returns their elements."""
        all = []
        for seed, (name, shape) in enumerate((("Q", shape_q), ("K", shape_k), ("V", shape_k))):
            all.append(numbers(math.prod(shape), seed))
            self.write(f"{name}.npy", all[-1], shape, **options)
        return all

    def attend(self, *options):
        done = self.run_tool("attention", "Q.npy", "K.npy", "V.npy", "-o", "O.npy", "--json", *CPU, *options)
        values, shape, type_name = self.read("O.npy")
        self.assertEqual(type_name, "f4")
        return values, shape, json.loads(done.stdout)

    def assert_close(self, found, expected, about=None):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertLess(abs(one - other), 2e-6 * max(1, abs(other)), about)

    def test_masks_windows_and_scales(self):
        queries, keys, depth = 7, 11, 5
        q, k, v = self.operands((queries, depth), (keys, depth))
        late = keys - queries
        for options, more in (
            ((), {}),
            (("--scale", "-0.25"), {"scale": -0.25}),
            (("--causal", "top_left"), {"sees": lambda i, j: j <= i}),
            (("--causal", "bottom_right"), {"sees": lambda i, j: j <= i + late}),
            (("--window", "2,1"), {"sees": lambda i, j: -2 <= j - i - late <= 1}),
            (("--window", "1"), {"sees": lambda i, j: abs(j - i - late) <= 1}),
            (("--window", "-1,0"), {"sees": lambda i, j: j <= i + late}),
        ):
            found, shape, told = self.attend(*options)
            self.assertEqual(shape, (queries, depth))
            self.assertEqual(told["shape"]["keys"], keys)
            self.assert_close(found, attend(q, k, v, queries, keys, depth, **more), options)

    def test_heads_that_share_keys_of_a_batch_in_fortran_order(self):
        members, heads, kv_heads, queries, keys, depth = 2, 4, 2, 3, 6, 4
        q, k, v = self.operands((members, heads, queries, depth), (members, kv_heads, keys, depth), order="F")
        found, shape, told = self.attend("--policy", "fp32")
        self.assertEqual(shape, (members, heads, queries, depth))
        self.assertEqual((told["policy"], told["shape"]["kv_heads"]), ("fp32", kv_heads))
        of_q, of_k = queries * depth, keys * depth
        for member in range(members):
            for head in range(heads):
                at = (member * heads + head) * of_q
                kv = (member * kv_heads + head * kv_heads // heads) * of_k
                expected = attend(
                    q[at : at + of_q], k[kv : kv + of_k], v[kv : kv + of_k], queries, keys, depth
                )
                self.assert_close(found[at : at + of_q], expected, (member, head))

    def test_every_policy(self):
        queries, keys, depth = 9, 70, 64
        q, k, v = self.operands((queries, depth), (keys, depth))
        expected = attend(q, k, v, queries, keys, depth)
        for policy in (
            "fp16",
            "fp16-short",
            "fp32",
            "naive",
            "tiled",
            "double-buffered",
            "roles",
            "antiphase",
        ):
            found, _, told = self.attend("--policy", policy)
            self.assertEqual(told["policy"], policy)
            self.assert_close(found, expected, policy)

    def test_bias_and_visible(self):
        heads, queries, keys, depth = 2, 4, 6, 3
        q, k, v = self.operands((heads, queries, depth), (heads, keys, depth))
        bias, seen = numbers(queries * keys, 4), [(3 * n + n // 7) % 4 != 0 for n in range(heads * keys)]
        self.write("bias.npy", bias, (queries, keys))
        self.write("seen.npy", seen, (heads, 1, keys), type_name="b1", mark="|")
        found, *_ = self.attend("--bias", "bias.npy", "--visible", "seen.npy")
        for head in range(heads):
            one = lambda x, rows: x[head * rows * depth : (head + 1) * rows * depth]
            expected = attend(
                one(q, queries),
                one(k, keys),
                one(v, keys),
                queries,
                keys,
                depth,
                sees=lambda i, j: seen[head * keys + j],
                bias=lambda i, j: bias[i * keys + j],
            )
            self.assert_close(one(found, queries), expected, head)

    def test_standard_output(self):
        q, k, v = self.operands((3, 4), (5, 4))
        words = ("attention", "Q.npy", "K.npy", "V.npy", *CPU, "-o")
        self.run_tool(*words, "O.npy")
        self.assert_close(self.read("O.npy")[0], attend(q, k, v, 3, 5, 4))
        self.assertEqual(self.run_tool(*words, "-").stdout, (self.folder / "O.npy").read_bytes())

    def test_elements_are_f4(self):
        self.operands((3, 4), (5, 4), type_name="f8")
        self.assertIn(
            "'Q.npy' (Q): the elements are f8, but attention takes f4; convert the array first",
            self.run_tool("attention", "Q.npy", "K.npy", "V.npy", *CPU, "-o", "O.npy", code=3).message,
        )
        self.assertFalse((self.folder / "O.npy").exists())

    def test_explain_computes_nothing(self):
        self.operands((2, 8, 300, 64), (2, 4, 300, 64))
        words = ("attention", "Q.npy", "K.npy", "V.npy", *CPU, "--explain")
        text = self.run_tool(*words).stdout.decode()
        told = json.loads(self.run_tool(*words, "--json").stdout)
        self.assertIn("2 x 8 heads (4 of K and V) of 300 queries and 300 keys, depth 64", text)
        self.assertIn(f"bound: that of {told['kernel']} in docs/use/accuracy.md", text)
        self.assertEqual(len(told["code"]), told["launches"])
        self.assertGreater(told["predicted_us"], 0)
        self.assertIn(told["code"][0], text)
        asked = json.loads(self.run_tool(*words, "--json", "--policy", "naive").stdout)
        self.assertEqual(asked["kernel"], "naive")
        self.assertNotIn("O.npy", self.names())

    def test_refusals(self):
        self.operands((4, 6, 8), (2, 5, 8))
        self.write("K7.npy", pattern(70), (2, 5, 7))
        self.write("flat.npy", pattern(8), (8,))
        self.write("bias.npy", pattern(12), (3, 4))
        self.write("i4.npy", [1] * 5, (5,), type_name="i4")
        three = ("Q.npy", "K.npy", "V.npy")
        for words, code, sentence in (
            (("Q.npy", "K7.npy", "V.npy", "-o", "O.npy"), 2, "K and V must have the same shape"),
            (("Q.npy", "K7.npy", "K7.npy", "-o", "O.npy"), 2, "rows of 8 and 7 elements, they must agree"),
            (("K.npy", "Q.npy", "Q.npy", "-o", "O.npy"), 2, "2 heads of Q and 4 of K and V"),
            (("flat.npy", "K.npy", "V.npy", "-o", "O.npy"), 3, "the shape is (8,), expected (rows, depth)"),
            ((*three, "-o", "O.npy", "--bias", "bias.npy"), 2, "the shape is (3, 4), expected that of batch"),
            ((*three, "-o", "O.npy", "--visible", "i4.npy"), 3, "the elements are i4, expected bool or u1"),
            ((*three, "-o", "O.npy", "--causal", "topleft"), 2, "top_left"),
            ((*three, "-o", "O.npy", "--window", "1,2,3"), 2, "--window has 3 numbers"),
            ((*three, "-o", "O.npy", "--scale", "inf"), 2, "scale is inf: expected a finite number"),
            ((*three, "-o", "Q.npy"), 2, "Q.npy"),
            ((*three, "-o", "O.npy", "--explain"), 2, "--explain computes nothing"),
            (three, 2, "--output is required"),
            (("-", "-", "V.npy", "-o", "O.npy"), 2, "standard input"),
        ):
            message = self.run_tool("attention", *words, *CPU, code=code).message
            self.assertIn(sentence, message, words)
            self.assertNotIn("O.npy", self.names())


if __name__ == "__main__":
    main()
