// SPDX-License-Identifier: Apache-2.0
// Printing, and the one place where errors become exit codes.
#include "tool/program/text/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <antiphase/core/error.hpp>
#include <cstdlib>
#include <new>
#include <string>

#include "tool/base/errors.hpp"
#include "tool/base/wrap.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/interrupt.hpp"
#include "tool/files/output_file.hpp"
#include "tool/program/command.hpp"

namespace antiphase::tool {

void print(std::string_view text) {
  output_file out{"-"};
  out.write(text);
  out.commit();
}

void print_lines(std::string_view text) {
  print(isatty(STDOUT_FILENO) != 0 ? wrapped(text) : std::string(text));
}

void print_json(const json& value) { print(json_text(value)); }

std::string json_text(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void complain(std::string_view message) {
  end_progress();
  std::string line = fmt::format("antiphase: {}", message);
  if (isatty(STDERR_FILENO) != 0) line = wrapped(line, terminal_columns(STDERR_FILENO));
  line += '\n';
  write_fully(STDERR_FILENO, std::as_bytes(std::span{line}));  // nowhere to report a failure
}

void show_progress(std::string_view line) {
  const std::string text = fmt::format("{}antiphase: {}", blank_line, line);
  line_is_open = true;
  write_fully(STDERR_FILENO, std::as_bytes(std::span{text}));
}

void end_progress() {
  if (line_is_open.exchange(false)) write_fully(STDERR_FILENO, std::as_bytes(std::span{blank_line}));
}

void say(const common_options& options, std::string_view message) {
  if (!options.quiet) complain(message);
}

audience who_watches(const common_options& options) {
  return !options.quiet && isatty(STDERR_FILENO) != 0 ? audience::person : audience::nobody;
}

int exit_code_of(const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (const output_closed&) {
    return 1;  // the reader has closed the pipe on purpose: no message
  } catch (const bad_usage& e) {
    complain(e.what());
    return 2;
  } catch (const bad_request& e) {
    complain(e.what());
    return 2;
  } catch (const bad_input& e) {
    complain(e.what());
    return 3;
  } catch (const not_supported& e) {
    complain(e.what());
    return 4;
  } catch (const verification_failed& e) {
    complain(e.what());
    return 5;
  } catch (const program_failed& e) {
    complain(e.what());
    return e.code;
  } catch (const std::bad_alloc&) {
    complain("there is not enough memory for this");
    return 1;
  } catch (const std::exception& e) {
    complain(e.what());
    return 1;
  }
}

}  // namespace antiphase::tool
