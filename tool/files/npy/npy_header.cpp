// SPDX-License-Identifier: Apache-2.0
// Grammar of .npy headers: a small subset of Python's literals, and numpy's names of types.
#include "tool/files/npy/npy_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <limits>
#include <optional>

#include "tool/base/errors.hpp"
#include "tool/files/file_handle.hpp"

namespace antiphase::tool {
namespace {

constexpr char native_mark = std::endian::native == std::endian::little ? '<' : '>';

// Reason why a numpy type cannot be used, and a hint what to do about it.
struct refused_kind {
  char kind;
  std::string_view name;
  std::string_view hint;
};
constexpr std::string_view number_them =
    "convert numbers with .astype('f4'); labels are numbered by numpy.unique(X, return_inverse=True)[1]";
constexpr refused_kind refused_kinds[] = {
    {'b', "booleans", "convert the array with .astype('u1')"},
    {'?', "booleans", "convert the array with .astype('u1')"},
    {'c', "complex numbers", "save .real and .imag as two arrays"},
    {'O', "Python objects", "convert the array to numbers, for example with .astype('f4')"},
    {'V', "raw bytes without a numeric meaning (void)",
     "bfloat16 is stored like this: convert the array with .astype('f4') before saving"},
    {'S', "byte strings", number_them},
    {'a', "byte strings", number_them},
    {'U', "Unicode strings", number_them},
    {'M', "dates and times", "convert the array with .astype('i8')"},
    {'m', "time spans", "convert the array with .astype('i8')"},
};
std::string supported(booleans take) {
  return fmt::format("{}f2, f4, f8, i1, i2, i4, i8, u1, u2, u4 or u8", take == booleans::taken ? "b1, " : "");
}

// Context for messages about a file.
struct reader_of {
  std::string_view file;
  booleans take;
};

[[noreturn]] void refuse_type(const reader_of& who, std::string_view descr, std::string_view name,
                              std::string_view hint) {
  throw bad_input{fmt::format("{}: the elements are {} (descr {}), expected {}; {}", who.file, name,
                              quoted(descr), supported(who.take), hint)};
}

// Independent of the locale, unlike isspace() and isdigit().
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct element_format {
  element type;
  byte_order bytes;
  meaning means = meaning::numbers;
};

// A type in numpy's notation: an optional byte-order mark, a letter and a size.
element_format parse_descr(std::string_view descr, const reader_of& who) {
  std::string_view rest = descr;
  char mark = '=';
  if (!rest.empty() && std::string_view{"<>=|"}.find(rest.front()) != std::string_view::npos) {
    mark = rest.front();
    rest.remove_prefix(1);
  }
  for (int i = 0; i <= static_cast<int>(element::f16); ++i) {
    const element type = static_cast<element>(i);
    if (rest != numpy_name(type)) continue;
    if (mark == '|' && size_of(type) > 1)
      throw bad_input{
          fmt::format("{}: descr {} says that the byte order does not matter, expected '<' or '>' for "
                      "elements of {} bytes",
                      who.file, quoted(descr), size_of(type))};
    const bool as_here = size_of(type) == 1 || mark == '=' || mark == native_mark;
    return {type, as_here ? byte_order::native : byte_order::swapped};
  }
  if (who.take == booleans::taken && (rest == "b1" || rest == "?"))
    return {element::u8, byte_order::native, meaning::truths};
  if (rest == "f12" || rest == "f16")
    refuse_type(who, descr, "long doubles", "convert the array with .astype('f8')");
  // M8[ns] ends in a unit
  const bool letter_and_size = rest.size() == 1 || (rest.size() > 1 && (is_digit(rest[1]) || rest[1] == '['));
  for (const refused_kind& refused : refused_kinds)
    if (letter_and_size && rest.front() == refused.kind) refuse_type(who, descr, refused.name, refused.hint);
  throw bad_input{fmt::format("{}: the element type {} is unknown, expected {}", who.file, quoted(descr),
                              supported(who.take))};
}

// A position in the text of a header, and parsers of the few literals that may occur there.
class literal_reader {
 public:
  literal_reader(std::string_view text, std::string_view file) : text_{text}, file_{file} {}

  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found = position_ < text_.size() ? quoted(text_.substr(position_, 20)) : "the end";
    throw bad_input{fmt::format("{}: bad header: expected {} at character {}, found {}", file_, expected,
                                position_, found)};
  }
  // Consumes `c` if it is the next character after white space; returns whether it was.
  bool take(char c) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void expect(char c, std::string_view what) {
    if (!take(c)) fail(what);
  }
  void expect_end() {
    skip_space();
    if (position_ != text_.size()) fail("nothing but space after the dictionary");
  }
  // A string without escapes: no name or type in a header needs them.
  std::string_view string(std::string_view what) {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') fail(what);
    const std::size_t end = text_.find_first_of(quote == '"' ? "\"\\\n" : "'\\\n", position_ + 1);
    if (end == std::string_view::npos || text_[end] != quote) fail("a plain string that ends");
    const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return content;
  }
  storage_order order() {
    skip_space();
    for (const auto& [word, order] : {std::pair{std::string_view{"False"}, storage_order::row_major},
                                      {"True", storage_order::column_major}})
      if (text_.substr(position_).starts_with(word)) {
        position_ += word.size();
        return order;
      }
    fail("True or False for fortran_order");
  }
  std::vector<std::int64_t> shape() {
    expect('(', "a tuple such as (2, 3) for shape");
    std::vector<std::int64_t> result;
    bool comma = true;  // one dimension without a comma is a number in parentheses
    while (!take(')')) {
      if (!comma) fail("',' or ')' in shape");
      if (result.size() == most_dimensions)
        fail(fmt::format("at most {} dimensions in shape", most_dimensions));
      result.push_back(dimension());
      comma = take(',');
    }
    if (result.size() == 1 && !comma)
      fail(fmt::format("the tuple ({},) for shape instead of a number in brackets,", result[0]));
    return result;
  }

