// SPDX-License-Identifier: Apache-2.0
// Arithmetic, conversions and moves of PTX.
#include "ptx_families.hpp"

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
                                                  {"tanh", "f32"}};
  const auto* const known = std::ranges::find(all, function, &std::pair<view, view>::first);
  return known == std::end(all) ? view() : known->second;
}
text type_for(instruction& i, view function) {
  if (const view types = types_of(function); !types.empty() && !has_word(types, i.last())) i.refuse();
  return i.type();
}
}  // namespace
text arithmetic(instruction& i, view function, std::size_t operands) {
  const bool rounds = skip_rounding(i);
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
  return i.put(0, call(fmt::format("{}{}{}<{}>", function, part.empty() || part == "lo" ? "" : "_",
                                   part == "lo" ? "" : part, type),
                       all));
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
text move(instruction& i) {
  const text type = i.type();
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
  if (i.take("param")) {
    i.skip({"u64", "u32"});
    return i.put(0, call("address_of_parameter", i.get("unsigned long", 1)));
  }
  const text space = i.space();
  i.skip({"u64", "u32"});
  if (space == "generic") return i.put(0, i.get("unsigned long", 1));
  return i.put(0, call(to ? "to_shared" : "from_shared", i.get("unsigned long", 1)));
}
text convert(instruction& i) {
  const view rounding = i.take_one({"rni", "rzi", "rmi", "rpi"});
  skip_rounding(i);
  if (i.take("tf32")) {
    i.take("rna");
    if (!i.take("f32")) i.refuse();
    return i.put(0, call("to_tf32", i.get("float", 1)));
  }
  for (const view pair : {"e4m3x2", "e5m2x2"}) {
    if (!i.take(pair)) continue;
    const view wide = pair == "e5m2x2" ? "<true>" : "<false>";
    if (i.take("satfinite") && i.take("f32"))
      return i.put(0, call(fmt::format("fp8_pair{}", wide), i.get("float", 1), i.get("float", 2)));
    if (!i.take("f16x2")) i.refuse();
    return i.put(0, call(fmt::format("from_fp8_pair{}", wide), i.get("unsigned short", 1)));
  }
  for (const view pair : {"f16x2", "bf16x2"})
    if (i.take(pair)) {
      if (!i.take("f32")) i.refuse();
      return i.put(0, call(pair == "f16x2" ? "halves" : "bfloats", i.get("float", 1), i.get("float", 2)));
    }
  for (const view half : {"f16", "bf16"}) {
    const text name = half == "f16" ? "half" : "bfloat";
    const bool narrows = i.first() == half;
    if (!i.take(half)) continue;
    if (!i.take("f32")) i.refuse();
    return i.put(0, narrows ? call("to_" + name, i.get("float", 1))
                            : call("from_" + name, i.get("unsigned short", 1)));
  }
  const text from = i.type(), to = i.type();
  return i.put(0, call(fmt::format("converted<{}, {}>", to, from), i.get(from, 1),
                       fmt::format("'{}'", rounding.empty() ? 'z' : rounding[1])));
}
text compare(instruction& i) {
  const view how = i.take_one({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"});
  i.take("ftz");
  const view with = i.take_one({"and", "or", "xor"});
  const text type = i.type();
  const view sign = how == "eq"                  ? "=="
                    : how == "ne"                ? "!="
                    : how == "lt" || how == "lo" ? "<"
                    : how == "le" || how == "ls" ? "<="
                    : how == "gt" || how == "hi" ? ">"
                    : how.empty()                ? ""
                                                 : ">=";
  if (sign.empty()) i.refuse();
  text result = fmt::format("({} {} {})", i.get(type, 1), sign, i.get(type, 2));
  if (!with.empty())
    result = fmt::format("({} {} {})", result,
                         with == "and"  ? "&&"
                         : with == "or" ? "||"
                                        : "!=",
                         i.get("bool", 3));
  const auto both = split(i.operand(0), '|');
  if (both.size() > 1 && !with.empty()) i.refuse();
  text code = fmt::format("const bool ap_v = {}; {}", result, call("put", i.value(both[0]), "ap_v"));
  if (both.size() > 1) code += "; " + call("put", i.value(both[1]), "!ap_v");
  return code;
}
text select(instruction& i) {
  const text type = i.type();
  return i.put(0, fmt::format("({} ? {} : {})", i.get("bool", 3), i.get(type, 1), i.get(type, 2)));
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
