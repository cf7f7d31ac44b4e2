// What every matrix product is asked first.
#pragma once
#include <antiphase/gemm/problem.hpp>

namespace antiphase::mm {

// Throws bad_request, naming the first argument that makes no sense.
void require_sensible(const problem& p);

}  // namespace antiphase::mm
