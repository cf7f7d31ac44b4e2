// SPDX-License-Identifier: Apache-2.0
// Writes a PTX module as CUDA C++: its variables, and the heads of its functions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "core/portable/demangled.hpp"
#include "function_writer.hpp"

namespace antiphase::plain::ptx_module {
namespace {

const char* type_of_element(std::string_view type) {
  constexpr std::pair<std::string_view, const char*> all[] = {{"b8", "unsigned char"},
                                                              {"u8", "unsigned char"},
                                                              {"s8", "signed char"},
                                                              {"b16", "unsigned short"},
                                                              {"u16", "unsigned short"},
                                                              {"s16", "short"},
                                                              {"f16", "unsigned short"},
                                                              {"bf16", "unsigned short"},
                                                              {"b32", "unsigned"},
                                                              {"u32", "unsigned"},
                                                              {"s32", "int"},
                                                              {"f16x2", "unsigned"},
                                                              {"f32", "float"},
                                                              {"b64", "unsigned long"},
                                                              {"u64", "unsigned long"},
                                                              {"s64", "long"},
                                                              {"f64", "double"}};
  for (const auto& [ptx, cpp] : all)
    if (ptx == type) return cpp;
  return "unsigned __int128";
}

bool is_identifier(std::string_view s) {
  return !s.empty() && std::isdigit(static_cast<unsigned char>(s[0])) == 0 &&
         std::ranges::all_of(s, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}
}  // namespace

std::string name_in_source(const std::string& name) {
  const std::string all = demangled(name);
  std::string last = all.substr(all.rfind(':') + 1);
  return is_identifier(last) ? last : name;
}
std::string function_in_source(const std::string& name) {
  const std::string all = demangled(name), head = all.substr(0, all.find_first_of("<("));
  return head.substr(head.find_last_of(" :") + 1);
}

namespace {

std::string type_of_parameter(const variable& p) {
  const std::size_t bytes = bytes_of(p.type);
  if (p.is_array)
    return fmt::format("::antiphase::plain::ptx::bytes<{}, {}>", std::max<std::size_t>(p.count, 1) * bytes,
                       std::max<std::size_t>({bytes, static_cast<std::size_t>(p.align), 1}));
  return bytes == 8 && p.type != "f64" ? "::antiphase::plain::ptx::word" : type_of_element(p.type);
}

// The numbers after an attribute, such as .maxntid 128, 1, 1
std::vector<long> numbers_after(const function& f, std::string_view attribute) {
  std::vector<long> all;
  const std::size_t start = f.attributes.find(attribute);
  if (start == std::string::npos) return all;
  const std::string_view rest = std::string_view(f.attributes).substr(start + attribute.size());
  for (const std::string_view one : ptx_code::split(rest.substr(0, rest.find('.')), ','))
    all.push_back(std::strtol(std::string(one).c_str(), nullptr, 10));
  return all;
}

class unit_writer {
 public:
  unit_writer(const module_text& m, int number, launched_by host, const std::string& anonymous)
      : m_(m), number_(number), host_(host), anonymous_(anonymous) {}
  std::string text();

 private:
  std::string declared(const variable& v, const std::string& name) const;
  void declare_variables();
  std::string initial(const variable& v) const;
  std::string head_of(const function& f) const;
  std::size_t users(const std::string& name) const;  // functions in which a variable stands
  void write(const function& f);
  void register_kernel(const function& f, const std::vector<long>& cluster);
  void register_entry(const function& f, const std::vector<long>& cluster);
  void register_cluster(const std::string& name, const std::string& size);
  std::string name_of_host(const std::string& name) const;

