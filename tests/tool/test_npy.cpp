// SPDX-License-Identifier: Apache-2.0
// Whole .npy files: round trips over every type, shape, order and version, streams, and files with false
// claims.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/tool/scratch.hpp"
#include "tool/base/errors.hpp"
#include "tool/files/npy/npy.hpp"
#include "tool/files/output_file.hpp"

namespace antiphase::tool {
namespace {

using antiphase::testing::message_of;
using antiphase::testing::redirected;
using antiphase::testing::scratch_folder;
using antiphase::testing::write_text;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Format of a written file; the encoder below is independent of the code under test.
struct encoding {
  std::endian bytes = std::endian::little;
  storage_order order = storage_order::row_major;
  int version = 1;
  std::size_t padding = 0;
};

std::string encode(element type, const std::vector<std::int64_t>& shape, const std::vector<std::uint8_t>& raw,
                   const encoding& how) {
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': ({}{}), }}",
                                   how.bytes == std::endian::little ? '<' : '>', numpy_name(type),
                                   how.order == storage_order::column_major ? "True" : "False",
                                   fmt::join(shape, ", "), shape.empty() ? "" : ",");
  header += std::string(how.padding, ' ') + "\n";
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(how.version), '\0'};
  for (int i = 0; i < (how.version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(header.size() >> 8 * i & 0xff);
  file += header;
  for (std::size_t at = 0; at < raw.size(); at += size_of(type))
    for (std::size_t i = 0; i < size_of(type); ++i)
      file += static_cast<char>(raw[at + (how.bytes == std::endian::native ? i : size_of(type) - 1 - i)]);
  return file;
}

// Each byte depends on its position.
std::vector<std::uint8_t> positions(element type, const std::vector<std::int64_t>& shape) {
  std::vector<std::uint8_t> raw(data_bytes(type, shape));
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<std::uint8_t>(i * 37 + i / 251);
  return raw;
}

std::vector<std::uint8_t> raw_bytes(const npy_array& array) {
  const auto* start = reinterpret_cast<const std::uint8_t*>(array.bytes().data());
  return {start, start + array.bytes().size()};
}

std::string refusal(const std::string& path) {
  return message_of<bad_input>([&] { read_npy(path); });
}

// A process that feeds a FIFO.
class fed_fifo {
 public:
  fed_fifo(const std::string& path, std::string content) {
    if (mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error{"no FIFO can be made"};
    writer_ = std::thread{[path, content = std::move(content)] { write_text(path, content); }};
  }
  ~fed_fifo() { writer_.join(); }

 private:
  std::thread writer_;
};

RC_GTEST_PROP(Npy, EveryFileReadsBack, ()) {
  const element type = static_cast<element>(*rc::gen::inRange(0, static_cast<int>(element::f16) + 1));
  const auto shape = *rc::gen::resize(
      4, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 6)));
  const encoding how{.bytes = *rc::gen::element(std::endian::little, std::endian::big),
                     .order = *rc::gen::element(storage_order::row_major, storage_order::column_major),
                     .version = *rc::gen::inRange(1, 4),
                     .padding = static_cast<std::size_t>(*rc::gen::inRange(0, 130))};
  const std::vector<std::uint8_t> raw = positions(type, shape);
  const std::size_t trailing = static_cast<std::size_t>(*rc::gen::inRange(0, 3));
  const scratch_folder folder;
  write_text(folder / "x.npy", encode(type, shape, raw, how) + std::string(trailing, 'x'));

  const npy_array array = read_npy(folder / "x.npy");
  RC_ASSERT(array.type == type);
  RC_ASSERT(array.shape == shape);
  RC_ASSERT(array.order == how.order);
  RC_ASSERT(array.trailing_bytes == trailing);
  RC_ASSERT(reinterpret_cast<std::uintptr_t>(array.data.get()) % size_of(type) == 0U);
  RC_ASSERT(raw_bytes(array) == raw);

  // The library's own writer too, which writes C order.
  const npy_array c_order = in_c_order(array);
  {
    output_file out{folder / "y.npy"};
    write_npy(out, type, c_order.shape, c_order.bytes());
    out.commit();
  }
  const npy_array again = read_npy(folder / "y.npy");
  RC_ASSERT(again.type == type);
  RC_ASSERT(again.shape == shape);
  RC_ASSERT(again.order == storage_order::row_major);
  RC_ASSERT(raw_bytes(again) == raw_bytes(c_order));
}

TEST(Npy, FortranOrderBecomesCOrder) {
  const scratch_folder folder;
  const std::vector<std::int64_t> shape{2, 3, 4};
  std::vector<std::uint8_t> raw(2 * 24);
  for (unsigned i = 0; i < 2; ++i)
    for (unsigned j = 0; j < 3; ++j)
      for (unsigned k = 0; k < 4; ++k)
        raw[2 * (i + 2 * (j + 3 * k))] = static_cast<std::uint8_t>(100 * i + 10 * j + k);
  write_text(folder / "x.npy", encode(element::u16, shape, raw, {.order = storage_order::column_major}));
  const npy_array array = in_c_order(read_npy(folder / "x.npy"));
  EXPECT_EQ(array.order, storage_order::row_major);
  EXPECT_THAT(array.values<std::uint16_t>(), ElementsAre(0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 100, 101,
                                                         102, 103, 110, 111, 112, 113, 120, 121, 122, 123));
  const npy_array same = in_c_order(array);
  EXPECT_EQ(same.data, array.data) << "C order must not be copied";
}

TEST(Npy, BigEndianNumbersAreConverted) {
  const scratch_folder folder;
  std::string file = encode(element::f64, {3}, {}, {.bytes = std::endian::big});
  file += std::string("\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0\x7f\xf0\0\0\0\0\0\0", 24);
  write_text(folder / "x.npy", file);
  EXPECT_THAT(read_npy(folder / "x.npy").values<double>(),
              ElementsAre(1.5, -2.0, std::numeric_limits<double>::infinity()));
}

TEST(Npy, ScalarsVectorsAndEmptyArrays) {
  const scratch_folder folder;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {5}, {0, 7}, {0}, std::vector<std::int64_t>(32, 1)}) {
    write_text(folder / "x.npy", encode(element::i32, shape, positions(element::i32, shape),
                                        {.order = storage_order::column_major}));
    const npy_array array = in_c_order(read_npy(folder / "x.npy"));
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(array.values<std::int32_t>().size(), static_cast<std::size_t>(array.count()));
    EXPECT_EQ(raw_bytes(array), positions(element::i32, shape));
  }
}

