// What every matrix product is asked first.
#pragma once
#include <antiphase/gemm/problem.hpp>

namespace antiphase::mm {

// Throws bad_request, naming the first argument that makes no sense.
void require_sensible(const problem& p);

// The same product with A and B having changed places if that puts the rows of C side by side.
problem with_rows_together(const problem& p);

}  // namespace antiphase::mm