 private:
  std::string_view text_;
  std::string_view file_;
  std::size_t position_ = 0;

  void skip_space() {
    while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  }
  std::int64_t dimension() {
    skip_space();
    std::size_t end = position_;
    while (end < text_.size() && !is_space(text_[end]) && text_[end] != ',' && text_[end] != ')') ++end;
    const std::string_view word = text_.substr(position_, end - position_);
    std::int64_t value = 0;
    const auto [rest, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem == std::errc::result_out_of_range) fail("a dimension below 2^63");
    const bool plain = problem == std::errc{} && rest == word.data() + word.size();
    if (plain && value >= 0 && word[0] != '-' && (word[0] != '0' || word.size() == 1)) {
      position_ = end;
      return value;
    }
    if (word.ends_with('L'))
      fail(
          "a dimension without the suffix L of Python 2 (loading and saving with a current numpy removes "
          "it)");
    fail("a plain non-negative integer as dimension");
  }
};

// A dimension of 0 does not excuse overflow of the others: numpy refuses such shapes too.
bool too_large(element type, std::span<const std::int64_t> shape) {
  std::int64_t left = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(size_of(type));
  for (const std::int64_t extent : shape) {
    if (extent == 0) continue;
    left /= extent;
  }
  return left == 0;
}

}  // namespace

npy_header parse_npy_header(std::string_view text, std::string_view file, booleans take) {
  literal_reader reader{text, file};
  std::optional<std::string_view> descr;
  std::optional<storage_order> order;
  std::optional<std::vector<std::int64_t>> shape;

  reader.expect('{', "'{'");
  for (bool comma = true; !reader.take('}');) {
    if (!comma) reader.fail("',' or '}'");
    const std::string_view key = reader.string("a key in quotes or '}'");
    const bool known = key == "descr" || key == "fortran_order" || key == "shape";
    if (!known)
      throw bad_input{fmt::format("{}: bad header: unknown key {}, expected descr, fortran_order and shape",
                                  file, quoted(key))};
    if ((key == "descr" && descr) || (key == "fortran_order" && order) || (key == "shape" && shape))
      throw bad_input{
          fmt::format("{}: bad header: the key {} is given twice, expected once", file, quoted(key))};
    reader.expect(':', "':' after the key");
    if (key == "descr") {
      if (reader.take('['))
        throw bad_input{fmt::format(
            "{}: the elements are structured (records with fields), expected {}; save one field as an array",
            file, supported(take))};
      descr = reader.string("a string such as '<f4' for descr");
    } else if (key == "fortran_order") {
      order = reader.order();
    } else {
      shape = reader.shape();
    }
    comma = reader.take(',');
  }
  reader.expect_end();

  for (const auto& [name, given] : {std::pair{"descr", descr.has_value()},
                                    {"fortran_order", order.has_value()},
                                    {"shape", shape.has_value()}})
    if (!given)
      throw bad_input{fmt::format(
          "{}: bad header: the key '{}' is missing, expected descr, fortran_order and shape", file, name)};
  const auto [type, bytes, means] = parse_descr(*descr, {file, take});
  if (too_large(type, *shape))
    throw bad_input{
        fmt::format("{}: the shape {} of {} is larger than any file, expected less than 2^63 bytes", file,
                    shape_text(*shape), numpy_name(type))};
  return {.type = type, .means = means, .bytes = bytes, .order = *order, .shape = *std::move(shape)};
}

std::string npy_preamble(element type, std::span<const std::int64_t> shape, storage_order order,
                         meaning means) {
  constexpr std::size_t alignment = 64;
  constexpr std::size_t fixed = 10;  // magic, version, length
  std::string header = fmt::format(
      "{{'descr': '{}{}', 'fortran_order': {}, 'shape': {}, }}", size_of(type) == 1 ? '|' : native_mark,
      numpy_name(type, means), order == storage_order::column_major ? "True" : "False", shape_text(shape));
  const std::size_t used = fixed + header.size() + 1;  // the final newline
  header.append((alignment - used % alignment) % alignment, ' ');
  header += '\n';
  std::string preamble = "\x93NUMPY";
  preamble +=
      {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return preamble + header;
}

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return 0;
    count *= extent;
  }
  return count;
}

std::size_t data_bytes(element type, std::span<const std::int64_t> shape) {
  return static_cast<std::size_t>(element_count(shape)) * size_of(type);
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string numpy_name(element type, meaning means) {
  if (means == meaning::truths) return "b1";
  return fmt::format("{}{}", is_floating(type) ? 'f' : is_unsigned(type) ? 'u' : 'i', size_of(type));
}

}  // namespace antiphase::tool
