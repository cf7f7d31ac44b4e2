// SPDX-License-Identifier: Apache-2.0
// Random calls of gemm(): every output within the error bound, no stray writes, and the same bits when
// repeated.
#include <cstdlib>
#include <map>
#include <optional>

#include "tests/gemm/activations.hpp"
#include "tests/gemm/random_call.hpp"
#include "tests/gemm/support.hpp"
#include "tests/gemm/zones.hpp"

namespace antiphase::gemm_test {
namespace {

// A call and its memory.
class prepared {
 public:
  prepared(const context& where, const random_call& r)
      : where_(where), r_(r), a_(r.a), b_(r.b), c_(r.c), finishes_(!r.of_residual.origin.empty()) {
    // An element that several lines or members share is filled several times; all then read the last value.
    a_.fill([&](auto n, auto i, auto j) {
      return number_of(r.in_a, i, j, r.seed + static_cast<std::uint64_t>(n) * 31);
    });
    b_.fill([&](auto n, auto i, auto j) {
      return number_of(r.in_b, j, i, ~r.seed + static_cast<std::uint64_t>(n) * 31);
    });
    const auto of_c = [&](auto n, auto i, auto j) {
      return number_of(r.in_c, i, j, r.seed ^ (static_cast<std::uint64_t>(n) * 977 + 5));
    };
    if (reads_c()) c_.fill(of_c);  // else C holds guards
    for (zone* z : {&a_, &b_, &c_}) z->upload(where);
    if (!finishes_) return;
    residual_.emplace(r.of_residual), input_.emplace(r.of_input), before_.emplace(r.of_before),
        rows_.emplace(r.of_rows), columns_.emplace(r.of_columns);
    residual_->fill([&](auto n, auto i, auto j) {
      return number_of(holds::reals, i, j, r.seed + 3 + static_cast<std::uint64_t>(n));
    });
    input_->fill(
        [](auto n, auto i, auto j) { return static_cast<float>((i * 7 + j * 3 + n) % 41 - 20) / 4; });
    rows_->fill([&](auto n, auto, auto j) { return number_of(holds::reals, n, j, r.seed + 4); });
    columns_->fill([&](auto n, auto, auto j) { return number_of(holds::reals, n, j, r.seed + 7); });
    for (auto* z : {&residual_, &input_, &before_, &rows_, &columns_}) (*z)->upload(where);
  }

  // The first fault, as text; empty: none.
  std::string complaint() {
    gemm_options how = options();
    std::string wrong = ran_once(how, r_.brings_workspace);
    if (wrong == refused) {
      if (how.policy == "auto" && how.reproducible == reproducibility::by_shape &&
          how.accuracy == precision::fp32)
        return "auto was refused: " + refusal_;
      wrong = stray(false);
      if (!wrong.empty()) return "the call was refused, but " + wrong;
      how.policy = "auto", how.reproducible = reproducibility::by_shape, how.accuracy = precision::fp32;
      wrong = ran_once(how, r_.brings_workspace);
    }
    if (!wrong.empty()) return wrong == refused ? "auto was refused: " + refusal_ : wrong;
    wrong = stray(true);
    if (!wrong.empty()) return wrong;
    const std::vector<float> c = c_.now(), before = finishes_ ? before_->now() : std::vector<float>();
    wrong = fault_in(c, before);
    if (!wrong.empty()) return wrong;
    const std::uint64_t again = counted_;
    c_.restore();
    if (finishes_) before_->restore();
    wrong = ran_once(how, !r_.brings_workspace);
    if (!wrong.empty()) return "again: " + wrong;
    if (wrong = c_.first_difference(c, c_.now()); !wrong.empty()) return "C, " + wrong;
    if (finishes_ && !(wrong = before_->first_difference(before, before_->now())).empty())
      return "before, " + wrong;
    if (counted_ != again)
      return std::to_string(again) + " outputs were computed again, then " + std::to_string(counted_);
    return {};
  }
  const gemm_choice& ran() const { return ran_; }