TEST(Npy, TheTypeOfASpanIsChecked) {
  const scratch_folder folder;
  write_text(folder / "x.npy", encode(element::i32, {5}, positions(element::i32, {5}), {}));
  const npy_array array = read_npy(folder / "x.npy");
  EXPECT_THAT(message_of<bad_input>([&] { array.values<float>(); }),
              AllOf(HasSubstr("x.npy"), HasSubstr("i4"), HasSubstr("f4")));
}

TEST(Npy, FifosAndStandardInputAreStreamed) {
  const scratch_folder folder;
  const std::vector<std::int64_t> shape{1300, 2100};  // 21 MB: exceeds the first buffer of a stream
  const std::vector<std::uint8_t> raw = positions(element::f64, shape);
  const std::string file = encode(element::f64, shape, raw, {.version = 2, .padding = 3});
  {
    const fed_fifo fifo{folder / "fifo", file};
    const npy_array array = read_npy(folder / "fifo");
    EXPECT_EQ(array.shape, shape);
    EXPECT_TRUE(raw_bytes(array) == raw);
  }
  write_text(folder / "x.npy", file);
  const redirected input{STDIN_FILENO, open((folder / "x.npy").c_str(), O_RDONLY)};
  const npy_array array = read_npy("-");
  EXPECT_EQ(array.name, "standard input");
  EXPECT_TRUE(raw_bytes(array) == raw);
}

TEST(Npy, OneStreamMayHoldSeveralArrays) {
  const scratch_folder folder;
  const std::vector<std::uint8_t> raw = positions(element::i16, {3});
  write_text(folder / "two", encode(element::i16, {3}, raw, {}) + encode(element::u8, {2}, {8, 9}, {}));
  const redirected input{STDIN_FILENO, open((folder / "two").c_str(), O_RDONLY)};
  EXPECT_EQ(raw_bytes(read_npy("-")), raw);
  EXPECT_THAT(read_npy("-").values<std::uint8_t>(), ElementsAre(8, 9));
}

