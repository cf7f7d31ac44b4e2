// SPDX-License-Identifier: Apache-2.0
// Comparisons and selections of PTX.
#include "checker/plain/ptx/instructions/ptx_families.hpp"
#include "checker/plain/ptx/instructions/ptx_small.hpp"

namespace antiphase::plain::ptx_code {

namespace {
// Two numbers compared. Of floating types, lt and ne do not hold if one is NaN; ltu and neu hold then.
text compared(instruction& i, view how, const text& a, const text& b, bool real) {
  struct comparison {
    view name, sign, unless;  // unless: what does not hold
  };
  static constexpr comparison all[] = {
      {"eq", "==", ""},  {"ne", "!=", ""},  {"lt", "<", ""},  {"le", "<=", ""},  {"gt", ">", ""},
      {"ge", ">=", ""},  {"lo", "<", ""},   {"ls", "<=", ""}, {"hi", ">", ""},   {"hs", ">=", ""},
      {"neu", "", "=="}, {"ltu", "", ">="}, {"leu", "", ">"}, {"gtu", "", "<="}, {"geu", "", "<"}};
  if (real && how == "num") return fmt::format("({0} == {0} && {1} == {1})", a, b);
  if (real && how == "nan") return fmt::format("({0} != {0} || {1} != {1})", a, b);
  if (real && how == "equ") return fmt::format("!({0} < {1} || {0} > {1})", a, b);
  if (real && how == "ne") return fmt::format("({0} < {1} || {0} > {1})", a, b);
  const auto* const found = std::ranges::find(all, how, &comparison::name);
  if (found == std::end(all) || (!real && found->sign.empty())) i.refuse();
  if (!found->sign.empty()) return fmt::format("({} {} {})", a, found->sign, b);
  return fmt::format("!({} {} {})", a, found->unless, b);
}
view take_comparison(instruction& i) {
  return i.take_one({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
                     "gtu", "geu", "num", "nan"});
}
// The comparison of operands 1 and 2; of pairs, of the lower or upper `half`.
text comparison_of(instruction& i, view how, view type, int half) {
  const small_type* const small = small_of(type);
  if (small == nullptr) {
    const text named = i.type_named(type);
    return compared(i, how, i.get(named, 1), i.get(named, 2), named == "float" || named == "double");
  }
  const auto one = [&](std::size_t k) {
    return fmt::format("::antiphase::plain::ptx::{}::from(static_cast<unsigned short>({} >> {}))",
                       small->number, i.get(small->word, k), 16 * half);
  };
  return compared(i, how, one(1), one(2), true);
}
text combined(instruction& i, view with, const text& result) {
  if (with.empty()) return result;
  return fmt::format("({} {} {})", result,
                     with == "and"  ? "&&"
                     : with == "or" ? "||"
                                    : "!=",
                     i.get("bool", 3));
}
}  // namespace

text compare(instruction& i) {
  const view how = take_comparison(i);
  i.take("ftz");
  const view with = i.take_one({"and", "or", "xor"}), type = i.last();
  i.take(type);
  const auto both = split(i.operand(0), '|');
  text code = fmt::format("const bool ap_v = {}; ", combined(i, with, comparison_of(i, how, type, 0)));
  if (both.size() > 1) {  // the other half of a pair, or what does not hold
    const text other =
        type.ends_with("x2") ? comparison_of(i, how, type, 1) : "!" + comparison_of(i, how, type, 0);
    code += fmt::format("const bool ap_w = {}; {}; ", combined(i, with, other),
                        call("put", i.value(both[1]), "ap_w"));
  }
  return code + call("put", i.value(both[0]), "ap_v");
}
// set.lt.u32.f32: a word of ones, or 1.0.
text compare_to_word(instruction& i) {
  const view how = take_comparison(i);
  i.take("ftz");
  const view with = i.take_one({"and", "or", "xor"}), from = i.take_last(), to = i.take_last();
  const auto one = [&](int half) { return combined(i, with, comparison_of(i, how, from, half)); };
  if (to == "u32" || to == "s32") return i.put(0, one(0) + " ? ~0u : 0u");
  if (to == "f32") return i.put(0, one(0) + " ? 1.0f : 0.0f");
  const small_type* const small = small_of(to);
  if (small == nullptr || to == "f32x2") i.refuse();
  const view value = to[0] == 'f' ? "0x3C00u" : "0x3F80u";
  if (!to.ends_with("x2"))
    return i.put(0, fmt::format("static_cast<unsigned short>({} ? {} : 0u)", one(0), value));
  return i.put(0, fmt::format("({} ? {} : 0u) | ({} ? {} << 16 : 0u)", one(0), value, one(1), value));
}
text select(instruction& i) {
  const small_type* const small = small_of(i.last());
  const text type = small != nullptr ? (i.take_last(), small->word) : i.type();
  return i.put(0, fmt::format("({} ? {} : {})", i.get("bool", 3), i.get(type, 1), i.get(type, 2)));
}
text select_by_sign(instruction& i) {  // slct.f32.s32
  const text by = i.type(), type = i.type();
  return i.put(0, fmt::format("({} >= 0 ? {} : {})", i.get(by, 3), i.get(type, 1), i.get(type, 2)));
}
text test_property(instruction& i) {
  const view what = i.take_one({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const text type = i.type(), a = i.get(type, 1);
  const text finite = call("is_finite<" + type + ">", a), normal = call("is_normal<" + type + ">", a),
             number = call("is_number<" + type + ">", a);
  if (what.empty()) i.refuse();
  return i.put(0, what == "finite"       ? finite
                  : what == "infinite"   ? number + " && !" + finite
                  : what == "number"     ? number
                  : what == "notanumber" ? "!" + number
                  : what == "normal"     ? normal
                                         : finite + " && !" + normal + " && " + a + " != 0");
}
text is_in_space(instruction& i) {
  const view space = i.take_one(
      {"shared", "shared::cta", "shared::cluster", "global", "local", "const", "param", "param::entry"});
  if (space.empty()) i.refuse();
  const text shared = call("is_shared", i.get("unsigned long", 1));
  return i.put(0, space.starts_with("shared") ? shared : space == "global" ? "!" + shared : "false");
}

}  // namespace antiphase::plain::ptx_code
