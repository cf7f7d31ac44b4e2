// SPDX-License-Identifier: Apache-2.0
// Arithmetic, conversions and moves of PTX.
#include "checker/plain/ptx/instructions/ptx_families.hpp"
#include "checker/plain/ptx/instructions/ptx_small.hpp"

namespace antiphase::plain::ptx_code {

namespace {
bool skip_rounding(instruction& i) {  // true if there is one, or an approximation
  i.take("ftz");
  return !i.take_one({"rn", "rz", "rm", "rp", "approx", "full"}).empty();
}
// The types that PTX has for an operation; all that type() knows for others.
view types_of(view function) {
  static constexpr view numbers = "u16 u32 u64 s16 s32 s64 f32 f64", words = "b16 b32 b64 pred",
                        fields = "u32 u64 s32 s64", real = "f32 f64";
  static constexpr std::pair<view, view> all[] = {{"add", numbers},
                                                  {"sub", numbers},
                                                  {"mul", numbers},
                                                  {"mad", numbers},
                                                  {"min", numbers},
                                                  {"max", numbers},
                                                  {"div", numbers},
                                                  {"rem", "u16 u32 u64 s16 s32 s64"},
                                                  {"abs", "s16 s32 s64 f32 f64"},
                                                  {"neg", "s16 s32 s64 f32 f64"},
                                                  {"bit_and", words},
                                                  {"bit_or", words},
                                                  {"bit_xor", words},
                                                  {"bit_not", words},
                                                  {"shl", "b16 b32 b64"},
                                                  {"popc", "b32 b64"},
                                                  {"clz", "b32 b64"},
                                                  {"brev", "b32 b64"},
                                                  {"bfind", fields},
                                                  {"bfe", fields},
                                                  {"bfi", "b32 b64"},
                                                  {"fma", real},
                                                  {"rcp", real},
                                                  {"sqrt", real},
                                                  {"rsqrt", real},
                                                  {"ex2", "f32"},
                                                  {"lg2", "f32"},
                                                  {"tanh", "f32"},
                                                  {"min_nan", "f32"},
                                                  {"max_nan", "f32"},
                                                  {"copysign", real},
                                                  {"mul24", "u32 s32"},
                                                  {"mad24", "u32 s32"},
                                                  {"sad", "u16 u32 u64 s16 s32 s64"},
                                                  {"sin", "f32"},
                                                  {"cos", "f32"}};
  const auto* const known = std::ranges::find(all, function, &std::pair<view, view>::first);
  return known == std::end(all) ? view() : known->second;
}
text type_for(instruction& i, view function) {
  if (const view types = types_of(function); !types.empty() && !has_word(types, i.last())) i.refuse();
  return i.type();
}
// add.cc, addc, madc.lo.cc and so on: the carry is a variable of the function.
text with_carry(instruction& i, view function, bool carries) {
  const bool takes = function.ends_with("c");
  if (takes) function.remove_suffix(1);
  const view part = i.take_one({"lo", "hi"});
  if (!has_word("add sub mad", function) || (function == "mad") == part.empty()) i.refuse();
  const bool multiplies = function == "mad";
  const text type = i.type();
  const text left = multiplies ? call(fmt::format("mul{}<{}>", part == "hi" ? "_hi" : "", type),
                                      i.get(type, 1), i.get(type, 2))
                               : i.get(type, 1);
  return "[[maybe_unused]] unsigned ap_none = 0; " +
         i.put(0, call(fmt::format("{}_carry<{}>", function == "sub" ? "sub" : "add", type), left,
                       i.get(type, multiplies ? 3 : 2), takes ? "ap_carry" : "0u",
                       carries ? "ap_carry" : "ap_none"));
}
// add, fma and the like of f16, bf16, their pairs, and pairs of f32.
text small_arithmetic(instruction& i, view function, std::size_t operands, const small_type& small) {
  if (!has_word("add sub mul fma min max min_nan max_nan neg abs", function)) i.refuse();
  const bool saturates = i.take("sat"), cuts = i.take("relu");
  if (view(small.value) != "float" && (saturates || !has_word("add sub min max neg", function))) i.refuse();
  i.take(small.name);
  text all;
  for (std::size_t k = 1; k <= operands; ++k) all += ", " + i.get(small.word, k);
  text result = fmt::format("::antiphase::plain::ptx::{}<{}>(ap_x...)", function, small.value);
  if (cuts) result = call(fmt::format("max<{}>", small.value), "0", result);
  if (saturates) result = call("saturated<float>", result);
  return i.put(0, fmt::format("::antiphase::plain::ptx::of_each<::antiphase::plain::ptx::{}, {}>([](auto... "
                              "ap_x) {{ return {}; }}{})",
                              small.number, small.word, result, all));
}
}  // namespace
text arithmetic(instruction& i, view function, std::size_t operands) {
  const bool rounds = skip_rounding(i);
  const text nan = text(function) + "_nan";
  if (has_word("min max", function) && i.take("NaN")) function = nan;
  if (const small_type* const small = small_of(i.last()))
    return small_arithmetic(i, function, operands, *small);
  const bool carries = i.take("cc");
  if (carries || has_word("addc subc madc", function)) return with_carry(i, function, carries);
  const bool saturates = i.take("sat");
  if (saturates && i.last() == "s32" && has_word("add sub", function)) {
    i.take("s32");
    return i.put(0, call(text(function) + "_sat<int>", i.get("int", 1), i.get("int", 2)));
  }
  const view part = i.take_one({"lo", "hi", "wide"});
  const text type = type_for(i, function);
  const bool real = type == "float" || type == "double";
  if (real && !rounds && has_word("fma mad div rcp sqrt rsqrt ex2 lg2 tanh", function)) i.refuse();
  if ((function == "mul" || function == "mad") && real != part.empty()) i.refuse();
  text all;
  for (std::size_t k = 1; k <= operands; ++k)
    all +=
        (all.empty() ? "" : ", ") +
        i.get(part == "wide" && k == 3 ? fmt::format("::antiphase::plain::ptx::twice<{}>", type) : type, k);
  if (saturates && !real) i.refuse();
  const text result = call(fmt::format("{}{}{}<{}>", function, part.empty() || part == "lo" ? "" : "_",
                                       part == "lo" ? "" : part, type),
                           all);
  return i.put(0, saturates ? call("saturated<" + type + ">", result) : result);
}
// ex2 and tanh: of 16-bit numbers and their pairs too.
text approximated(instruction& i, view function) {
  if (!i.take("approx")) i.refuse();
  i.take("ftz");
  for (const view type : {"f16", "bf16", "f16x2", "bf16x2"}) {
    if (!i.take(type)) continue;
    const text of = type[0] == 'f' ? "half" : "bfloat";
    const auto one = [&](const text& x) {
      return call(fmt::format("{}<float>", function), call("from_" + of, x));
    };
    if (!type.ends_with("x2")) return i.put(0, call("to_" + of, one(i.get("unsigned short", 1))));
    const text both = i.get("unsigned", 1);
    return i.put(0, call(of == "half" ? "halves" : "bfloats", one(both + " >> 16"), one(both + " & 0xffff")));
  }
  return i.put(0, call(fmt::format("{}<{}>", function, type_for(i, function)), i.get("float", 1)));
}
text shift(instruction& i, view function) {
  const text type = type_for(i, function);
  return i.put(0, call(fmt::format("{}<{}>", function, type), i.get(type, 1), i.get("unsigned", 2)));
}
text bit_mask(instruction& i) {
  const bool wraps = i.take("wrap");
  if (!wraps && !i.take("clamp")) i.refuse();
  i.take("b32");
  return i.put(0, call("bit_mask", i.get("unsigned", 1), i.get("unsigned", 2), wraps ? "true" : "false"));
}
text nth_bit(instruction& i) {
  i.take("b32");
  return i.put(0, call("nth_set_bit", i.get("unsigned", 1), i.get("unsigned", 2), i.get("int", 3)));
}
text highest_bit(instruction& i) {
  const bool shifts = i.take("shiftamt");
  const text type = type_for(i, "bfind");
  const text found = call("bfind<" + type + ">", i.get(type, 1));
  if (!shifts) return i.put(0, found);
  return i.put(0, fmt::format("({0} == ~0u ? ~0u : {1}u - {0})", found, type.ends_with("long") ? 63 : 31));
}
text dot_of_bytes(instruction& i, int wide) {  // dp4a.u32.s32, dp2a.lo.u32.u32
  const bool upper = i.take("hi");
  i.take("lo");
  const view b = i.take_last(), a = i.take_last();
  const auto is_signed = [](view type) { return type == "s32" ? "true" : "false"; };
  return i.put(0, call(fmt::format("dot_of_bytes<{}, {}>", is_signed(a), is_signed(b)), i.get("unsigned", 1),
                       i.get("unsigned", 2), i.get("unsigned", 3), std::to_string(wide), upper ? "2" : "0"));
}
text differences(instruction& i, int count) {  // vabsdiff4.u32.s32.s32.add
  const bool adds = i.take("add");
  const view b = i.take_last(), a = i.take_last(), d = i.take_last();
  if (!i.done() || a != b || !has_word("u32 s32", a) || !has_word("u32 s32", d)) i.refuse();
  return i.put(0, call(fmt::format("absolute_differences<{}, {}, {}>", count, a == "s32", adds),
                       i.get("unsigned", 1), i.get("unsigned", 2), i.get("unsigned", 3)));
}
text move(instruction& i) {
  const small_type* const small = small_of(i.last());
  const text type = small != nullptr ? (i.take_last(), small->word) : i.type();
  const view to = i.operand(0), from = i.operand(1);
  if (to.starts_with("{")) {
    const auto parts = i.list(0);
    text code = fmt::format("const auto ap_v = {}",
                            call(fmt::format("unpacked<{}, {}>", parts.size(), type), i.get(type, 1)));
    for (std::size_t k = 0; k < parts.size(); ++k)
      code += "; " + call("put", parts[k], fmt::format("ap_v.x[{}]", k));
    return code;
  }
  if (from.starts_with("{")) {
    text all;
    for (const text& part : i.list(1)) all += (all.empty() ? "" : ", ") + part;
    return i.put(0, call("packed<" + type + ">", all));
  }
  return i.put(0, i.get(type, 1));
}
text to_space(instruction& i) {
  const bool to = i.take("to");
  if (i.take("param") || i.take("local")) {
    i.skip({"u64", "u32"});
    return i.put(0, call("on_stack", i.get("unsigned long", 1)));
  }
  const text space = i.space();
  i.skip({"u64", "u32"});
  if (space == "generic") return i.put(0, i.get("unsigned long", 1));
  return i.put(0, call(to ? "to_shared" : "from_shared", i.get("unsigned long", 1)));
}
namespace {
// Conversions from and to pairs: {upper, lower} of a source of two f32, of f16x2 or bf16x2, of small floating
// numbers. Empty: the source is another.
using pair_values = std::pair<text, text>;
text small_named(view pair) {
  return has_word("e5m2x2 e4m3x2 e3m2x2 e2m3x2 e2m1x2", pair)
             ? fmt::format("::antiphase::plain::small_float::{}", pair.substr(0, pair.size() - 2))
             : text();
}
std::optional<pair_values> pair_from(const instruction& i, view from) {
  const text word =
      i.get(from.starts_with("f16") || from.starts_with("bf16") ? "unsigned" : "unsigned short", 1);
  if (from == "f32") return pair_values{i.get("float", 1), i.get("float", 2)};
  if (from == "f16x2" || from == "bf16x2") {
    const text function = from == "f16x2" ? "from_half" : "from_bfloat";
    return pair_values{call(function, fmt::format("static_cast<unsigned short>({} >> 16)", word)),
                       call(function, fmt::format("static_cast<unsigned short>({})", word))};
  }
  if (from == "ue8m0x2")
    return pair_values{call("from_power", word + " >> 8"), call("from_power", word + " & 255")};
  const text small = small_named(from);
  if (small.empty()) return {};
  return pair_values{call("upper_small<" + small + ">", word), call("lower_small<" + small + ">", word)};
}
}  // namespace
text convert(instruction& i) {
  const view rounding = i.take_one({"rni", "rzi", "rmi", "rpi"});
  const bool up = i.take("rp");
  skip_rounding(i);
  const bool cuts = i.take("relu"), finite = i.take("satfinite");
  const auto cut = [&](const text& value) { return cuts ? call("max<float>", "0", value) : value; };
  if (i.take("tf32")) {
    i.take("rna");
    if (!i.take("f32")) i.refuse();
    return i.put(0, cut(call("to_tf32", i.get("float", 1))));
  }
  if (i.first().ends_with("x2")) {
    const view from = i.take_last(), pair = i.take_last();
    const text small = small_named(pair);
    const auto values = pair_from(i, from);
    if (!values || i.count() != (from == "f32" ? 3u : 2u)) i.refuse();
    const text upper = cut(values->first), lower = cut(values->second);
    if (pair == "f16x2" || pair == "bf16x2")
      return i.put(0, call(pair == "f16x2" ? "halves" : "bfloats", upper, lower));
    if (pair == "ue8m0x2")
      return i.put(0, call("power_pair", upper, lower, up ? "true" : "false", finite ? "true" : "false"));
    if (small.empty() || !finite) i.refuse();
    return i.put(0, call("small_pair<" + small + ">", upper, lower));
  }
  if (finite) i.refuse();
  const bool saturates = i.take("sat");
  const view from_type = i.take_last(), to_type = i.take_last();
  const auto half_of = [](view type) { return type == "f16" ? "half" : type == "bf16" ? "bfloat" : ""; };
  const text from_half = half_of(from_type), to_half = half_of(to_type);
  const text from = from_half.empty() ? i.type_named(from_type) : "float",
             to = to_half.empty() ? i.type_named(to_type) : "float",
             way = fmt::format("'{}'", rounding.empty() ? 'z' : rounding[1]);
  const auto real = [](const text& type) { return type == "float" || type == "double"; };
  text value = from_half.empty() ? i.get(from, 1) : call("from_" + from_half, i.get("unsigned short", 1));
  if (!rounding.empty() && real(from) && real(to)) value = call("whole<" + from + ">", value, way);
  if (saturates && !real(from) && !real(to))
    value = call(fmt::format("clamped<{}, {}>", to, from), value);
  else if (from != to)
    value = call(fmt::format("converted<{}, {}>", to, from), value, way);
  if (saturates && real(to)) value = call("saturated<" + to + ">", value);
  if (cuts) value = call("max<" + to + ">", "0", value);
  return i.put(0, to_half.empty() ? value : call("to_" + to_half, value));
}
text bits(instruction& i, view function) {
  const text type = type_for(i, function);
  if (function == "bfe")
    return i.put(0, call("bfe<" + type + ">", i.get(type, 1), i.get("unsigned", 2), i.get("unsigned", 3)));
  return i.put(0, call("bfi<" + type + ">", i.get(type, 1), i.get(type, 2), i.get("unsigned", 3),
                       i.get("unsigned", 4)));
}
text permute(instruction& i) {
  i.take("b32");
  return i.put(0, fmt::format("::antiphase::plain::ptx::permuted({}, {}, {})", i.get("unsigned", 1),
                              i.get("unsigned", 2), i.get("unsigned", 3)));
}
text funnel(instruction& i, view way) {
  const view how = i.take_one({"wrap", "clamp"});
  i.take("b32");
  return i.put(0, fmt::format("__funnelshift_{}{}({}, {}, {})", way, how == "clamp" ? "c" : "",
                              i.get("unsigned", 1), i.get("unsigned", 2), i.get("unsigned", 3)));
}
text logic3(instruction& i) {
  i.take("b32");
  return i.put(0, call("lop3", i.get("unsigned", 1), i.get("unsigned", 2), i.get("unsigned", 3),
                       i.get("unsigned", 4)));
}

}  // namespace antiphase::plain::ptx_code
