// SPDX-License-Identifier: Apache-2.0
// One pass over the tokens of a source, which collects edits. Its files each take one subject.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker/plain/ptx/ptx.hpp"
#include "checker/plain/translate/passes/prepass.hpp"
#include "checker/plain/translate/token_walk.hpp"

namespace antiphase::plain {

constexpr const char* ours = "::antiphase::plain::";
constexpr std::string_view here = "::antiphase::plain::place::current()";
constexpr const char* launch_by_host =
    "a launch by the host after this kernel, on the same stream, over the largest grid that may be needed: "
    "kernels cannot launch kernels here";

class source_pass : token_walk {
 public:
  source_pass(std::string_view source, int& numbers, const driven& sources, bool whole, bool older)
      : token_walk(source), numbers_(numbers), driven_(sources), older_(older) {
    find_definitions(whole);
  }
  translation run();

 private:
  struct edit {
    std::size_t offset, length;
    std::string text;
  };
  struct definition {
    index start, name, close;  // first token, name, closing brace
    bool used;
  };

  // prepass.cpp
  // Replaces tokens [first, last). The line breaks in them are kept after the new text.
  void replace(index first, index last, std::string with);
  void insert_before(index i, std::string what);
  void drop(index first, index last);
  void refuse(index i, std::string_view what, std::string_view instead);
  std::vector<refusal> refusals() const;  // each once for a file
  void follow_scopes(index i);
  bool in_namespace() const;
  bool keeps_types(index i);
  index word(index i);
  std::string assembled();

  // unused_functions.cpp
  bool is_driven(index i) const;
  bool names_binding(index i) const;
  // Last token of a definition or declaration that starts here and binds kernels to Python; none if it does
  // not.
  index binding_at(index start) const;
  // In place of a function of the host's that is dropped: a call of it does not compile, and says why.
  std::string left_out(index start, index end);
  // Functions defined at the level of namespaces, and which of them may be called: those whose name stands
  // outside of such functions, or in one that may be called. `whole`: no other source calls them.
  void find_definitions(bool whole);
  void find_called(bool whole, const std::set<index>& declared);
  bool is_main(const definition& d) const;
  bool in_program(index i) const;
  // Functions that nothing calls need not be supported: they go, and so do those that name them.
  void drop_unused();
  // A specialisation may be called or not: its name does not tell.
  void refuse_when_called(const definition& d);
  // Functions that the program itself has or declares, members too: a library's names are refused, not these.
  void find_own_functions();

  // kernels.cpp
  // Tells where parameters of the kernel at `i` lie that are no __grid_constant__, if it may use tensor maps;
  // and which pointers are __restrict__.
  void note_parameters(index i);
  // Threads of a kernel with __launch_bounds__, at `i`, compare it with their block: only in the body is all
  // known that it may name.
  void note_bounds(index i, index end);
  index cluster_dimensions(index i);
  void say_cluster(index body, std::string_view size);
  // Kernels of a name of which some say in their bodies how large their clusters are: the others say 1.
  void answer_for_clusters();
  bool is_kernel(const definition& d) const;
  void find_kernels();
  // Declares ap_entry_NAME next to each kernel whose name is a template's or overloaded. Called with a
  // launch's arguments, it has the type of the kernel's address, so that the launch need not call the kernel
  // to find it out. Names of kernels that are declared in other forms have none.
  void declare_entries();
  // "template <class T> void (*ap_entry_k(T* p, int n = 1))(T* p, int n); ", or nothing.
  std::string entry_of(index start, index name) const;
  // Marks the arms of an if statement that ends with the kernel, and of one that ends with such an arm.
  // Threads that do not enter one do nothing more. `close`: the end of the kernel or arm.
  void mark_last_arms(index close, int& arms);
  // Marks where threads leave a kernel and which block barriers, by line, lie after them there: at the end,
  // all; at a return, those above it; at a return in a loop, those above the loop. Threads that leave early
  // never reach the barriers below.
  void mark_ways_out(index open);
  // Counts the rounds of loops with a block barrier in them.
  void follow_rounds();

