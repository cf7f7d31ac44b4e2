// SPDX-License-Identifier: Apache-2.0
// The tokens of a source, and what stands where in them.
#pragma once
#include <string>
#include <string_view>

#include "tokens.hpp"

namespace antiphase::plain {

using index = std::size_t;  // of a token
constexpr index none = ~index{0};

class token_walk {
 public:
  explicit token_walk(std::string_view source)
      : source_(source), list_(tokens_of(source)), t_(list_.tokens) {}

 protected:
  bool is(index i, std::string_view what) const { return i < t_.size() && t_[i] == what; }
  bool touching(index i) const {
    return i + 1 < t_.size() && t_[i].offset + t_[i].text.size() == t_[i + 1].offset;
  }
  const std::string& file_of(index i) const { return list_.files[static_cast<std::size_t>(t_[i].file)]; }
  index matching(index open) const {  // index of the sign that closes ( [ {; size() if none
    return matching_sign(t_, open);
  }
  std::string_view text(index first, index last) const;  // of tokens [first, last)
  std::string flat(index first, index last) const;       // on one line
  index opening(index close) const;                      // index of the sign that opens ) ] }; 1 if none
  index matching_angle(index open) const;                // index of the > of a template's <
  // The name before `(`, with or without template arguments; none if there is none.
  index name_before(index open) const;
  // The name of the function that is declared from `i` on; `open`: where its parameters begin.
  index declared_function(index i, index& open) const;
  bool takes_arguments(index i) const;  // a word before a function's name
  // True if only the words of a type stand between the beginning of the statement and the name.
  bool is_declaration(index name) const;
  index end_of_statement(index i) const;  // index of its last token
  // Last token of a lambda whose capture list ends at `i`; none if it is not one.
  index end_of_lambda(index i) const;
  // The declared name after a type: a name before [ , ; = at the outermost level.
  index declared_name(index i) const;
  // p in float (*p)[4], or none
  index pointer_in_parentheses(index i) const;
  // <<< may have blanks in it: nvcc accepts them, and old formatters write them. The only other use of three
  // is operator<< <T>.
  bool launch_at(index i) const;
  // True if `(` follows what is called or is a statement's.
  bool is_call(index open) const;
  // True if the name is a parameter `auto name` of a lambda around it.
  bool is_auto_parameter(index i) const;
  // True if tokens [first, last) name a parameter of the template whose declaration `i` is in.
  bool names_own_parameter(index i, index first, index last) const;
  // False where a statement cannot begin: an error, which g++ is to name by the source's own word.
  bool may_begin(index i) const;
  bool has_main() const;

  std::string_view source_;
  token_list list_;
  const std::vector<token>& t_;
};

}  // namespace antiphase::plain