 private:
  static constexpr const char* refused = "refused";
  bool reads_c() const {
    return (r_.beta != 0 && (r_.residual == apart_or_c::none || r_.residual == apart_or_c::c)) ||
           r_.input == apart_or_c::c;
  }
  gemm_options options() {
    gemm_options o{
        .accuracy = r_.accuracy, .policy = r_.policy, .reproducible = r_.reproducible, .ran = &ran_};
    o.batch.count = r_.count;
    if (r_.members == members_lie::by_stride) {
      o.batch.a_stride = a_.apart(), o.batch.b_stride = b_.apart(), o.batch.c_stride = c_.apart();
    } else {
      std::vector<const float*> of_a, of_b;
      std::vector<float*> of_c;
      for (std::int64_t n = 0; n < r_.count; ++n)
        of_a.push_back(a_.data(n)), of_b.push_back(b_.data(n)), of_c.push_back(c_.data(n));
      at_a_.emplace(where_, of_a), at_b_.emplace(where_, of_b), at_c_.emplace(where_, of_c);
      o.batch.a = at_a_->data(), o.batch.b = at_b_->data(), o.batch.c = at_c_->data();
    }
    if (!finishes_) return o;
    gemm_epilogue& e = o.epilogue;
    e.function = r_.function, e.scale = r_.scale;
    if (r_.row_bias) e.row_bias = rows_->data(), e.row_bias_stride = rows_->apart();
    if (r_.column_bias) e.column_bias = columns_->data(), e.column_bias_stride = columns_->apart();
    const auto matrix = [&](apart_or_c which, zone& z, matrix_view<const float>& view, std::int64_t& stride) {
      if (which == apart_or_c::none) return;
      zone& from = which == apart_or_c::c ? c_ : z;
      view = from.view<const float>(), stride = from.apart();
    };
    matrix(r_.residual, *residual_, e.residual, e.residual_stride);
    matrix(r_.input, *input_, e.input, e.input_stride);
    if (r_.before) e.before = before_->view(), e.before_stride = before_->apart();
    return o;
  }
  std::string ran_once(gemm_options how, bool brings) {
    const gemm_problem p{.a = a_.view<const float>(),
                         .b = b_.view<const float>(),
                         .c = c_.view(),
                         .alpha = r_.alpha,
                         .beta = r_.beta};
    std::optional<bytes_between> workspace, count;
    std::uint64_t start = 41;
    try {
      if (brings)
        if (const std::size_t bytes = gemm_workspace(where_, p, how); bytes > 0)
          how.workspace = workspace.emplace(where_, bytes).inside();
      if (r_.counts) {
        how.recomputed =
            reinterpret_cast<std::uint64_t*>(count.emplace(where_, sizeof start).inside().data());
        where_.runs_on().copy_in(how.recomputed, &start, sizeof start, nullptr);
      }
      gemm(where_, p, how);
    } catch (const not_supported& e) {
      refusal_ = e.what();
      return refused;
    }
    where_.runs_on().synchronize(nullptr);
    if (workspace && !workspace->intact()) return "something next to the workspace was written";
    if (!count) return {};
    if (!count->intact()) return "something next to `recomputed` was written";
    std::uint64_t end = 0;
    where_.runs_on().copy_out(&end, how.recomputed, sizeof end, nullptr);
    counted_ = end - start;
    const bool certifies = ran_.kernel.starts_with("fp16") || ran_.kernel == "tf32";
    const auto most = static_cast<std::uint64_t>(r_.count * r_.m * r_.n * (r_.k / k_of_a_piece + 1));
    if (counted_ > (certifies ? most : 0))
      return std::to_string(counted_) + " outputs were computed again: there are " + std::to_string(most);
    return {};
  }
  // The first stray write, as text.
  std::string stray(bool ran) {
    const auto look = [](const char* name, const zone& z, bool may_change) {
      const std::string text = z.first_stray(z.now(), may_change);
      return text.empty() ? text : std::string(name) + ": " + text;
    };
    std::string text = look("A", a_, false) + look("B", b_, false) + look("C", c_, ran && r_.count > 0);
    if (!finishes_) return text;
    return text + look("the residual", *residual_, false) + look("the input", *input_, false) +
           look("the row bias", *rows_, false) + look("the column bias", *columns_, false) +
           look("before", *before_, ran && r_.before && r_.count > 0);
  }

