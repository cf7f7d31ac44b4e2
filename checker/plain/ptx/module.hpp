// SPDX-License-Identifier: Apache-2.0
// A PTX module as it is read: variables, functions, and the statements of their bodies with their places.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain::ptx_module {

// Where findings point to: a line of the user's source if .loc names one, or else a line of the module.
struct source_line {
  std::string file;
  int line = 0;
  bool operator==(const source_line&) const = default;
};

enum class statement_kind { open, close, label, directive, instruction };
struct statement {
  statement_kind kind;
  std::string text;  // without the semicolon or colon, on one line
  source_line place;
  bool of_asm = false;           // an asm statement's
  bool of_toolkit = false;       // of a function in a toolkit's header
  bool of_memcpy_async = false;  // of libcu++'s
};

// .param .align 8 .b8 name[24], or a variable of the module or of a function.
struct variable {
  std::string space, type, name;  // such as "shared", "b8"
  int align = 0;                  // 0: that of the type
  bool is_array = false, is_external = false, is_visible = false, is_pointer = false, is_managed = false;
  std::size_t count = 1;  // 0: an array without a size
  std::string initial;    // {1, 2, generic(other)}
  int line = 0;
};

struct function {
  std::string name;
  bool is_kernel = false, is_defined = false;
  std::vector<variable> results, parameters;
  std::string attributes;
  std::vector<statement> body;
  int line = 0;
};

struct module_text {
  std::string file;
  std::vector<variable> variables;
  std::vector<function> functions;
};

// Throws bad_source for text that is no PTX.
module_text read(std::string_view text, const std::string& file);

// A declaration after its space: ".align 8 .b8 name[24] = {...}". False: none.
bool read_variable(std::string_view text, variable& v);
std::size_t bytes_of(std::string_view type);  // 0: no such type

// True for headers of toolkits and systems, and the languages' own functions.
bool is_of_compiler(std::string_view file);

// Finds the user's source in the places that .loc gives, with the calls that the compiler has inlined.
class places {
 public:
  explicit places(std::string_view module);  // its .file directives
  // The rest of ".loc 1 24 10, function_name $L__info_string0, inlined_at 1 30 4"; `is_first`: of a function.
  // Nothing if it names no place: what went before holds on.
  source_line follow(std::string_view directive, bool is_first = false);
  bool in_toolkit() const { return in_toolkit_; }  // the innermost place of the last one is in its headers
  bool in_memcpy_async() const { return in_memcpy_async_; }  // or a caller's: in those of cuda::memcpy_async

 private:
  struct point {
    int file = 0, line = 0, column = 0;
    auto operator<=>(const point&) const = default;
  };
  struct mentions {
    int named = 0;                 // the last directive that is for this place
    std::map<point, int> callers;  // and the last one that names each caller; line 0: none
  };
  point caller_of(const point& p) const;

  std::map<int, std::string> files_;
  std::map<point, mentions> known_;
  int directives_ = 0;
  bool has_columns_ = false;  // this compiler knows them
  bool in_toolkit_ = false, in_memcpy_async_ = false;
};

// What launches a module's kernels: a driver, by extern "C" functions of their names; or a program's host
// code, as it is compiled with stand-ins or as nvcc has made it, for which kernels are registered.
enum class launched_by { driver, host_part, host_of_nvcc };

// The module as one translation unit of CUDA C++. `number`: tells modules of one program apart. `anonymous`
// stands for the anonymous namespaces of a host part.
std::string unit_of(const module_text& m, int number, launched_by host = launched_by::driver,
                    const std::string& anonymous = {});

}  // namespace antiphase::plain::ptx_module
