// SPDX-License-Identifier: Apache-2.0
// Reads a description of a launch and writes the program that makes it.
#include "launch_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "function_writer.hpp"

namespace antiphase::plain::ptx_module {
namespace {

using json = nlohmann::json;
using view = std::string_view;

struct element {
  view name;
  const char* cpp;
  std::size_t bytes;
  bool is_whole;  // an integer
};
constexpr element elements[] = {{"f16", "__half", 2, false},      {"bf16", "__nv_bfloat16", 2, false},
                                {"f32", "float", 4, false},       {"f64", "double", 8, false},
                                {"i8", "signed char", 1, true},   {"i16", "short", 2, true},
                                {"i32", "int", 4, true},          {"i64", "long", 8, true},
                                {"u8", "unsigned char", 1, true}, {"u16", "unsigned short", 2, true},
                                {"u32", "unsigned", 4, true},     {"u64", "unsigned long", 8, true}};

constexpr std::size_t most_bytes = std::size_t{4} << 30;  // of an array: of the simulated device

std::string literal(view text) { return json(std::string(text)).dump(); }

class launch_writer {
 public:
  launch_writer(const std::string& file, std::span<const module_text> modules)
      : file_(file), modules_(modules) {}
  std::string driver(const std::string& text);

 private:
  template <class... A> [[noreturn]] void fail(fmt::format_string<A...> text, const A&... values) const {
    throw bad_request(
        fmt::format("{}: {}", file_, fmt::vformat(fmt::string_view(text), fmt::make_format_args(values...))));
  }
  void allow(const json& object, const std::string& where, std::initializer_list<view> keys) const;
  const function* find_kernel(const std::string& name);
  std::string extent(const json& launch, const char* key) const;
  const element& element_of(const json& argument, const char* key, const std::string& where) const;
  std::string number(const json& value, const element& e, const std::string& where) const;
  std::string values(const json& list, const element& e, std::size_t count, const std::string& where) const;
  std::string data_of(const json& argument, const element& e, std::size_t count,
                      const std::string& where) const;
  std::string argument(const json& a, std::size_t index, const variable* parameter);
  std::string array(const json& a, const std::string& where);
  std::string address(const json& a, const std::string& where) const;
  std::string structure(const json& members, std::size_t bytes, const std::string& where);
  std::string scalar(const json& a, const std::string& where, const variable* parameter) const;
  std::string converted(const json& a, std::size_t index, const std::string& value);

