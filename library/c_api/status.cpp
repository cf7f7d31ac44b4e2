// SPDX-License-Identifier: Apache-2.0
#include "library/c_api/status.hpp"

#include <antiphase/core/error.hpp>
#include <antiphase/core/out_of_memory.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/version.hpp>
#include <charconv>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace antiphase::c_api {
namespace {

// Dynamic TLS, not the small static reserve: in a running program that loads the library, the latter may be
// used up.
thread_local std::string message;
thread_local const char* said = "";

antiphase_status say(antiphase_status status, const char* text) noexcept {
  try {
    message = text;
    said = message.c_str();
  } catch (...) {
    said = "there was no memory left to say what went wrong";
  }
  return status;
}

}  // namespace

antiphase_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const bad_request& e) {
    return say(ANTIPHASE_BAD_REQUEST, e.what());
  } catch (const not_supported& e) {
    return say(ANTIPHASE_NOT_SUPPORTED, e.what());
  } catch (const out_of_memory& e) {
    return say(ANTIPHASE_OUT_OF_MEMORY, e.what());
  } catch (const device_error& e) {
    return say(ANTIPHASE_DEVICE_ERROR, e.what());
  } catch (const interrupted& e) {
    return say(ANTIPHASE_INTERRUPTED, e.what());
  } catch (const std::bad_alloc&) {
    return say(ANTIPHASE_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception& e) {
    return say(ANTIPHASE_FAILED, e.what());
  } catch (...) {
    return say(ANTIPHASE_FAILED, "something was thrown that antiphase does not know");
  }
}

}  // namespace antiphase::c_api

int antiphase_version(void) {
  const std::string_view text = antiphase::build_info().version;
  int version = 0;
  for (const char *at = text.data(), *const end = at + text.size(); at < end; ++at) {
    int part = 0;
    at = std::from_chars(at, end, part).ptr;
    version = 100 * version + part;
  }
  return version;
}

const char* antiphase_status_name(antiphase_status status) {
  switch (status) {
    case ANTIPHASE_OK: return "ok";
    case ANTIPHASE_BAD_REQUEST: return "bad request";
    case ANTIPHASE_NOT_SUPPORTED: return "not supported";
    case ANTIPHASE_DEVICE_ERROR: return "device error";
    case ANTIPHASE_OUT_OF_MEMORY: return "out of memory";
    case ANTIPHASE_FAILED: return "failed";
    case ANTIPHASE_INTERRUPTED: return "interrupted";
  }
  return "unknown status";
}

const char* antiphase_last_message(void) { return antiphase::c_api::said; }
