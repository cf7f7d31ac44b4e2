// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces, by their objects.
#include "checker/plain/ptx/instructions/ptx_families.hpp"

namespace antiphase::plain::ptx_code {

namespace {
// [object, {x, y, z}]: the object; `place` becomes "x, y, z". PTX has four coordinates where it needs three.
text object_and_place(const instruction& i, std::size_t operand, int dimensions, const text& type,
                      text& place) {
  const auto all = i.inside(operand);
  if (all.size() != 2 || !all[1].starts_with("{")) i.refuse();
  const auto list = split(all[1].substr(1, all[1].size() - 2), ',');
  if (static_cast<int>(list.size()) != (dimensions == 3 ? 4 : dimensions)) i.refuse();
  for (int d = 0; d < 3; ++d)
    place += (d > 0 ? ", " : "") + (d < dimensions ? fmt::format("::antiphase::plain::ptx::get<{}>({})", type,
                                                                 i.value(list[static_cast<std::size_t>(d)]))
                                                   : text("0"));
  return fmt::format("::antiphase::plain::ptx::get<unsigned long>({})", i.value(all[0]));
}
int dimensions_of(instruction& i) {
  const view all = i.take_one({"1d", "2d", "3d"});
  if (all.empty()) i.refuse();
  return all[0] - '0';
}
}  // namespace

// tex.2d.v4.f32.f32 {a, b, c, d}, [object, {x, y}]
text fetch_texel(instruction& i) {
  const int dimensions = dimensions_of(i);
  if (vector_of(i) != 4 || i.parts() != 2 || i.count() != 2) i.refuse();
  const text coordinate = i.type(), type = i.type();
  text at;
  const text object = object_and_place(i, 1, dimensions, coordinate, at);
  const auto to = i.list(0);
  if (to.size() != 4 || (coordinate != "int" && coordinate != "float")) i.refuse();
  text code =
      fmt::format("const auto ap_v = {}", call(fmt::format("texel<{}, {}>", type, dimensions), object, at));
  for (std::size_t k = 0; k < to.size(); ++k) code += "; " + call("put", to[k], fmt::format("ap_v.x[{}]", k));
  return code;
}

// suld.b.2d.v2.b32.trap {a, b}, [surface, {x, y}]; sust.b has the operands in the other order. x is in bytes.
text surface(instruction& i, bool loads) {
  if (!i.take("b")) i.refuse();
  const int dimensions = dimensions_of(i), n = vector_of(i);
  const view mode = i.take_one({"trap", "clamp", "zero"});
  i.skip_cache_hints();
  const text type = i.type();
  text at;
  const text object = object_and_place(i, loads ? 1 : 0, dimensions, "int", at);
  const auto list = i.list(loads ? 0 : 1);
  if (mode.empty() || static_cast<int>(list.size()) != n) i.refuse();
  const text boundary = fmt::format("cudaBoundaryMode{}", mode == "trap"    ? "Trap"
                                                          : mode == "clamp" ? "Clamp"
                                                                            : "Zero");
  const text whole = fmt::format("::antiphase::plain::ptx::pack<{}, {}>", type, n);
  if (!loads)
    return fmt::format(
        "if (auto* const ap_p = ::antiphase::plain::surface_at<{0}>({1}, {2}, {3}, {4}); ap_p != nullptr) "
        "*ap_p = "
        "{0}{{{5}}}",
        whole, object, at, boundary, here, i.gets(type, 1));
  text code = fmt::format("const auto ap_v = ::antiphase::plain::surface_value<{}>({}, {}, {}, {})", whole,
                          object, at, boundary, here);
  for (std::size_t k = 0; k < list.size(); ++k)
    code += "; " + call("put", list[k], fmt::format("ap_v.x[{}]", k));
  return code;
}

}  // namespace antiphase::plain::ptx_code
