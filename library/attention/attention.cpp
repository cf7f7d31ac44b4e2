// SPDX-License-Identifier: Apache-2.0
// The public calls of attention.
#include <antiphase/attention.hpp>

#include <fmt/format.h>

#include <antiphase/attention/ladder.hpp>
#include <optional>

#include "library/attention/plan.hpp"
#include "library/choice/remembered.hpp"

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

// Nothing for calls that are not remembered: those by a policy's name, and those with offsets of packed
// members that the host checks, since they may change between calls.
std::optional<choices::call_key> key_of(const context& where, const attention_problem& p,
                                        const attention_gradients* back, const attention_options& options) {
  const auto& packed = p.lengths;
  if (options.policy != "auto" || (packed.query_offsets != nullptr && where.kind() == target::cpu))
    return std::nullopt;
  choices::call_key key(where);
  const auto add_rows = [&](const auto& rows) {
    key.add(rows.member_stride, rows.head_stride, rows.row_stride);
  };
  const auto add_pairs = [&](const auto& pairs) {
    key.add(pairs.data, pairs.member_stride, pairs.head_stride, pairs.query_stride, pairs.key_stride);
  };
  key.add(p.q.data, p.k.data, p.v.data, p.out.data, p.members, p.heads, p.queries, p.keys, p.depth,
          p.logsumexp, p.softmax, back != nullptr ? back->q.data : nullptr);
  add_rows(p.q), add_rows(p.k), add_rows(p.v), add_rows(p.out);
  add_pairs(p.bias), add_pairs(p.visible);
  key.add(p.kv_heads, p.scale.has_value(), p.scale.value_or(0.f), p.mask, p.window_before, p.window_behind,
          packed.query_offsets, packed.key_offsets, packed.query_rows, packed.key_rows, p.logsumexp_stride,
          options.workspace.data(), options.workspace.size());
  if (back != nullptr) {
    key.add(back->out.data, back->k.data, back->v.data);
    add_rows(back->out), add_rows(back->q), add_rows(back->k), add_rows(back->v);
    add_pairs(back->bias);
  }
  key.add_device(choices::family::attention);
  return key;
}

launch_counts run(const context& where, const attention_problem& p, const attention_gradients* back,
                  const attention_options& options) {
  const std::optional<choices::call_key> key = key_of(where, p, back, options);
  const choices::work w{.context = where, .memory = options.workspace, .queue = options.stream};
  if (const choices::recalled known(key); known.get() != nullptr) return choices::run(*known.get(), w);
  const choice c = attentions::choose(where.runs_on(), p, back, options.policy);
  if (c.request.empty()) return {};
  const std::size_t needed = c.runs.workspace;
  const std::span<std::byte> given = needed == 0 ? std::span<std::byte>() : options.workspace;
  if (!given.empty()) require_workspace(given, needed);
  attentions::require_own_memory(c.request, given);
  attentions::require_offsets(c.request);
  if (key) choices::remember(*key, c.runs);
  return choices::run(c.runs, w);
}

std::vector<kernel> kernels_of(const choice& c) {
  std::vector<kernel> all;
  if (c.request.empty()) return all;
  for (const choices::listed_launch& l : choices::launches_of(c.runs, c.request.executor))
    all.push_back(l.code);
  return all;
}

attention_choice described(const choice& c) {
  attention_choice told{.kernel = std::string(c.chosen->name),
                        .workspace = c.runs.workspace,
                        .code = {},
                        .why = attentions::why(c),
                        .refused = attentions::refused(c)};
  if (c.request.empty()) return told;
  told.predicted = c.chosen->seconds(*c.chosen, c.request);
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
  return run(where, p, nullptr, options);
}
launch_counts attention_backward(const context& where, const attention_problem& p,
                                 const attention_gradients& gradients, const attention_options& options) {
  return run(where, p, &gradients, options);
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