  const module_text& m_;
  int number_;
  launched_by host_;
  std::string anonymous_;
  int clusters_ = 0, registered_ = 0;
  symbols known_;
  std::map<std::string, std::string>
      shared_;  // declarations, by the variable's name in PTX, for each function
  std::string out_;
};

std::size_t unit_writer::users(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::count_if(m_.functions, [&](const function& f) {
    return std::ranges::any_of(f.body, [&](const statement& s) { return s.text.find(name) != s.text.npos; });
  }));
}

std::string unit_writer::declared(const variable& v, const std::string& name) const {
  const std::size_t bytes = bytes_of(v.type);
  const std::size_t align = std::max(bytes, static_cast<std::size_t>(v.align));
  if (v.space == "shared" && v.is_array && v.count == 0)
    return fmt::format("extern __shared__ __align__({}) unsigned char {}[];",
                       std::max<std::size_t>(align, 16), name);
  if (v.space == "shared")
    return fmt::format("__shared__ __align__({}) unsigned char {}[{}];", align, name,
                       std::max<std::size_t>(v.count * bytes, 1));
  return fmt::format("{}{} __attribute__((aligned({}))) {} {}[{}]", v.is_external ? "extern " : "",
                     v.space == "const" ? "__constant__"
                     : v.is_managed     ? "__managed__"
                                        : "__device__",
                     align, type_of_element(v.type), name, std::max<std::size_t>(v.count, 1));
}

// {1, 0f3F800000, generic(other)+4} in C++.
std::string unit_writer::initial(const variable& v) const {
  std::string flat;
  for (const char c : v.initial)
    if (c != '{' && c != '}') flat += c;
  std::string all;
  for (std::string_view one : ptx_code::split(flat, ',')) {
    if (one.empty()) continue;
    all += all.empty() ? "" : ", ";
    std::string sum;
    for (std::string_view part : ptx_code::split(one, '+')) {
      if (part.starts_with("generic(")) part = part.substr(8, part.size() - 9);
      const auto symbol = known_.find(part);
      sum += (sum.empty() ? "" : " + ") + (symbol != known_.end() ? symbol->second : ptx_code::number(part));
    }
    all += fmt::format("static_cast<{}>({})", type_of_element(v.type), sum);
  }
  return all;
}

void unit_writer::declare_variables() {
  std::set<std::string> taken;
  for (const variable& v : m_.variables) {
    const bool is_linked = v.space != "shared" && (v.is_visible || v.is_external) && is_identifier(v.name) &&
                           host_ != launched_by::host_of_nvcc;
    std::string name = is_linked ? v.name : name_in_source(v.name);
    if (!is_identifier(name) || taken.contains(name)) name = fmt::format("ap_v{}", known_.size());
    taken.insert(name);
    const std::string line = fmt::format("\n#line {} \"{}\"\n", v.line, m_.file);
    // Kernels call the module's functions, as which host code has others: its tables of virtual functions are
    // its own, and other addresses of functions are set where the host has the variable.
    const bool of_host = host_ == launched_by::host_part && v.space != "shared" &&
                         v.name.find('$') == v.name.npos && !v.name.starts_with("_ZTV");
    if (v.space == "shared") {
      known_[v.name] =
          fmt::format("::antiphase::plain::ptx::to_shared(reinterpret_cast<unsigned long>({}))", name);
      if (v.count == 0 || users(v.name) == 1)
        shared_[v.name] = line + declared(v, name);
      else
        out_ += line + declared(v, name);
      continue;
    }
    known_[v.name] = fmt::format("reinterpret_cast<unsigned long>({})", name);
    const std::string values = initial(v);
    if (of_host) {  // host code that has the variable too has it in place of this one
      name = fmt::format("ap_w{}", known_.size());
      known_[v.name] = fmt::format("reinterpret_cast<unsigned long>({})", name);
      variable own = v;
      own.is_external = true;
      out_ += fmt::format("{}extern \"C\" {{ {} __asm__(\"{}\"); }}", line, declared(own, name),
                          name_of_host(v.name));
      if (!v.is_external)
        out_ += fmt::format(" {} __attribute__((weak)){};", declared(v, name),
                            values.empty() ? "" : " = {" + values + "}");
      if (!v.is_external && std::ranges::any_of(m_.functions, [&](const function& f) {
            return f.is_defined && !f.is_kernel && v.initial.find(f.name) != v.initial.npos;
          }))
        out_ += fmt::format(
            " static const int ap_variable_{} = ::antiphase::plain::set_variable({}, {{{}}}, sizeof *{});",
            registered_++, name, values, name);
      continue;
    }
    if (is_linked) out_ += "\nextern \"C\" {";
    out_ +=
        line + declared(v, name) + (values.empty() ? "" : " = {" + values + "}") + (is_linked ? ";\n}" : ";");
    if (host_ == launched_by::host_of_nvcc && v.name.find('$') == v.name.npos)
      out_ += fmt::format(
          " static const int ap_variable_{} = ::antiphase::plain::register_variable(\"{}\", {}, sizeof {});",
          registered_++, v.name, name, name);
  }
}

std::string unit_writer::head_of(const function& f) const {
  std::string takes;
  const auto add = [&](const std::string& one) { takes += (takes.empty() ? "" : ", ") + one; };
  if (!f.is_kernel) {
    for (std::size_t k = 0; k < f.results.size() + f.parameters.size(); ++k)
      add(fmt::format("unsigned char* ap_x{}", k));
    return fmt::format("static __device__ void {}({})", symbol_of(f.name), takes);
  }
  std::size_t number = 0;
  for (const variable& p : f.parameters)
    add(fmt::format("const __grid_constant__ {} ap_x{}", type_of_parameter(p), number++));
  std::string limits;
  for (const char* attribute : {".maxntid", ".reqntid"})
    if (const auto most = numbers_after(f, attribute); !most.empty()) {
      long threads = 1;
      for (const long n : most) threads *= n;
      limits += fmt::format("__launch_bounds__({}) ", threads);
      break;
    }
  // Not inlined, so that what is found where it ends has its line.
  return fmt::format("{} __attribute__((noinline)) __global__ void {}{}({})",
                     host_ == launched_by::driver ? "extern \"C\"" : "static", limits, f.name, takes);
}

// The mangled name that g++ gives what nvcc calls `name`, with another name for anonymous namespaces.
std::string unit_writer::name_of_host(const std::string& name) const {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t digits = i;
    while (digits < name.size() && std::isdigit(static_cast<unsigned char>(name[digits])) != 0) ++digits;
    const std::size_t length = digits > i && digits - i < 6 ? std::stoul(name.substr(i, digits - i)) : 0;
    const std::string_view own = std::string_view(name).substr(digits, length);
    if (own.starts_with("_GLOBAL__N__"))
      out += fmt::format("{}{}", anonymous_.size(), anonymous_);
    else if (!own.starts_with("_INTERNAL_")) {
      out += name[i++];
      continue;
    }
    i = digits + length;
  }
  return out;
}

void unit_writer::register_cluster(const std::string& name, const std::string& size) {
  out_ += fmt::format("static const int ap_cluster_{} = ::antiphase::plain::register_cluster(\"{}\", {});\n",
                      clusters_++, name, size);
}

// A launch by host code has the addresses of the arguments. Instances of a template have clusters of their
// own: a launch asks each kernel for its size.
void unit_writer::register_kernel(const function& f, const std::vector<long>& cluster) {
  std::string copies, names;
  for (std::size_t k = 0; k < f.parameters.size(); ++k) {
    copies += fmt::format(
        "{0} ap_y{1}; __builtin_memcpy(__builtin_addressof(ap_y{1}), ap_a[{1}], sizeof ap_y{1}); ",
        type_of_parameter(f.parameters[k]), k);
    names += fmt::format("{}ap_y{}", k > 0 ? ", " : "", k);
  }
  out_ += fmt::format(
      "\n#line 1 \"/include/antiphase/plain/ptx_module.h\"\nstatic void ap_call_{0}(const void* const* ap_a) "
      "{{ if (::antiphase::plain::tells_cluster({5})) return; {1}{2}({3}); }}\nstatic const int "
      "ap_kernel_{0} = "
      "::antiphase::plain::register_kernel(\"{4}\", &ap_call_{0});\n",
      registered_++, copies, f.name, names, name_of_host(f.name),
      cluster.empty() ? "1" : fmt::format("{}", fmt::join(cluster, ", ")));
  if (!cluster.empty()) register_cluster(function_in_source(f.name), "0");
}

void unit_writer::register_entry(const function& f, const std::vector<long>& cluster) {
  out_ += fmt::format(
      "\n#line 1 \"/include/antiphase/plain/ptx_module.h\"\nstatic const int ap_kernel_{} = "
      "::antiphase::plain::register_entry(\"{}\", ::antiphase::plain::address_of(&{}), \"{}\", "
      "dim3({}));\n",
      registered_++, f.name, f.name, function_in_source(f.name), fmt::join(cluster, ", "));
}

void unit_writer::write(const function& f) {
  const function_text body = body_of(f, known_);
  const auto size = numbers_after(f, ".reqnctapercluster");
  out_ += fmt::format("\n#line {} \"{}\"\n{} {{", f.line, m_.file, head_of(f));
  for (const std::string& used : body.uses)
    if (const auto shared = shared_.find(used); shared != shared_.end()) out_ += shared->second;
  out_ += "\n" + body.text + "}\n";
  if (f.is_kernel && host_ == launched_by::host_of_nvcc)
    register_entry(f, size);
  else if (f.is_kernel && host_ == launched_by::host_part)
    register_kernel(f, size);
  else if (!size.empty())
    for (const std::string& name : {f.name, function_in_source(f.name)})  // launches have one or the other
      register_cluster(name, fmt::format("{}", fmt::join(size, ", ")));
}

std::string unit_writer::text() {
  out_ = fmt::format("#include <antiphase/plain/ptx_module.h>\nnamespace ap_module_{} {{\n", number_);
  if (users("%envreg") > 0) out_ += "static __device__ unsigned ap_grid_workspace[2];\n";
  for (const function& f : m_.functions)
    if (f.is_defined && !f.is_kernel) {
      known_[f.name] = fmt::format("reinterpret_cast<unsigned long>(&{})", symbol_of(f.name));
      out_ += head_of(f) + ";\n";
    }
  declare_variables();
  for (const function& f : m_.functions)
    if (f.is_defined) write(f);
  out_ += "}\n";
  for (const function& f : m_.functions)
    if (f.is_kernel && f.is_defined && host_ == launched_by::driver)
      out_ += fmt::format("using ap_module_{}::{};\n", number_, f.name);
  return out_;
}

}  // namespace

std::string unit_of(const module_text& m, int number, launched_by host, const std::string& anonymous) {
  return unit_writer(m, number, host, anonymous).text();
}

}  // namespace antiphase::plain::ptx_module
