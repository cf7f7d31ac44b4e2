// SPDX-License-Identifier: Apache-2.0
// The grammar of .npy headers: accepted headers, refusals with their messages, and no other outcome.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>

#include "tests/tool/scratch.hpp"
#include "tool/base/errors.hpp"
#include "tool/files/npy/npy_header.hpp"

namespace antiphase::tool {
namespace {

using antiphase::testing::message_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

npy_header parse(std::string_view text) { return parse_npy_header(text, "'x.npy'"); }
std::string header_refusal(std::string_view text) {
  return message_of<bad_input>([&] { parse(text); });
}
std::string with_descr(std::string_view descr) {
  return fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (2, 3), }}", descr);
}
std::string with_shape(std::string_view shape) {
  return fmt::format("{{'descr': '<i8', 'fortran_order': False, 'shape': {}, }}", shape);
}

TEST(NpyHeader, ReadsWhatNumpyWrites) {
  const npy_header header =
      parse("{'descr': '<f4', 'fortran_order': False, 'shape': (1797, 64), }            \n");
  EXPECT_EQ(header.type, element::f32);
  EXPECT_EQ(header.order, storage_order::row_major);
  EXPECT_THAT(header.shape, ElementsAre(1797, 64));
  EXPECT_EQ(header.bytes == byte_order::native, std::endian::native == std::endian::little);
}

TEST(NpyHeader, ReadsOtherOrdersSpacingAndQuotes) {
  for (const std::string_view text : {
           "{\"shape\": (2, 3), \"fortran_order\": True, \"descr\": \"<u2\"}",
           "{'shape':(2,3),'descr':'<u2','fortran_order':True}",
           "  {\n 'fortran_order' :\tTrue ,'shape'\n:( 2 ,\n3 , ) , 'descr' : \"<u2\" ,\r\n}\f \n\n",
       }) {
    const npy_header header = parse(text);
    EXPECT_EQ(header.type, element::u16) << text;
    EXPECT_EQ(header.order, storage_order::column_major) << text;
    EXPECT_THAT(header.shape, ElementsAre(2, 3)) << text;
  }
}

TEST(NpyHeader, ReadsEveryShape) {
  EXPECT_THAT(parse(with_shape("()")).shape, IsEmpty());
  EXPECT_THAT(parse(with_shape("( )")).shape, IsEmpty());
  EXPECT_THAT(parse(with_shape("(5,)")).shape, ElementsAre(5));
  EXPECT_THAT(parse(with_shape("(0, 7)")).shape, ElementsAre(0, 7));
  EXPECT_THAT(parse(with_shape("(1152921504606846975,)")).shape, ElementsAre((std::int64_t{1} << 60) - 1));
  std::string many = "(";
  for (int i = 0; i < most_dimensions; ++i) many += "1, ";
  EXPECT_EQ(parse(with_shape(many + ")")).shape.size(), 64U);
  EXPECT_THAT(header_refusal(with_shape(many + "1)")), HasSubstr("at most 64 dimensions"));
}

TEST(NpyHeader, ReadsEveryTypeInBothByteOrders) {
  const byte_order little =
      std::endian::native == std::endian::little ? byte_order::native : byte_order::swapped;
  const byte_order big = std::endian::native == std::endian::big ? byte_order::native : byte_order::swapped;
  for (int i = 0; i <= static_cast<int>(element::f16); ++i) {
    const element type = static_cast<element>(i);
    const std::string name = numpy_name(type);
    for (const auto& [mark, expected] :
         {std::pair{"<", little}, {">", big}, {"=", byte_order::native}, {"", byte_order::native}}) {
      const npy_header header = parse(with_descr(fmt::format("'{}{}'", mark, name)));
      EXPECT_EQ(header.type, type) << mark << name;
      EXPECT_EQ(header.bytes, size_of(type) == 1 ? byte_order::native : expected) << mark << name;
    }
  }
  EXPECT_EQ(parse(with_descr("'|u1'")).type, element::u8);
  EXPECT_EQ(parse(with_descr("'|i1'")).type, element::i8);
  EXPECT_THAT(header_refusal(with_descr("'|f4'")), HasSubstr("byte order"));
}