  // Checks all outputs, or a sample if that takes too long.
  std::string fault_in(const std::vector<float>& c, const std::vector<float>& before) const {
    const std::int64_t all = r_.count * r_.m * r_.n, time = 1'500'000;
    const std::int64_t number = std::max<std::int64_t>(100, time / std::max<std::int64_t>(r_.k, 1)),
                       step = all <= number ? 1 : all / number | 1;
    for (std::int64_t at = 0; at < all; at += step) {
      const std::string wrong = fault_in(c, before, at / (r_.m * r_.n), at / r_.n % r_.m, at % r_.n);
      if (!wrong.empty()) return wrong;
    }
    return all == 0 ? std::string() : fault_in(c, before, r_.count - 1, r_.m - 1, r_.n - 1);
  }
  std::string fault_in(const std::vector<float>& c, const std::vector<float>& before, std::int64_t n,
                       std::int64_t i, std::int64_t j) const {
    constexpr double most = 0x1.ffffep127;
    const bool multiplies = r_.alpha != 0 && r_.k > 0;
    double sum = 0, size = 0;  // size: sum of finite |terms|
    for (std::int64_t at = 0; multiplies && at < r_.k; ++at) {
      const double term = static_cast<double>(a_(n, i, at)) * b_(n, at, j);
      sum += term;
      if (std::isfinite(term)) size += std::abs(term);
    }
    const bool from_c = r_.residual == apart_or_c::none || r_.residual == apart_or_c::c;
    const double added =
        r_.beta == 0 ? 0 : static_cast<double>(r_.beta) * (from_c ? c_ : *residual_)(n, i, j);
    const double of_row = finishes_ && r_.row_bias ? (*rows_)(n, 0, i) : 0.,
                 of_column = finishes_ && r_.column_bias ? (*columns_)(n, 0, j) : 0.;
    const double product = multiplies ? r_.alpha * sum : 0, v = product + added + of_row + of_column;
    const gemm_bound bound = multiplies ? ran_.bound : gemm_bound{};
    const bool plain = !finishes_, only_product = r_.alpha == 1 && r_.beta == 0;
    const double off = plain && only_product
                           ? bound.allowed(size)
                           : bound.allowed(size, r_.alpha, std::abs(product), std::abs(added)) +
                                 (plain ? 0
                                        : 0x1p-22 * (std::abs(product) + std::abs(of_row) +
                                                     std::abs(of_column) + std::abs(added)));
    // Partial sums in FP32 may overflow even if the result does not; other sums only when stored.
    const double inside =
        adds_in_fp32() ? 1.001 * size : (std::isfinite(sum) ? std::abs(sum) : 0) + bound.allowed(size);
    const double factor = std::max(1., static_cast<double>(std::abs(r_.alpha)));
    const bool may_leave = !(factor * inside < most) || !(factor * inside + std::abs(added) + 4 < most);

    const auto told = [&](const char* what, float is, double must, double allowed) {
      return std::string(what) + "(" + std::to_string(i) + ", " + std::to_string(j) + ") of member " +
             std::to_string(n) + " is " + number(is) + ", expected " + number(must) + " within " +
             number(allowed) + ", of magnitude " + number(size);
    };
    const auto right = [&](float is, double must, double allowed) {
      if (std::isfinite(must) && std::isfinite(is)) return std::abs(is - must) <= allowed;
      if (may_leave) return true;
      if (std::isfinite(must))
        return std::abs(must) + allowed >= most && is == std::copysign(INFINITY, static_cast<float>(must));
      return std::isnan(must) ? std::isnan(is) : is == static_cast<float>(must);
    };
    if (finishes_ && r_.before && !right(before_->in(before, n, i, j), v, off))
      return told("before", before_->in(before, n, i, j), v, off);
    const float is = c_.in(c, n, i, j);
    if (plain) return right(is, v, off) ? std::string() : told("C", is, v, off);
    const double x = r_.input == apart_or_c::none
                         ? 0
                         : static_cast<double>((r_.input == apart_or_c::c ? c_ : *input_)(n, i, j));
    if (r_.function != activation::none && (!std::isfinite(v) || !std::isfinite(x) || may_leave)) return {};
    const double y = by_definition(r_.function, v, x), scale = std::abs(static_cast<double>(r_.scale));
    const double of_function = 0x1p-20 * (std::abs(y) + (gemms::is_gradient(r_.function) ? std::abs(v) : 0));
    const double allowed = scale * (1.2 * off + of_function) + 0x1p-148;
    if (std::abs(y) * 1.001 >= most) return {};  // may overflow before it is scaled
    return right(is, r_.scale * y, allowed) ? std::string() : told("C", is, r_.scale * y, allowed);
  }
  static std::string number(double x) {
    char text[64];
    std::snprintf(text, sizeof text, "%.9g", x);
    return text;
  }
  bool adds_in_fp32() const {
    const auto all = gemms::policies();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.name == ran_.kernel; });
    return found != all.end() && found->sums == gemm_sums::multiply_adds;
  }