  const std::string& file_;
  std::span<const module_text> modules_;
  std::string kernel_, conversions_, before_, after_;
  std::map<std::size_t, std::string> arrays_given_;  // by the number of their argument
  int arrays_ = 0;
};

void launch_writer::allow(const json& object, const std::string& where,
                          std::initializer_list<view> keys) const {
  std::string all;
  for (const view k : keys) all += (all.empty() ? "" : ", ") + std::string(k);
  if (!object.is_object()) fail("{} is {}: expected an object with {}", where, object.dump(), all);
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(keys, key) == keys.end()) fail("{} has '{}': expected {}", where, key, all);
}

// Of sources other than PTX nothing is known: null.
const function* launch_writer::find_kernel(const std::string& name) {
  const function* found = nullptr;
  std::string all;
  for (const module_text& m : modules_)
    for (const function& f : m.functions) {
      if (!f.is_kernel || !f.is_defined) continue;
      all += (all.empty() ? "" : ", ") + f.name;
      if (f.name != name && function_in_source(f.name) != name) continue;
      if (found != nullptr && found->name != name && f.name != name)
        fail("\"kernel\" is '{}', which {} and {} are called in the source: expected one of these names",
             name, found->name, f.name);
      if (found == nullptr || f.name == name) found = &f;
    }
  if (found == nullptr && all.empty() && !modules_.empty())
    fail("the PTX has no kernel: expected '{}', with its body", name);
  if (found == nullptr && !modules_.empty()) fail("there is no kernel '{}': expected one of {}", name, all);
  kernel_ = found != nullptr ? found->name : name;
  return found;
}

std::string launch_writer::extent(const json& launch, const char* key) const {
  if (!launch.contains(key)) fail("\"{}\" is missing: expected 1 to 3 numbers", key);
  const json list = launch[key].is_array() ? launch[key] : json::array({launch[key]});
  std::string all;
  for (const json& n : list) {
    if (!n.is_number_integer() || n.get<long>() < 1 || n.get<long>() > 0x7FFFFFFF)
      fail("\"{}\" has {}: expected a whole number from 1 on", key, n.dump());
    all += (all.empty() ? "" : ", ") + n.dump();
  }
  if (list.empty() || list.size() > 3) fail("\"{}\" has {} numbers: expected 1 to 3", key, list.size());
  return all;
}

const element& launch_writer::element_of(const json& a, const char* key, const std::string& where) const {
  std::string all;
  for (const element& e : elements) {
    if (a[key].is_string() && a[key].get<std::string>() == e.name) return e;
    all += (all.empty() ? "" : ", ") + std::string(e.name);
  }
  fail("\"{}\" of {} is {}: expected one of {}", key, where, a[key].dump(), all);
}

std::string launch_writer::number(const json& value, const element& e, const std::string& where) const {
  if (!e.is_whole && value.is_string()) {
    const auto word = value.get<std::string>();
    for (const auto& [name, text] : {std::pair{"nan", "__builtin_nanf(\"\")"},
                                     {"inf", "__builtin_inff()"},
                                     {"-inf", "-__builtin_inff()"}})
      if (word == name) return text;
  }
  if (!value.is_number() || (e.is_whole && !value.is_number_integer()))
    fail("{} has {}: expected {} of type {}", where, value.dump(), e.is_whole ? "a whole number" : "a number",
         e.name);
  const int bits = static_cast<int>(e.bytes) * 8;
  const auto unsigned_value = value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
  const auto signed_value = value.is_number_integer() && unsigned_value == 0 ? value.get<std::int64_t>() : 0;
  if (e.is_whole && bits < 64 &&
      (unsigned_value >> bits != 0 || signed_value < -(std::int64_t{1} << (bits - 1))))
    fail("{} has {}: expected a number of {} bits", where, value.dump(), bits);
  if (value.is_number_unsigned() && e.is_whole) return value.dump() + "ul";
  if (e.is_whole) return fmt::format("static_cast<long>({}ul)", static_cast<std::uint64_t>(signed_value));
  return fmt::format("({} * 1.0)", value.get<double>());
}

std::string launch_writer::values(const json& list, const element& e, std::size_t count,
                                  const std::string& where) const {
  if (list.size() != count) fail("{} has {} values: expected {}", where, list.size(), count);
  std::string all;
  for (const json& v : list) all += (all.empty() ? "" : ", ") + fmt::format("value({})", number(v, e, where));
  return "{" + all + "}";
}

std::string launch_writer::data_of(const json& a, const element& e, std::size_t count,
                                   const std::string& where) const {
  const json kind = a.value("data", json("zeros"));
  if (kind.is_array()) return values(kind, e, count, fmt::format("\"data\" of {}", where));
  const std::string name = kind.is_string() ? kind.get<std::string>() : std::string();
  const json seed = a.value("seed", json(1));
  if (!seed.is_number_integer() || seed.get<long>() < 0 || seed.get<long>() > 0xFFFFFFFF)
    fail("\"seed\" of {} is {}: expected a whole number from 0 to 4294967295", where, seed.dump());
  if (name == "zeros") return fmt::format("({}ul)", count);
  if (name == "random")
    return fmt::format(" = ::antiphase::driver::numbers<value>({}ul, {}u)", count, seed.dump());
  if (name == "iota")
    return fmt::format(
        "({}ul); for (unsigned long ap_i = 0; ap_i < {}ul; ++ap_i) ap_host[ap_i] = "
        "value(static_cast<{}>(ap_i))",
        count, count, e.is_whole ? "long" : "float");
  fail("\"data\" of {} is {}: expected zeros, iota, random, none, or a list of {} values", where, kind.dump(),
       count);
}

std::string launch_writer::array(const json& a, const std::string& where) {
  allow(a, where, {"array", "count", "data", "seed", "expected", "tolerance", "output"});
  const element& e = element_of(a, "array", where);
  if (!a.contains("count") || !a["count"].is_number_integer() || a["count"].get<long>() < 1)
    fail("\"count\" of {} is {}: expected a whole number from 1 on", where, a.value("count", json()).dump());
  const auto count = a["count"].get<std::size_t>();
  if (count > most_bytes / e.bytes)
    fail("\"count\" of {} is {}: expected at most {}, as the simulated device allocates up to 4 GiB", where,
         count, most_bytes / e.bytes);
  const std::string type = fmt::format("using value = {}; ", e.cpp);
  const std::string name = fmt::format("ap_a{}", arrays_++);
  if (a.value("data", json()) == "none")
    before_ += fmt::format("  ::antiphase::driver::array<{}> {}({}ul);\n", e.cpp, name, count);
  else
    before_ += fmt::format(
        "  ::antiphase::driver::array<{0}> {1}([] {{ {2}std::vector<value> ap_host{3}; return "
        "ap_host; }}());\n",
        e.cpp, name, type, data_of(a, e, count, where));
  const json tolerance = a.value("tolerance", json(0));
  if (!tolerance.is_number() || tolerance.get<double>() < 0)
    fail("\"tolerance\" of {} is {}: expected a number from 0 on", where, tolerance.dump());
  if (a.contains("expected")) {
    if (!a["expected"].is_array())
      fail("\"expected\" of {} is {}: expected a list of {} values", where, a["expected"].dump(), count);
    after_ += fmt::format(
        "  {{ {0}const std::vector<value> ap_wanted{1}; right &= ::antiphase::driver::holds("
        "\"{2}\", {3}, [&](std::size_t i) {{ return static_cast<double>(ap_wanted[i]); }}, {4}); "
        "}}\n",
        type, values(a["expected"], e, count, fmt::format("\"expected\" of {}", where)), where, name,
        tolerance.dump());
  }
  if (a.contains("output")) {
    if (!a["output"].is_string() || a["output"].get<std::string>().empty())
      fail("\"output\" of {} is {}: expected the name of a file", where, a["output"].dump());
    const std::filesystem::path to = a["output"].get<std::string>();
    std::error_code ignored;
    if (std::filesystem::is_directory(to, ignored) ||
        !std::filesystem::is_directory(std::filesystem::absolute(to, ignored).parent_path(), ignored))
      fail("\"output\" of {} is {}: expected a file in a folder that exists", where, a["output"].dump());
    after_ += fmt::format("  ::antiphase::driver::write_contents({}, {});\n",
                          literal(a["output"].get<std::string>()), name);
  }
  return name;
}

// {"address": 0, "offset": 16}: where the array of argument 0 lies, and on, as a word of 64 bits.
std::string launch_writer::address(const json& a, const std::string& where) const {
  allow(a, where, {"address", "offset"});
  const json of = a["address"], offset = a.value("offset", json(0));
  const auto given =
      of.is_number_unsigned() ? arrays_given_.find(of.get<std::size_t>()) : arrays_given_.end();
  if (given == arrays_given_.end())
    fail("\"address\" of {} is {}: expected the number of an argument, from 0 on, that is an array", where,
         of.dump());
  if (!offset.is_number_integer() || (offset.is_number_unsigned() && offset.get<long>() < 0))
    fail("\"offset\" of {} is {}: expected a whole number of bytes", where, offset.dump());
  return fmt::format("(reinterpret_cast<unsigned long>({}.data()) + {})", given->second,
                     number(offset, elements[7], where));
}

std::string launch_writer::scalar(const json& a, const std::string& where, const variable* parameter) const {
  const std::size_t bytes = parameter == nullptr ? 0 : bytes_of(parameter->type);
  if (!a.is_object()) {  // a number: of the parameter's type
    const bool real = parameter != nullptr ? parameter->type[0] == 'f' : a.is_number_float();
    const element& e = *std::ranges::find(elements,
                                          real         ? bytes == 8 || bytes == 0 ? "f64"
                                                         : bytes == 2             ? "f16"
                                                                                  : "f32"
                                          : bytes == 4 ? "u32"
                                          : bytes == 2 ? "u16"
                                          : bytes == 1 ? "u8"
                                                       : "i64",
                                          &element::name);
    if (parameter != nullptr && a.is_number_float() && !real)
      fail(
          "{} is {}, and the kernel's parameter is .{}: expected a whole number, or "
          "{{\"scalar\": \"f32\", \"value\": {}}}",
          where, a.dump(), parameter->type, a.dump());
    return number(a, e, where);
  }
  allow(a, where, {"scalar", "value"});
  const element& e = element_of(a, "scalar", where);
  if (!a.contains("value")) fail("{} has no \"value\": expected a number", where);
  if (bytes != 0 && bytes != e.bytes)
    fail("{} is {} of {} bytes: expected {}, as the kernel's parameter .{} has", where, e.name, e.bytes,
         bytes, parameter->type);
  const std::string value = fmt::format("static_cast<{}>({})", e.cpp, number(a["value"], e, where));
  // Words of PTX have no type: the bits count.
  return bytes > 0 && !e.is_whole && parameter->type[0] != 'f' ? fmt::format("std::bit_cast<unsigned {}>({})",
                                                                             bytes == 8   ? "long"
                                                                             : bytes == 4 ? "int"
                                                                                          : "short",
                                                                             value)
                                                               : value;
}

// Members one after the other, each at a multiple of its size.
std::string launch_writer::structure(const json& members, std::size_t bytes, const std::string& where) {
  if (!members.is_array())
    fail("\"struct\" of {} is {}: expected a list of arrays and scalars", where, members.dump());
  std::string code =
      fmt::format("[&] {{ std::array<unsigned char, {}> ap_all{{}}; std::size_t ap_at = 0; ", bytes);
  std::size_t end = 0;
  for (const json& m : members) {
    const bool is_array = m.is_object() && m.contains("array"),
               is_address = m.is_object() && m.contains("address");
    if (!is_array && !is_address && !(m.is_object() && m.contains("scalar")))
      fail("\"struct\" of {} has {}: expected objects with \"array\", \"address\" or \"scalar\"", where,
           m.dump());
    const std::size_t size = is_array || is_address ? 8 : element_of(m, "scalar", where).bytes;
    end = (end + size - 1) / size * size + size;
    const std::string value = is_array ? fmt::format("static_cast<const void*>({}.data())", array(m, where))
                              : is_address ? address(m, where)
                                           : scalar(m, where, nullptr);
    code += fmt::format("::antiphase::driver::put_member(ap_all.data(), ap_at, {}); ", value);
  }
  if (end > bytes) fail("\"struct\" of {} has {} bytes: expected at most {}", where, end, bytes);
  return code + "return ap_all; }()";
}

std::string launch_writer::argument(const json& a, std::size_t index, const variable* parameter) {
  const std::string where = fmt::format("argument {}", index);
  const bool is_bytes = parameter != nullptr && parameter->is_array;
  if (a.is_object() && a.contains("bytes")) {
    allow(a, where, {"bytes"});
    const element& e = elements[8];
    const std::size_t count = is_bytes               ? parameter->count * bytes_of(parameter->type)
                              : parameter != nullptr ? bytes_of(parameter->type)
                                                     : a["bytes"].size();
    const std::string all =
        fmt::format("[] {{ using value = unsigned char; return std::array<value, {}>{{{}}}; }}()", count,
                    values(a["bytes"], e, count, fmt::format("\"bytes\" of {}", where)));
    if (is_bytes || parameter == nullptr) return all;
    const bool real = parameter->type[0] == 'f';
    const char* const type = count == 8   ? real ? "double" : "unsigned long"
                             : count == 4 ? real ? "float" : "unsigned"
                             : count == 2 ? "unsigned short"
                                          : "unsigned char";
    return fmt::format("std::bit_cast<{}>({})", type, all);
  }
  if (is_bytes && a.is_object() && a.contains("struct")) {
    allow(a, where, {"struct"});
    return structure(a["struct"], parameter->count * bytes_of(parameter->type), where);
  }
  if (is_bytes)
    fail(
        "{} is {}: expected {{\"struct\": [...]}}, or {{\"bytes\": [...]}} with the {} bytes of the kernel's "
        "parameter",
        where, a.dump(), parameter->count * bytes_of(parameter->type));
  const bool is_array = a.is_object() && a.contains("array"),
             is_address = a.is_object() && a.contains("address");
  if ((is_array || is_address || a.is_null()) && parameter != nullptr && bytes_of(parameter->type) != 8)
    fail("{} is {}: expected a scalar, as the kernel's parameter is .{}", where,
         is_array     ? "an array"
         : is_address ? "an address"
                      : "null",
         parameter->type);
  if (is_array) return arrays_given_[index] = array(a, where);
  if (is_address) return address(a, where);
  if (a.is_null()) return "nullptr";
  if (!a.is_number() && !(a.is_object() && a.contains("scalar")))
    fail(
        "{} is {}: expected a number, null, or an object with \"array\", \"address\", \"scalar\" or "
        "\"bytes\"",
        where, a.dump());
  return scalar(a, where, parameter);
}

// A kernel in CUDA C++ has types: the argument takes its parameter's, or the compiler says why it cannot.
std::string launch_writer::converted(const json& a, std::size_t index, const std::string& value) {
  const auto is = [&](const char* key) { return a.is_object() && a.contains(key); };
  const auto [what, expected] =
      is("array")     ? std::pair{"an array of " + a["array"].get<std::string>(),
                              "a pointer to such numbers, or to vectors or structs of them"}
      : is("address") ? std::pair{std::string("an address"), "a pointer, or an integer of 64 bits"}
      : is("bytes")   ? std::pair{fmt::format("{} bytes", a["bytes"].size()), "a type of this size"}
      : a.is_null()   ? std::pair{std::string("null"), "a pointer"}
                      : std::pair{is("scalar") ? "of type " + a["scalar"].get<std::string>() : a.dump(),
                                "a type that holds this number"};
  conversions_ += fmt::format(
      "AP_ARGUMENT({0}, {1})\n", index,
      literal(fmt::format("argument {} is {}, and the parameter of {} has another type: expected {}", index,
                          what, kernel_, expected)));
  return fmt::format("ap_argument_{}({})", index,
                     is("address") ? fmt::format("::antiphase::driver::address{{{}}}", value) : value);
}

std::string launch_writer::driver(const std::string& text) {
  json launch;
  try {
    launch = json::parse(text);
  } catch (const json::parse_error& e) {
    const view all = view(text).substr(0, e.byte);
    fail("line {} is not JSON: expected an object with kernel, grid, block and arguments",
         1 + std::ranges::count(all, '\n'));
  } catch (const json::out_of_range&) {
    fail("a number is larger than any number of 64 bits");
  }
  allow(launch, "the launch", {"kernel", "grid", "block", "cluster", "shared", "arguments"});
  if (!launch.contains("kernel") || !launch["kernel"].is_string())
    fail("\"kernel\" is missing: expected its name");
  const function* const kernel = find_kernel(launch["kernel"].get<std::string>());
  const json arguments = launch.value("arguments", json::array());
  if (!arguments.is_array()) fail("\"arguments\" is {}: expected a list", arguments.dump());
  if (kernel != nullptr && kernel->parameters.size() != arguments.size())
    fail("\"arguments\" has {}: expected {}, as {} has parameters", arguments.size(),
         kernel->parameters.size(), kernel->name);
  const json shared = launch.value("shared", json(0));
  if (!shared.is_number_integer() || shared.get<long>() < 0)
    fail("\"shared\" is {}: expected a number of bytes", shared.dump());
  std::vector<std::string> given(arguments.size());
  for (const bool arrays : {true, false})  // addresses are those of arrays, and may come before them
    for (std::size_t k = 0; k < arguments.size(); ++k)
      if (arrays == (arguments[k].is_object() && arguments[k].contains("array")))
        given[k] = kernel != nullptr ? argument(arguments[k], k, &kernel->parameters[k])
                                     : converted(arguments[k], k, argument(arguments[k], k, nullptr));
  std::string takes;
  for (const std::string& one : given) takes += ", " + one;
  const std::string grid = extent(launch, "grid"), block = extent(launch, "block");
  std::string attributes;
  if (launch.contains("cluster")) {
    const std::string cluster = extent(launch, "cluster");
    attributes = fmt::format(
        "  const dim3 ap_cluster({});\n  cudaLaunchAttribute ap_attribute = {{}};\n"
        "  ap_attribute.id = cudaLaunchAttributeClusterDimension;\n"
        "  ap_attribute.val.clusterDim.x = ap_cluster.x;\n"
        "  ap_attribute.val.clusterDim.y = ap_cluster.y;\n"
        "  ap_attribute.val.clusterDim.z = ap_cluster.z;\n"
        "  ap_how.attrs = &ap_attribute, ap_how.numAttrs = 1;\n",
        cluster);
  }
  return fmt::format(
      "#include <antiphase/plain/driver.h>\n#include <array>\n#include <bit>\n#include <cuda_bf16.h>\n"
      "#include <cuda_fp16.h>\n#line 1 {}\n{}int main() {{\n{}"
      "  cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {});\n"
      "  cudaLaunchConfig_t ap_how = {{}};\n  ap_how.gridDim = dim3({}), ap_how.blockDim = dim3({});\n"
      "  ap_how.dynamicSmemBytes = {};\n{}"
      "  cudaLaunchKernelEx(&ap_how, {}{});\n"
      "  if (const cudaError_t ap_failed = cudaDeviceSynchronize(); ap_failed != cudaSuccess)\n"
      "    return std::fprintf(stderr, \"%s\\n\", cudaGetErrorString(ap_failed)), 1;\n"
      "  bool right = true;\n{}  return right ? 0 : 1;\n}}\n",
      literal(file_), conversions_, before_, kernel_, shared.dump(), grid, block, shared.dump(), attributes,
      kernel_, takes, after_);
}

}  // namespace

std::string driver_of(const std::string& text, const std::string& file,
                      std::span<const module_text> modules) {
  return launch_writer(file, modules).driver(text);
}

}  // namespace antiphase::plain::ptx_module