TEST(NpyHeader, RefusesOtherTypesByNameWithAHint) {
  struct refused {
    std::string_view descr, name, hint;
  };
  for (const auto& [descr, name, hint] : {
           refused{"'<f16'", "long doubles", ".astype('f8')"},
           {"'|b1'", "booleans", ".astype('u1')"},
           {"'<c8'", "complex", ".real"},
           {"'>c16'", "complex", ".imag"},
           {"'|O'", "Python objects", ".astype('f4')"},
           {"'|V2'", "void", "bfloat16"},
           {"'<V2'", "void", "bfloat16"},
           {"'|S10'", "byte strings", ".astype"},
           {"'<U3'", "Unicode strings", ".astype"},
           {"'<M8[ns]'", "dates", ".astype('i8')"},
           {"'<m8[ms]'", "time spans", ".astype('i8')"},
           {"[('a', '<f4'), ('b', '<i4')]", "structured", "one field"},
       }) {
    const std::string message = header_refusal(with_descr(descr));
    EXPECT_THAT(message, AllOf(HasSubstr("'x.npy'"), HasSubstr(name), HasSubstr(hint),
                               HasSubstr("expected f2, f4, f8")))
        << descr;
  }
  for (const std::string_view descr :
       {"'<f3'", "'<i16'", "''", "'<'", "'bogus'", "'float32'", "'<<f4'", "'<f4 '", "'<f04'", "'Object'"})
    EXPECT_THAT(header_refusal(with_descr(descr)), HasSubstr("unknown")) << descr;
}

TEST(NpyHeader, ReadsBooleansOnlyForWhoTakesThem) {
  for (const std::string_view descr : {"'|b1'", "'?'", "'b1'"}) {
    const npy_header header = parse_npy_header(with_descr(descr), "'x.npy'", booleans::taken);
    EXPECT_EQ(header.type, element::u8) << descr;
    EXPECT_EQ(header.means, meaning::truths) << descr;
    EXPECT_THAT(header_refusal(with_descr(descr)), AllOf(HasSubstr("booleans"), HasSubstr("expected f2, f4")))
        << descr;
  }
  EXPECT_EQ(parse_npy_header(with_descr("'|u1'"), "'x.npy'", booleans::taken).means, meaning::numbers);
  EXPECT_THAT(
      message_of<bad_input>([&] { parse_npy_header(with_descr("'<c8'"), "'x.npy'", booleans::taken); }),
      HasSubstr("expected b1, f2, f4"));
  EXPECT_THAT(
      npy_preamble(element::u8, std::vector<std::int64_t>{5}, storage_order::row_major, meaning::truths),
      HasSubstr("'|b1'"));
}

TEST(NpyHeader, RefusesWrongDimensions) {
  for (const std::string_view shape :
       {"(-1, 3)", "(-0,)", "(+1,)", "(2.0, 3)", "(2., 3)", "(1e3,)", "(True, 3)", "(0x10,)", "(1_000,)",
        "(007,)", "('2', 3)", "((2, 3),)", "(2, , 3)", "(,)", "(None,)", "(2*3,)", "(2 3)", "(3l,)"})
    EXPECT_THAT(header_refusal(with_shape(shape)), AllOf(HasSubstr("expected"), HasSubstr("found"))) << shape;
  EXPECT_THAT(header_refusal(with_shape("(3L, 4L)")), HasSubstr("Python 2"));
  EXPECT_THAT(header_refusal(with_shape("(5)")), HasSubstr("(5,)"));
  for (const std::string_view shape : {"[2, 3]", "5", "None", "{2, 3}", "'(2, 3)'"})
    EXPECT_THAT(header_refusal(with_shape(shape)), HasSubstr("a tuple such as")) << shape;
}

TEST(NpyHeader, RefusesShapesThatOverflow) {
  EXPECT_THAT(header_refusal(with_shape("(9223372036854775808,)")), HasSubstr("below 2^63"));
  EXPECT_THAT(header_refusal(with_shape("(99999999999999999999999999, 0)")), HasSubstr("below 2^63"));
  for (const std::string_view shape :
       {"(9223372036854775807, 2)", "(4294967296, 4294967296)", "(4294967296, 4294967296, 0)",
        "(1152921504606846976,)", "(0, 1152921504606846976)"})
    EXPECT_THAT(header_refusal(with_shape(shape)), HasSubstr("larger than any file")) << shape;
}

TEST(NpyHeader, RefusesWrongKeys) {
  EXPECT_THAT(header_refusal("{'descr': '<f4', 'shape': (2,)}"), HasSubstr("'fortran_order' is missing"));
  EXPECT_THAT(header_refusal("{'descr': '<f4', 'fortran_order': False}"), HasSubstr("'shape' is missing"));
  EXPECT_THAT(header_refusal("{}"), HasSubstr("'descr' is missing"));
  EXPECT_THAT(header_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'extra': 1}"),
              HasSubstr("unknown key 'extra'"));
  EXPECT_THAT(header_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (3,)}"),
              HasSubstr("given twice"));
}

