// SPDX-License-Identifier: Apache-2.0
#include <antiphase.h>

#include <antiphase/advise.hpp>
#include <antiphase/core/error.hpp>

#include "library/c_api/arguments.hpp"
#include "library/c_api/status.hpp"

using namespace antiphase;

antiphase_status antiphase_advise(const char* question, char* answer, size_t room) {
  return c_api::guarded([&] {
    if (question == nullptr) throw bad_request("advise: the question is a null pointer: expected JSON");
    c_api::hand_out(advise_json(question), answer, room);
  });
}
