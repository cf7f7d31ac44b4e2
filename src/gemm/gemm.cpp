// The public matrix product: which kernel, and its workspace.
#include <antiphase/gemm.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cmath>
#include <iterator>
#include <optional>
#include <variant>

#include "src/gemm/request.hpp"
#include "src/gemm/short/short_plan.hpp"
#include "src/gemm/split/split_plan.hpp"

namespace antiphase {
namespace {

struct selection {
  std::variant<gemms::plan, gemms::product_plan, gemms::short_plan> plan;
  std::vector<std::string> why, refused;
  std::size_t workspace = 0;  // at least
  gemm_bound bound, asked;
};

constexpr std::string_view short_name = "short";
// The split products by what multiplies, as options.policy asks for them, in the order in which they are chosen by themselves where they
// suit.
struct split_kind {
  std::string_view name;
  gemms::multiplier by;
  bool (*suits)(const context& where, const gemms::problem& p);
  std::string_view why;
};
bool always(const context&, const gemms::problem&) { return true; }
constexpr std::string_view fastest = "three products of FP16 parts on Tensor Cores, certified, are the fastest way to it";
constexpr split_kind split_kinds[] = {
    {"split-inside", gemms::multiplier::split_inside, gemms::splits_inside_by_itself,
     "three products of FP16 parts on Tensor Cores, certified; C is narrow, so the long operand is split on its way"},
    {"split", gemms::multiplier::split, always, fastest},
    {"split-mma", gemms::multiplier::split_mma, always, fastest}};
std::string_view name_of(gemms::multiplier by) { return std::ranges::find(split_kinds, by, &split_kind::by)->name; }

// Why a split product is not what precision fp32 stands for there; nothing if it is. The contract rests on how Tensor Cores round, which is
// known of compute capability 8.x and 9.0.
std::optional<std::string> not_automatic(const context& where, const gemms::problem& p, gemms::multiplier by) {
  if (auto why = gemms::refuses_split(where, p, by)) return why;
  const device_limits& device = where.limits();
  if (device.major == 8 || device.major == 9) return std::nullopt;
  return fmt::format("nothing is promised of how the Tensor Cores of {} round, which has compute capability {}.{}; it runs if asked for",
                     device.name, device.major, device.minor);
}

// What the plan's kernel adds up in.
gemm_sums sums_of(const selection& s, const device_limits& device) {
  if (std::holds_alternative<gemms::plan>(s.plan)) return gemm_sums::multiply_adds;
  if (std::holds_alternative<gemms::short_plan>(s.plan)) return gemm_sums::doubles;
  return device.major == 9 ? gemm_sums::hopper : device.major == 8 ? gemm_sums::ampere : gemm_sums::unknown;
}

void require_sensible(const gemm_options& options) {
  if (options.accuracy != precision::fp32 && options.accuracy != precision::strict)
    throw bad_request(fmt::format("accuracy is {}: expected precision::fp32 or precision::strict", static_cast<int>(options.accuracy)));
  if (options.if_weaker != weaker_bound::take && options.if_weaker != weaker_bound::refuse)
    throw bad_request(
        fmt::format("if_weaker is {}: expected weaker_bound::take or weaker_bound::refuse", static_cast<int>(options.if_weaker)));
  gemms::require_policy(options.policy);
  const std::span<std::byte> w = options.workspace;
  if (!w.empty() && w.data() == nullptr) throw bad_request(fmt::format("the workspace is a null pointer: expected {} bytes", w.size()));
  if (const auto address = reinterpret_cast<std::uintptr_t>(w.data()); !w.empty() && address % 256 != 0)
    throw bad_request(fmt::format("the workspace is at address {:#x}: expected a multiple of 256", address));
  if (const auto address = reinterpret_cast<std::uintptr_t>(options.recomputed); address % alignof(std::uint64_t) != 0)
    throw bad_request(fmt::format("recomputed is at address {:#x}: expected a multiple of {}", address, alignof(std::uint64_t)));
}

selection choose(const context& where, const gemms::problem& p, const gemm_options& options) {
  selection s;
  const auto not_short = gemms::refuses_short(where, p);
  const bool nothing = p.m() == 0 || p.n() == 0 || p.k() == 0 || p.alpha == 0;  // then C is scaled, by whichever kernel
  const auto asked = std::ranges::find(split_kinds, options.policy, &split_kind::name);
  if (asked != std::end(split_kinds) && !nothing) {
    if (const auto why = gemms::refuses_split(where, p, asked->by)) throw not_supported(fmt::format("policy {}: {}", asked->name, *why));
    s.plan = gemms::plan_product(where, p, asked->by);
    s.why.push_back(fmt::format("policy {} was asked for", asked->name));
    return s;
  }
  if (options.policy == short_name && !nothing) {
    if (not_short) throw not_supported(fmt::format("policy short: {}", *not_short));
    s.plan = gemms::plan_short(where, p);
    s.why.push_back("policy short was asked for");
    return s;
  }
  if (options.policy != "auto" && options.policy != short_name && asked == std::end(split_kinds)) {
    s.plan = gemms::prepare(where.kind(), gemms::find_step(options.policy), p);
    s.why.push_back(fmt::format("policy {} was asked for", options.policy));
    return s;
  }
  if (options.accuracy == precision::fp32 && !not_short && p.k() <= gemms::short_k_by_itself) {
    s.plan = gemms::plan_short(where, p);
    s.why.push_back("precision fp32: with so few values of K there is little to multiply, and sums in FP64 need no certificate");
    return s;
  }
  for (const split_kind& kind : split_kinds) {
    if (options.accuracy == precision::strict || nothing) break;
    if (!kind.suits(where, p)) continue;
    if (const auto why = not_automatic(where, p, kind.by)) {
      s.refused.push_back(fmt::format("{}: {}", kind.name, *why));
      continue;
    }
    s.plan = gemms::plan_product(where, p, kind.by);
    if (kind.by == gemms::multiplier::split_inside)  // as much as its wider neighbours, so that it grows with the problem
      s.workspace = gemms::plan_product(where, p, gemms::multiplier::split).workspace();
    s.why.push_back(fmt::format("precision fp32: {}", kind.why));
    return s;
  }
  s.plan = gemms::prepare(where.kind(), select_step(where, p), p);
  if (options.accuracy == precision::strict)
    s.why.push_back("precision strict: IEEE multiply-adds in the order of k");
  else if (nothing)
    s.refused.push_back(fmt::format("{}: there is nothing to multiply", name_of(gemms::multiplier::split)));
  s.why.push_back("the last step of the ladder that the device has room for");
  return s;
}

std::string_view name(precision p) { return p == precision::fp32 ? "fp32" : "strict"; }

selection select(const context& where, const gemms::problem& given, const gemm_options& options) {
  require_sensible(options);
  gemms::require_sensible(given);
  const gemms::problem p = gemms::without_idle_strides(given);
  selection s = choose(where, p, options);
  const std::int64_t k = p.m() == 0 || p.n() == 0 || p.alpha == 0 ? 0 : p.k();  // that are multiplied
  s.bound = bound_of(sums_of(s, where.limits()), k);
  s.asked = bound_of(options.accuracy, where.limits(), k);
  if (options.if_weaker == weaker_bound::refuse && !keeps(s.bound, s.asked))
    throw not_supported(fmt::format("precision {} stands for |C - AB| <= {}, what would run on {} keeps {}: refused, as if_weaker says",
                                    name(options.accuracy), to_text(s.asked), where.limits().name, to_text(s.bound)));
  return s;
}

// Memory of a stream for as long as the work that was queued meanwhile needs it.
class borrowed {
 public:
  borrowed(const context& where, std::size_t bytes, stream on)
      : where_(where), on_(on), memory_(static_cast<std::byte*>(where.runs_on().borrow(bytes, on)), bytes) {}
  borrowed(const borrowed&) = delete;
  borrowed& operator=(const borrowed&) = delete;
  ~borrowed() { where_.runs_on().give_back(memory_.data(), on_); }
  std::span<std::byte> memory() const { return memory_; }