  // launches.cpp
  struct launched_kernel {
    index first = 0, last = 0;         // its tokens, or those of an expression with a kernel's address
    index name = 0;                    // the kernel's
    index outer = none, inner = none;  // parentheses around it
    bool expression = false;           // such as a choice of two kernels
  };
  index end_of_configuration(index open) const;  // the first of >>>
  launched_kernel kernel_before(index open) const;
  void launch(index open);
  void launch_generic(const launched_kernel& k, index open);
  // (void*)kernel becomes address_of(kernel), which tells the runtime the kernel's type. False: no such cast.
  bool take_address(index name);
  // Drops a cast of the kernel to void*, so that it keeps its type: (void*)kernel,
  // reinterpret_cast<void*>(kernel).
  void keep_type(index i);

  // variables.cpp
  struct shared_declaration {
    index first = 0;                            // token
    bool external = false;                      // extern
    std::string before = {};                    // words before __shared__: extern double __shared__ x[]
    std::string alignment = "1", aligned = {};  // aligned: a type that has it, as alignas may name one
    std::string defined = {};                   // a type that the declaration defines goes before it
  };
  shared_declaration head_of_shared(index at) const;
  // Each returns the token after what it takes.
  index take_alignment(shared_declaration& d, index i);
  index take_definition(shared_declaration& d, index type);
  // Each returns the last token of the declaration.
  index shared_pointer(shared_declaration& d, index type, index pointer);
  index shared_variables(const shared_declaration& d, index at, index name, std::string type);
  // [extern] __shared__ [__align__(n)] type name[size], other; words before it, such as extern and static,
  // have been passed already.
  index shared(index at);
  index put_declaration(index first, index last, const std::string& what);
  void declare_dynamic(std::string_view name, const std::string& type, std::string& out);
  // Functions lose the word. Variables go to sections that the runtime tracks.
  index device(index at);
  // The attribute of a variable in a section. g++ wants all variables of one section to be shared by sources,
  // or none, so that each has a section of its own as far as g++ knows: what follows the line break is a
  // comment to the assembler. Variables of templates and of inline functions it may put elsewhere: a tag in
  // the name tells the linker.
  std::string in_section(std::string_view section, index at);
  // An extern __shared__ array is a pointer here, and has to act as an array where it is cast to a reference,
  // or its address is.
  void use_as_array(index i);
  // True if the name is read as CUDA's variable: not a member, not a declaration. As a plain value the
  // stand-in converts by itself, so only uses that need its type count.
  static bool reads_built_in(const std::vector<token>& t, index i);
  static std::string built_in(std::string_view name);

  // inline_asm.cpp
  std::optional<asm_statement> read_asm(index open, index end,
                                        std::vector<std::pair<std::size_t, index>>& starts) const;
  index inline_ptx(index at);
  // Source text on one line, without line markers. Names of extern __shared__ variables outside of functions
  // are replaced.
  std::string on_one_line(std::size_t from, std::size_t to) const;
  // The characters of a string literal.
  static std::string unescaped(std::string_view literal);

  const bool uses_tensor_maps_ = source_.find("cp.async.bulk.tensor") != source_.npos ||
                                 source_.find("cp_async_bulk_tensor") != source_.npos;
  int& numbers_;
  const driven& driven_;
  bool older_;
  // Kernels by name; true: a template, overloaded, or with default arguments.
  std::map<std::string_view, bool> generic_;
  std::set<std::string_view> overloaded_, own_functions_, left_out_;
  std::vector<std::pair<index, index>> kernel_heads_;  // first tokens and names of kernels' declarations
  std::map<std::string_view, index> entries_;  // see declare_entries(); where the first one is declared
  std::map<std::string_view, index> dynamic_;  // extern __shared__ arrays in scope: braces open around them
  std::map<std::string, std::string, std::less<>> file_wide_;  // for __shared__ outside of functions
  std::set<index> casts_gone_;                                 // their first tokens
  std::vector<bool> scopes_;                                   // for each open brace: it is a namespace's
  // for each open brace: the code around it is the device's, and a template's
  std::vector<std::pair<bool, bool>> outer_;
  bool in_device_ = false, in_template_ = false;
  std::set<std::string_view> asked_clusters_;  // kernels whose bodies say how large their clusters are
  std::set<index> clusters_said_;              // such bodies
  std::vector<std::string> device_templates_;
  std::string clusters_;  // code that registers cluster sizes of kernels, and notes
  std::vector<edit> edits_, ways_out_, rounds_;
  index settled_ = 0;                               // edits before this one are of functions that have ended
  std::vector<std::pair<index, refusal>> refused_;  // with the token
  std::vector<definition> definitions_;
};

}  // namespace antiphase::plain