TEST(Npy, EveryTruncationIsRefusedWithFoundAndExpected) {
  const scratch_folder folder;
  std::string whole;
  // with data that are aligned, hence mapped, and data that are not
  for (std::size_t padding = 0; padding < 4; ++padding) {
    whole = encode(element::f32, {2, 3}, positions(element::f32, {2, 3}), {.version = 3, .padding = padding});
    for (std::size_t size = 0; size < whole.size(); ++size) {
      write_text(folder / "cut.npy", whole.substr(0, size));
      const std::string message = refusal(folder / "cut.npy");
      EXPECT_THAT(message, AllOf(HasSubstr("cut.npy'"), HasSubstr("expected"))) << size;
      const redirected input{STDIN_FILENO, open((folder / "cut.npy").c_str(), O_RDONLY)};
      const std::string streamed = refusal("-");
      EXPECT_EQ(streamed.substr(streamed.find(": ")), message.substr(message.find("': ") + 1)) << size;
    }
  }
  EXPECT_NO_THROW(read_npy((write_text(folder / "cut.npy", whole), folder / "cut.npy")));
  write_text(folder / "cut.npy", whole.substr(0, whole.size() - 5));
  EXPECT_THAT(refusal(folder / "cut.npy"),
              HasSubstr("the data are truncated: 19 bytes found, 24 expected for the shape (2, 3) of f4"));
}

TEST(Npy, WrongStartsAreNamed) {
  const scratch_folder folder;
  const auto refused = [&](const std::string& content) {
    write_text(folder / "x.npy", content);
    return refusal(folder / "x.npy");
  };
  EXPECT_THAT(refused(""), HasSubstr("0 bytes found, at least 10 expected"));
  EXPECT_THAT(refused("a,b\n1,2\n3,4\n"),
              AllOf(HasSubstr("not a .npy file"), HasSubstr("'a,b\\x0a1,'"), HasSubstr("\\x93NUMPY")));
  EXPECT_THAT(refused("PK\x03\x04 and so on, it is long enough"), HasSubstr(".npz"));
  std::string file = encode(element::f32, {2}, positions(element::f32, {2}), {});
  for (const auto& [major, minor] : {std::pair{4, 0}, {0, 0}, {1, 1}, {255, 0}}) {
    file[6] = static_cast<char>(major);
    file[7] = static_cast<char>(minor);
    EXPECT_THAT(refused(file),
                AllOf(HasSubstr(fmt::format("version {}.{}", major, minor)), HasSubstr("1.0, 2.0 or 3.0")));
  }
}

TEST(Npy, HeaderLengthsAreLimited) {
  const scratch_folder folder;
  const std::vector<std::uint8_t> raw = positions(element::f32, {2});
  const std::size_t longest = 10'000 - encode(element::f32, {2}, {}, {}).size() + 10;
  write_text(folder / "x.npy", encode(element::f32, {2}, raw, {.padding = longest}));
  EXPECT_EQ(raw_bytes(read_npy(folder / "x.npy")), raw);
  write_text(folder / "x.npy", encode(element::f32, {2}, raw, {.padding = longest + 1}));
  EXPECT_THAT(refusal(folder / "x.npy"), HasSubstr("the header claims 10001 bytes, expected at most 10000"));
  write_text(folder / "x.npy", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13));
  EXPECT_THAT(refusal(folder / "x.npy"), HasSubstr("4294967295"));
  write_text(folder / "x.npy", std::string("\x93NUMPY\x01\x00\x10\x27{'descr'", 18));
  EXPECT_THAT(refusal(folder / "x.npy"), HasSubstr("the header is truncated: 8 bytes found, 10000 expected"));
}

TEST(Npy, HugeClaimsAreRefusedBeforeAllocation) {
  const scratch_folder folder;
  const std::string file = encode(element::f64, {1 << 30, 1 << 20}, {}, {}) + "only this";  // claims 8 PiB
  write_text(folder / "x.npy", file);
  EXPECT_THAT(refusal(folder / "x.npy"), HasSubstr("9 bytes found, 9007199254740992 expected"));
  const redirected input{STDIN_FILENO, open((folder / "x.npy").c_str(), O_RDONLY)};
  EXPECT_THAT(refusal("-"), HasSubstr("9 bytes found, 9007199254740992 expected"));
}

TEST(Npy, FilesThatCannotBeReadAreNamed) {
  const scratch_folder folder;
  EXPECT_THAT(refusal(folder / "missing.npy"), AllOf(HasSubstr("missing.npy'"), HasSubstr("No such file")));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("is a directory"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("0 bytes found"));
  EXPECT_THAT(refusal("/proc/self/status"), HasSubstr("not a .npy file: it begins with 'Name:"));
}

TEST(Npy, WritingChecksTheSize) {
  const scratch_folder folder;
  output_file out{folder / "y.npy"};
  const std::vector<std::byte> data(23);
  EXPECT_THAT(message_of<bad_request>([&] {
                write_npy(out, element::f32, std::vector<std::int64_t>{2, 3}, data);
              }),
              AllOf(HasSubstr("23 bytes"), HasSubstr("(2, 3) of f4"), HasSubstr("24")));
}

}  // namespace
}  // namespace antiphase::tool
