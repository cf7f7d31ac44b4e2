// SPDX-License-Identifier: Apache-2.0
// Parses the instructions of an asm statement and writes equivalent C++.
#include "ptx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include "checker/plain/ptx/instructions/ptx_instruction.hpp"

namespace antiphase::plain {
namespace {

using ptx_code::in_name;
using ptx_code::trimmed;

class writer final : public names {
 public:
  explicit writer(const asm_statement& s) : statement_(s), text_(ptx_code::without_comments(s.text)) {}

  asm_translation run() {
    try {
      read();
    } catch (const unknown& u) {
      return {{}, asm_refusal{fmt::format("inline PTX '{}'", u.name), u.instead, position_}};
    }
    std::string out = text_.find(".cc") != text_.npos ? "{ unsigned ap_carry = 0; " : "{ ";
    for (const auto& [name, known] : labels_)
      if (known) out += fmt::format("__label__ ap_l_{}; ", name);
    for (std::size_t i = 0; i < statement_.operands.size(); ++i) {
      const asm_operand& o = statement_.operands[i];
      out += fmt::format("{} ap_o{} = ({}); ", o.written ? "auto&&" : "const auto", i, o.expression);
    }
    return {out + registers_ + body_ + "}", {}};
  }

  std::string value_of(std::string_view word) const override {
    if (word.empty()) throw unknown{"an operand that is missing"};
    if (word == "_") return "::antiphase::plain::ptx::nowhere";
    if (word.starts_with("%["))
      throw unknown{std::string(word), "%0, %1 and so on: nvcc has no named operands"};
    if (word[0] == '%' && word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1])) != 0) {
      std::size_t number = 0;
      std::from_chars(word.data() + 1, word.data() + word.size(), number);
      if (number >= statement_.operands.size()) throw unknown{std::string(word)};
      return fmt::format("ap_o{}", number);
    }
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0 || word[0] == '-')
      return ptx_code::number(word);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(word); found != scope->end()) return found->second;
    if (word.starts_with("%%")) word.remove_prefix(1);
    if (std::string special = special_register(word); !special.empty()) return special;
    throw unknown{std::string(word)};
  }

  bool is_predicate(std::string_view word) const override { return predicates_.contains(value_of(word)); }

 private:
  // Statements: "label:", "{", "}", ".reg ...;", "instruction;".
  void read() {
    scopes_.emplace_back();
    for (position_ = 0; position_ < text_.size();) {
      const char c = text_[position_];
      if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ';') {
        ++position_;
      } else if (c == '{') {
        scopes_.emplace_back();
        ++position_;
      } else if (c == '}') {
        if (scopes_.size() > 1) scopes_.pop_back();
        ++position_;
      } else {
        const std::size_t end = end_of_statement();
        const std::string_view all = trimmed(std::string_view(text_).substr(position_, end - position_));
        if (end < text_.size() && text_[end] == ':') {
          for (const char l : all)
            if (!in_name(l)) throw unknown{std::string(all)};
          labels_[std::string(all)] = true;
          body_ += fmt::format("ap_l_{}:; ", all);
        } else if (all.starts_with(".reg")) {
          declare(all.substr(4));
        } else if (!all.starts_with(".pragma")) {
          one(all);
        }
        position_ = end + (end < text_.size() && (text_[end] == ';' || text_[end] == ':') ? 1 : 0);
      }
    }
    position_ = 0;
    for (const auto& [name, known] : labels_)
      if (!known) throw unknown{"bra " + name};
  }
  // Offset of its ; or of a label's :, or of a } that the statement did not open.
  std::size_t end_of_statement() const {
    int depth = 0;
    for (std::size_t i = position_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == ';') return i;
      if (c == ':' && depth == 0 && (i + 1 >= text_.size() || text_[i + 1] != ':') &&
          (i == 0 || text_[i - 1] != ':'))
        return i;
      if (c == '{' || c == '[' || c == '(') ++depth;
      if ((c == '}' || c == ']' || c == ')') && depth-- == 0) return i;
    }
    return text_.size();
  }

  // .pred p, q
  void declare(std::string_view rest) {
    rest = trimmed(rest);
    const std::size_t blank = rest.find_first_of(" \t\n");
    const char* type = blank == std::string_view::npos || rest[0] != '.'
                           ? nullptr
                           : ptx_code::register_type(rest.substr(1, blank - 1));
    if (type == nullptr) throw unknown{".reg " + std::string(rest)};
    for (std::string_view list = rest.substr(blank); !list.empty();) {
      const std::size_t comma = std::min(list.find(','), list.size());
      const std::string_view name = trimmed(list.substr(0, comma));
      for (const char c : name)
        if (!in_name(c) && c != '%') throw unknown{".reg " + std::string(rest)};
      const std::string stands = fmt::format("ap_r{}", count_++);
      registers_ += fmt::format("{} {}; ", type, stands);
      scopes_.back()[std::string(name)] = stands;
      if (type == std::string_view("bool")) predicates_.insert(stands);
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }

  void one(std::string_view all) {
    const auto [p, name, rest, is_negated] = ptx_code::operation_of(all);
    const std::string guard = p.empty() ? ""
                                        : fmt::format("if ({}::antiphase::plain::ptx::get<bool>({})) ",
                                                      is_negated ? "!" : "", value_of(p));
    if (name == "bra" || name == "bra.uni") {
      labels_.try_emplace(std::string(rest), false);
      body_ += fmt::format("{}goto ap_l_{}; ", guard, rest);
      return;
    }
    if (name == "ret" || name == "exit" || name.find(".param") != std::string_view::npos)
      throw unknown{std::string(name)};
    // Its header is included by modules alone.
    if (std::string_view(name).starts_with("wmma.")) throw unknown{std::string(name)};
    body_ += fmt::format("{}{{ {}; }} ", guard, code_of(name, rest, *this));
  }

  const asm_statement& statement_;
  std::string text_;
  std::size_t position_ = 0;
  int count_ = 0;
  std::string registers_, body_;
  std::set<std::string> predicates_;
  std::map<std::string, bool> labels_;  // true: defined; false: only jumped to so far
  std::vector<std::map<std::string, std::string, std::less<>>> scopes_;
};

}  // namespace

asm_translation translate_asm(const asm_statement& statement) { return writer(statement).run(); }

}  // namespace antiphase::plain