TEST(NpyHeader, RefusesAnythingThatIsNotTheLiteral) {
  for (const std::string_view text : {
           "",
           " ",
           "{",
           "[]",
           "{'descr'",
           "{'descr':",
           "{'descr': ",
           "{'descr': '<f4",
           "{'descr': '<f4'",
           "{'descr' '<f4'}",
           "{,}",
           "{'descr': '<f4',, 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': None, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': false, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': Falsey, 'shape': (2,)}",
           "{'descr': 5, 'fortran_order': False, 'shape': (2,)}",
           "{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<\\x664', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f' '4', 'fortran_order': False, 'shape': (2,)}",
           "{descr: '<f4', fortran_order: False, shape: (2,)}",
           "{b'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': __import__('os').system('id'), 'fortran_order': False, 'shape': (2,)}",
           "{'descr': {'descr': '<f4'}, 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} # a comment",
           "dict(descr='<f4', fortran_order=False, shape=(2,))",
       })
    EXPECT_THAT(header_refusal(text), AllOf(HasSubstr("'x.npy'"), HasSubstr("expected"))) << text;
}

TEST(NpyHeader, MessagesShowNoControlCharacters) {
  const std::string message = header_refusal("{'\x1b[31m\xff\xc2\x9b\xc3\xa9': 1}");
  EXPECT_THAT(message, HasSubstr("\\x1b[31m\\xff\\xc2\\x9b\xc3\xa9"));
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_LT(header_refusal("{'" + std::string(9000, 'k') + "': 1}").size(), 400U);
}

TEST(NpyHeader, WritesAnAlignedHeaderThatReadsBack) {
  EXPECT_EQ(npy_preamble(element::u8, std::vector<std::int64_t>{5}),
            std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }" + std::string(60, ' ') + "\n");
  const std::vector<std::int64_t> many(most_dimensions, 3'000'000'000);
  const std::vector<std::int64_t> shapes[] = {
      {}, {7}, {0, 7}, {2, 3, 5}, {many.begin(), many.begin() + 1}, std::vector<std::int64_t>(32, 1)};
  for (const auto& shape : shapes)
    for (const storage_order order : {storage_order::row_major, storage_order::column_major}) {
      const std::string text = npy_preamble(element::f64, shape, order);
      EXPECT_EQ(text.size() % 64, 0U);
      EXPECT_EQ(static_cast<std::size_t>(static_cast<unsigned char>(text[8])) +
                    256 * static_cast<std::size_t>(text[9]),
                text.size() - 10);
      EXPECT_EQ(text.back(), '\n');
      const npy_header header = parse(std::string_view{text}.substr(10));
      EXPECT_EQ(header.type, element::f64);
      EXPECT_EQ(header.bytes, byte_order::native);
      EXPECT_EQ(header.order, order);
      EXPECT_EQ(header.shape, shape);
    }
}

// Any mutated header is refused as bad input or describes a consistent array.
RC_GTEST_PROP(NpyHeader, MutatedHeadersAreReadOrRefused, ()) {
  std::string text = *rc::gen::element<std::string>(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1797, 64), }   \n",
      "{\"shape\": (), \"fortran_order\": True, \"descr\": \">u8\"}",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (9223372036854775807, 0, 3)}");
  const int mutations = *rc::gen::inRange(1, 5);
  for (int i = 0; i < mutations; ++i) {
    const auto at = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(text.size()) + 1));
    const auto length = static_cast<std::size_t>(*rc::gen::inRange(0, 6));
    const std::string piece = *rc::gen::oneOf(
        rc::gen::container<std::string>(rc::gen::arbitrary<char>()),
        rc::gen::element<std::string>("'", "\"", "\\", "(", ")", ",", "{", "}", "0", "9999999999", "-", "L"));
    text.replace(at, std::min(length, text.size() - at), piece);
  }
  try {
    const npy_header header = parse(text);
    RC_ASSERT(header.shape.size() <= 32U);
    for (const std::int64_t extent : header.shape) RC_ASSERT(extent >= 0);
    RC_ASSERT(data_bytes(header.type, header.shape) / size_of(header.type) ==
              static_cast<std::size_t>(element_count(header.shape)));
    RC_ASSERT(parse_npy_header(std::string_view{npy_preamble(header.type, header.shape)}.substr(10), "again")
                  .shape == header.shape);
  } catch (const bad_input& e) {
    RC_ASSERT(std::string_view{e.what()}.starts_with("'x.npy': "));
  }
}

}  // namespace
}  // namespace antiphase::tool
