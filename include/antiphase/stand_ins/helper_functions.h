// SPDX-License-Identifier: Apache-2.0
// Stands in for the header of CUDA's samples of this name, for plain CUDA under the checker.
#pragma once
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "helper_string.h"
#include "helper_timer.h"

#include <antiphase/plain/letters.h>

template <class T> bool compareData(const T* expected, const T* is, unsigned n, float within, float share) {
  unsigned differ = 0;
  for (unsigned i = 0; i < n; ++i)
    differ += !(std::fabs(static_cast<double>(expected[i]) - static_cast<double>(is[i])) <= within);
  return static_cast<float>(differ) <= share * static_cast<float>(n);
}
inline bool sdkCompareL2fe(const float* expected, const float* is, unsigned n, float within) {
  double difference = 0, all = 0;
  for (unsigned i = 0; i < n; ++i) {
    difference += (expected[i] - is[i]) * (expected[i] - is[i]);
    all += expected[i] * expected[i];
  }
  return std::sqrt(difference) < within * std::sqrt(all);
}

// Files: numbers as text, and pictures, binary PGM and PPM.
inline char* sdkFindFilePath(const char* name, const char* /*program*/) {
  for (const char* folder : {"", "data/", "../data/"})
    if (const std::string at = std::string(folder) + name; std::ifstream(at)) return strdup(at.c_str());
  return nullptr;
}
template <class T> bool sdkReadFile(const char* name, T** to, unsigned* n, bool /*tells*/) {
  std::ifstream in(name);
  std::vector<T> all;
  for (T one; in >> one;) all.push_back(one);
  if (all.empty()) return false;
  if (*to == nullptr) *to = static_cast<T*>(std::malloc(all.size() * sizeof(T)));
  std::copy(all.begin(), all.end(), *to);
  *n = static_cast<unsigned>(all.size());
  return true;
}
template <class T, class Within> bool sdkWriteFile(const char* name, const T* from, unsigned n,
                                                   Within /*within*/, bool /*tells*/, bool append = false) {
  std::ofstream out(name, append ? std::ios::app : std::ios::trunc);
  for (unsigned i = 0; i < n; ++i) out << from[i] << ' ';
  return static_cast<bool>(out << '\n');
}
namespace antiphase::plain {
// A picture's bytes: of one channel, or of three in the file and `channels` in memory.
inline bool load_picture(const char* name, unsigned char** to, unsigned* width, unsigned* height,
                         int channels) {
  std::ifstream in(name, std::ios::binary);
  std::string words[4];  // P5 or P6, width, height, the largest value
  for (std::string& w : words)
    while (in >> w && w[0] == '#') in.ignore(1 << 16, '\n');
  in.get();
  const unsigned in_file = words[0] == "P5" ? 1 : words[0] == "P6" ? 3 : 0;
  if (!in || in_file == 0 || (in_file == 1) != (channels == 1)) return false;
  *width = static_cast<unsigned>(std::atoi(words[1].c_str()));
  *height = static_cast<unsigned>(std::atoi(words[2].c_str()));
  const std::size_t pixels = static_cast<std::size_t>(*width) * *height;
  if (*to == nullptr) *to = static_cast<unsigned char*>(std::calloc(pixels, channels));
  for (std::size_t i = 0; i < pixels; ++i) in.read(reinterpret_cast<char*>(*to + i * channels), in_file);
  return static_cast<bool>(in);
}
inline bool save_picture(const char* name, const unsigned char* from, unsigned width, unsigned height,
                         int channels) {
  std::ofstream out(name, std::ios::binary);
  out << (channels == 1 ? "P5" : "P6") << '\n' << width << '\n' << height << "\n255\n";
  for (std::size_t i = 0; i < static_cast<std::size_t>(width) * height; ++i)
    out.write(reinterpret_cast<const char*>(from + i * channels), channels == 1 ? 1 : 3);
  return static_cast<bool>(out);
}
inline float as_pixel(unsigned char c, const float*) { return c / 255.0f; }
inline unsigned char as_pixel(unsigned char c, const unsigned char*) { return c; }
}  // namespace antiphase::plain
template <class T> bool sdkLoadPGM(const char* name, T** to, unsigned* width, unsigned* height) {
  unsigned char* bytes = nullptr;
  if (!antiphase::plain::load_picture(name, &bytes, width, height, 1)) return false;
  const std::size_t n = static_cast<std::size_t>(*width) * *height;
  if (*to == nullptr) *to = static_cast<T*>(std::malloc(n * sizeof(T)));
  for (std::size_t i = 0; i < n; ++i) (*to)[i] = antiphase::plain::as_pixel(bytes[i], *to);
  std::free(bytes);
  return true;
}
template <class T> bool sdkSavePGM(const char* name, T* from, unsigned width, unsigned height) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(width) * height);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(sizeof(T) == 1 ? from[i] : from[i] * 255);
  return antiphase::plain::save_picture(name, bytes.data(), width, height, 1);
}
inline bool sdkLoadPPM4(const char* name, unsigned char** to, unsigned* width, unsigned* height) {
  return antiphase::plain::load_picture(name, to, width, height, 4);
}
inline bool sdkSavePPM4ub(const char* name, unsigned char* from, unsigned width, unsigned height) {
  return antiphase::plain::save_picture(name, from, width, height, 4);
}

#include <antiphase/plain/letters.h>
