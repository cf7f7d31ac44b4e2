// SPDX-License-Identifier: Apache-2.0
// The public calls of attention.
#include <antiphase/attention.hpp>

#include <fmt/format.h>

#include <antiphase/attention/ladder.hpp>
#include <antiphase/executor/scratch.hpp>

#include "src/attention/plan.hpp"

namespace antiphase {
namespace {

using attentions::choice;

void require_workspace(std::span<std::byte> given, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(given.data());
  if (given.size() < bytes)
    throw bad_request(fmt::format("the workspace has {} bytes: this call needs {}", given.size(), bytes));
  if (address % 256 != 0)
    throw bad_request(fmt::format("the workspace is at address {:#x}: expected a multiple of 256", address));
}

std::vector<attentions::launchable> launches_in(std::span<std::byte> workspace, const choice& c) {
  std::vector<attentions::launchable> all = c.runs.launches(workspace);
  for (const attentions::launchable& l : all)
    if (const auto why = refusal(c.of.on.limits(), l.code)) throw not_supported(*why);
  return all;
}

launch_counts run(const choice& c, const attention_options& options) {
  if (c.of.empty()) return {};
  const std::span<std::byte> given = c.runs.workspace == 0 ? std::span<std::byte>() : options.workspace;
  if (!given.empty()) require_workspace(given, c.runs.workspace);
  attentions::require_own_memory(c.of, given);
  attentions::require_offsets(c.of);
  const executor& on = c.of.on;
  const borrowed own(on, given.empty() ? c.runs.workspace : 0, options.on);
  launch_counts counts;
  for (const attentions::launchable& l : launches_in(given.empty() ? own.memory() : given, c))
    counts += on.launch(l.code, l.grid, l.arguments.get(), options.on);
  return counts;
}

std::vector<kernel> kernels_of(const choice& c) {
  std::vector<kernel> all;
  if (c.of.empty()) return all;
  // a dummy address: nothing runs
  const std::span<std::byte> memory(reinterpret_cast<std::byte*>(std::uintptr_t{256}), c.runs.workspace);
  for (const attentions::launchable& l : launches_in(memory, c)) all.push_back(l.code);
  return all;
}

attention_choice described(const choice& c) {
  attention_choice told{.kernel = std::string(c.by->name),
                        .workspace = c.runs.workspace,
                        .code = {},
                        .why = attentions::why(c),
                        .refused = attentions::refused(c)};
  if (c.of.empty()) return told;
  told.predicted = c.by->seconds(c.of);
  for (const kernel& k : kernels_of(c)) told.code.emplace_back(k.name);
  told.launches = static_cast<int>(told.code.size());
  return told;
}

choice chosen(const context& where, const attention_problem& p, const attention_gradients* back,
              const attention_options& options) {
  return attentions::choose(where.runs_on(), p, back, options.policy);
}

}  // namespace

std::vector<kernel> attentions::kernels_of(const executor& on, const step& s, const problem& p) {
  return antiphase::kernels_of(choose(on, p, nullptr, s.name));
}

launch_counts attention(const context& where, const attention_problem& p, const attention_options& options) {
  return run(chosen(where, p, nullptr, options), options);
}
launch_counts attention_backward(const context& where, const attention_problem& p,
                                 const attention_gradients& gradients, const attention_options& options) {
  return run(chosen(where, p, &gradients, options), options);
}

std::size_t attention_workspace(const context& where, const attention_problem& p,
                                const attention_options& options) {
  return chosen(where, p, nullptr, options).runs.workspace;
}
std::size_t attention_workspace(const context& where, const attention_problem& p,
                                const attention_gradients& gradients, const attention_options& options) {
  return chosen(where, p, &gradients, options).runs.workspace;
}

attention_choice explain(const context& where, const attention_problem& p, const attention_options& options) {
  return described(chosen(where, p, nullptr, options));
}
attention_choice explain(const context& where, const attention_problem& p,
                         const attention_gradients& gradients, const attention_options& options) {
  return described(chosen(where, p, &gradients, options));
}

}  // namespace antiphase
