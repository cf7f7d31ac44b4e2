// Which code a figure belongs to. scripts/fingerprint.py writes the definitions during the build.
#pragma once
#include <string_view>

namespace antiphase::tool {

// The commit the program was built from, with "-dirty" after it if the sources differed from it; empty without git.
std::string_view built_from();

// The fingerprint of the kernels of a family, gemm or scan, taken from their sources without comments and layout; empty where the build had
// no Python. `kernel` is a name as in gemm.ladder.tiled.
std::string_view code_of(std::string_view kernel);

}  // namespace antiphase::tool
