// SPDX-License-Identifier: Apache-2.0
#include "tokens.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace antiphase::plain {
namespace {

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0;
}
bool in_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}

  token_list read() {
    while (position_ < text_.size()) step();
    return std::move(all_);
  }

 private:
  char next(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  void step() {
    const char c = text_[position_];
    if (c == '\n') {
      ++line_;
      ++position_;
      fresh_line_ = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++position_;
    } else if (c == '#' && fresh_line_) {
      directive();
    } else {
      fresh_line_ = false;
      if (starts_name(c))
        name();
      else if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
               (c == '.' && std::isdigit(static_cast<unsigned char>(next(1))) != 0))
        number();
      else if (c == '"' || c == '\'')
        quoted(position_);
      else
        sign();
    }
  }

  // # 12 "file" 1 3
  void directive() {
    const std::size_t end = std::min(text_.find('\n', position_), text_.size());
    std::string_view line = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end;
    const std::size_t digits = line.find_first_not_of(' ');
    int number = 0;
    if (line.starts_with("pragma omp ") && all_.openmp.line == 0 && !systems_) all_.openmp = {file_, line_};
    if (digits == std::string_view::npos ||
        std::from_chars(line.data() + digits, line.data() + line.size(), number).ec != std::errc{})
      return;
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (open == close) return;
    line_ = number - 1;  // the line break after the marker adds one
    const std::string file(line.substr(open + 1, close - open - 1));
    const auto known = std::find(all_.files.begin(), all_.files.end(), file);
    file_ = static_cast<int>(known - all_.files.begin());
    if (known == all_.files.end()) all_.files.push_back(file);
    // these hold kernels' code
    systems_ = line.find(" 3", close) != std::string_view::npos &&
               !file.ends_with("antiphase/plain/cuda/ptx") && !file.ends_with("antiphase/ring.cuh") &&
               !file.ends_with("antiphase/record.h");
  }

  void name() {
    const std::size_t start = position_;
    while (in_name(next())) ++position_;
    const std::string_view is = text_.substr(start, position_ - start);
    if (next() == '"' && is.ends_with('R') && is.size() <= 3)
      raw(start);
    else if ((next() == '"' || next() == '\'') && (is == "L" || is == "u" || is == "U" || is == "u8"))
      quoted(start);
    else
      add(token_kind::name, start);
  }
  void number() {
    const std::size_t start = position_;
    while (in_name(next()) || next() == '.' || (next() == '\'' && in_name(next(1))) ||
           ((next() == '+' || next() == '-') &&
            std::string_view("eEpP").find(text_[position_ - 1]) != std::string_view::npos))
      ++position_;
    add(token_kind::number, start);
  }
  void quoted(std::size_t start) {
    const char quote = text_[position_++];
    while (position_ < text_.size() && next() != quote && next() != '\n') position_ += next() == '\\' ? 2 : 1;
    position_ = std::min(position_ + 1, text_.size());
    add(token_kind::text, start);
  }
  void raw(std::size_t start) {
    const std::size_t open = text_.find('(', position_);
    std::string end = ")";
    if (open != std::string_view::npos) end += text_.substr(position_ + 1, open - position_ - 1);
    end += '"';
    const std::size_t close = text_.find(end, position_);
    const std::size_t stop = close == std::string_view::npos ? text_.size() : close + end.size();
    position_ = stop;
    add(token_kind::text, start);
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(start),
                                         text_.begin() + static_cast<std::ptrdiff_t>(stop), '\n'));
  }
  void sign() {
    const std::size_t start = position_;
    const std::string_view two = text_.substr(position_, 2);
    position_ += two == "::" || two == "->" ? 2 : 1;
    add(token_kind::sign, start);
  }
  void add(token_kind kind, std::size_t start) {
    if (!systems_) all_.tokens.push_back({kind, text_.substr(start, position_ - start), start, file_, line_});
  }

  std::string_view text_;
  token_list all_{{}, {""}, {}};
  std::size_t position_ = 0;
  int file_ = 0, line_ = 1;
  bool fresh_line_ = true, systems_ = false;
};

}  // namespace

token_list tokens_of(std::string_view preprocessed) { return reader(preprocessed).read(); }

std::size_t matching_sign(const std::vector<token>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].kind != token_kind::sign) continue;
    const char c = tokens[i].text[0];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
  }
  return tokens.size();
}

}  // namespace antiphase::plain
