// Plain text tables for standard output.
#pragma once
#include <string>
#include <vector>

namespace antiphase::tool {

// The first row holds the heads. The first column is flush left, the others are flush right; a row that is shorter than the heads
// continues with its last cell as free text.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace antiphase::tool