 private:
  const context& where_;
  stream on_;
  std::span<std::byte> memory_;
};

gemms::judged_view recomputed_of(const gemm_options& options) {
  return gemms::judged("recomputed", options.recomputed, sizeof *options.recomputed);
}

launch_counts run(const context& where, const gemms::product_plan& plan, const gemm_options& options) {
  const std::size_t needed = plan.workspace();
  if (options.workspace.empty()) {
    const borrowed memory(where, needed, options.on);
    return gemms::run(where, plan, memory.memory(), options.recomputed, options.on);
  }
  if (options.workspace.size() < needed)
    throw bad_request(fmt::format("the workspace has {} bytes: this product needs {}", options.workspace.size(), needed));
  const gemms::judged_view used = gemms::judged("the workspace", options.workspace.data(), static_cast<std::int64_t>(needed));
  gemms::require_own_memory(plan.what, used);
  if (options.recomputed != nullptr) gemms::require_apart(recomputed_of(options), used);
  return gemms::run(where, plan, options.workspace, options.recomputed, options.on);
}

}  // namespace

gemm_bound bound_of(precision asked, const device_limits& device, std::int64_t k) {
  if (asked == precision::strict) return bound_of(gemm_sums::multiply_adds, k);
  return bound_of(device.major == 8 ? gemm_sums::ampere : gemm_sums::hopper, k);
}

std::string to_text(const gemm_bound& bound) {
  if (std::isinf(bound.units)) return "no known bound";
  if (bound.units == 0 && bound.absolute == 0) return "0";
  const double times = bound.absolute / gemm_bound::underflow;
  return fmt::format("{:.7g} u |A||B| + {}2^-150", bound.units, times == 1 ? "" : fmt::format("{:.10g} x ", times));
}

const gemms::step& select_step(const context& where, const gemms::problem& p) {
  for (auto s = std::rbegin(gemms::steps); s != std::rend(gemms::steps); ++s)
    if (!refusal(where.limits(), gemms::prepare(where.kind(), *s, p).what.code)) return *s;
  return gemms::steps[0];
}

launch_counts gemm(const context& where, const gemms::problem& p, const gemm_options& options) {
  const selection s = select(where, p, options);
  gemms::require_own_memory(p);
  if (options.recomputed != nullptr) gemms::require_own_memory(p, recomputed_of(options));
  if (const auto* split = std::get_if<gemms::product_plan>(&s.plan)) return run(where, *split, options);
  if (const auto* with_few = std::get_if<gemms::short_plan>(&s.plan))
    return where.runs_on().launch(with_few->code, with_few->grid, &with_few->what, options.on);
  const gemms::plan& plan = std::get<gemms::plan>(s.plan);
  return where.runs_on().launch(plan.what.code, plan.grid, &plan.arguments, options.on);
}

std::size_t gemm_workspace(const context& where, const gemms::problem& p, const gemm_options& options) {
  const selection s = select(where, p, options);
  const auto* split = std::get_if<gemms::product_plan>(&s.plan);
  return std::max(s.workspace, split != nullptr ? split->workspace() : 0);
}

gemm_choice explain(const context& where, const gemms::problem& p, const gemm_options& options) {
  selection s = select(where, p, options);
  gemm_choice c;
  c.bound = s.bound;
  c.asked = s.asked;
  c.why = std::move(s.why);
  c.refused = std::move(s.refused);
  if (const auto* split = std::get_if<gemms::product_plan>(&s.plan)) {
    c.kernel = name_of(split->waves.front().with.how.by);
    c.tile = {gemms::split_tile, gemms::split_tile};
    c.tile_k = gemms::split_step;
    const gemms::product_wave &first = split->waves.front(), &last = split->waves.back();
    c.stages = first.with.how.stages;
    c.blocks = first.grid.count();
    c.cluster = first.with.how.cluster;
    c.workspace = split->workspace();
    if (c.cluster > 1)
      c.why.push_back(
          fmt::format("C has fewer tiles than the device multiprocessors: {} blocks share each, a part of K for each block", c.cluster));
    if (split->waves.size() > 1)
      c.why.push_back(
          fmt::format("{} tiles are left over after rounds of one for each multiprocessor: {} blocks share each, in a second launch",
                      last.end - last.first, last.with.how.cluster));
    if (split->k_piece < p.k()) c.why.push_back(fmt::format("K is taken in pieces of {}", split->k_piece));
  } else if (const auto* with_few = std::get_if<gemms::short_plan>(&s.plan)) {
    c.kernel = short_name;
    c.tile = gemms::short_tile;
    c.tile_k = gemms::short_k;
    c.stages = 1;
    c.blocks = with_few->grid.count();
  } else {
    const gemms::plan& plan = std::get<gemms::plan>(s.plan);
    c.kernel = plan.what.step;
    c.tile = plan.what.how.tile;
    c.tile_k = plan.what.how.tile_k;
    c.stages = plan.what.how.stages;
    c.blocks = plan.grid.count();
  }
  return c;
}

}  // namespace antiphase