  const context& where_;
  const random_call& r_;
  zone a_, b_, c_;
  bool finishes_;
  std::optional<zone> residual_, input_, before_, rows_, columns_;
  std::optional<device_array<const float*>> at_a_, at_b_;
  std::optional<device_array<float*>> at_c_;
  gemm_choice ran_;
  std::string refusal_;
  std::uint64_t counted_ = 0;
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class gemm_random_calls : public on_device {
 protected:
  // CPU executors with few and many multiprocessors, which decide over split-K, and different schedules.
  const context& of(std::uint64_t seed) {
    std::vector<context>& all = contexts_;
    if (all.empty() && is_cuda()) all.push_back(any());
    if (all.empty())
      for (const int multiprocessors : {1, 3, 16, 132}) {
        device_limits limits = simulated_device();
        limits.multiprocessors = multiprocessors;
        const auto number = static_cast<unsigned>(multiprocessors);
        all.emplace_back(make_cpu_executor({.seed = number,
                                            .copies = landing::mixed,
                                            .workers = 1 + static_cast<int>(number % 2),
                                            .limits = limits}));
      }
    return all[seed % all.size()];
  }

 private:
  std::vector<context> contexts_;
};

// A failure prints its seed; ANTIPHASE_CALLS_SEED=seed ANTIPHASE_CALLS=1 runs it alone, on the same device.
TEST_P(gemm_random_calls, keep_what_is_promised) {
  const std::uint64_t calls = from_environment("ANTIPHASE_CALLS", is_cuda()   ? 10000
                                                                  : sanitized ? 30
                                                                              : 250),
                      first = from_environment("ANTIPHASE_CALLS_SEED", 20261122);
  const std::int64_t most =
      static_cast<std::int64_t>(from_environment("ANTIPHASE_CALLS_ELEMENTS", is_cuda() ? 250000 : 6000));
  std::map<std::string, int> kernels;
  int wrong = 0;
  for (std::uint64_t seed = first; seed < first + calls && wrong < 20; ++seed) {
    const random_call call = draw_call(seed, most);
    const context& where = of(seed);
    std::string said, ran;
    try {
      prepared p(where, call);
      said = p.complaint();
      ran = p.ran().kernel;
    } catch (const std::exception& e) {
      said = std::string("thrown: ") + e.what();
    }
    ++kernels[ran];
    if (said.empty()) continue;
    ++wrong;
    ADD_FAILURE() << said << "\n  by " << ran << "\n  " << to_text(call);
  }
  std::string told;
  for (const auto& [kernel, count] : kernels) told += kernel + " " + std::to_string(count) + "  ";
  RecordProperty("kernels", told);
  if (std::getenv("ANTIPHASE_CALLS") != nullptr) std::printf("%s\n", told.c_str());
}
AP_ON_BOTH_DEVICES(gemm_random_calls);

}  // namespace
}  // namespace antiphase::gemm_test
