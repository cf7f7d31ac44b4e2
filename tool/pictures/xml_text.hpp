// SPDX-License-Identifier: Apache-2.0
// Escaping of text in XML and HTML.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::tool {

// The text with markup characters escaped, also for attributes. Control characters, which XML 1.0 does not
// allow, become spaces.
inline std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

}  // namespace antiphase::tool
