// SPDX-License-Identifier: Apache-2.0
#include "executor.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <cstring>
#include <limits>
#include <map>
#include <thread>

#include "checker/order/missing.hpp"
#include "checker/order/places.hpp"
#include "core/executor/cpu/launch.hpp"
#include "core/executor/scratch.hpp"
#include "model.hpp"

namespace antiphase::checker_detail {
namespace {

using cpu_detail::block_state;
using cpu_detail::condition;
using cpu_detail::thread_state;

thread_model& model_of(const thread_state& t) { return *static_cast<thread_model*>(t.watched); }
thread_model& owner_of(const thread_state& t, machine::tensor_work kind) {
  if (kind == machine::tensor_work::product) return model_of(t);
  return model_of(*t.home->thread[static_cast<std::size_t>(t.index / 32 * 32)]);
}

// Memory of the simulated machine that kernels may touch: their place in the grid, values exchanged in a
// warp, and `next_scope`, which device functions write.
bool machine_allows(std::uintptr_t address, std::size_t bytes, access_kind kind) {
  const auto within = [&](const void* start, std::size_t size) {
    return start != nullptr && address - reinterpret_cast<std::uintptr_t>(start) < size && bytes <= size;
  };
  if (within(&machine::next_scope, sizeof machine::next_scope)) return true;
  if (kind == access_kind::write) return false;
  if (within(&machine::current, sizeof machine::current)) return true;
  const thread_state& t = cpu_detail::here();
  return within(static_cast<const machine::thread_view*>(&t), sizeof(machine::thread_view)) ||
         within(t.block, sizeof(machine::block_view)) ||
         within(t.exchanged, 32 * sizeof(machine::exchange_slot)) || program_holds(address, bytes);
}
void leave_kernel(const char* why) {
  thread_state& t = cpu_detail::here();
  t.owner->abandon(t, std::make_exception_ptr(stopped(why)));
}
void end_long_run() {
  thread_state& t = cpu_detail::here();
  t.owner->end_long_run(t, std::make_exception_ptr(stopped("enough")));
}

bool by_atomic = false;  // the look that follows
void look(const void* p, std::uint64_t value, const void* code, bool between_meetings) {
  thread_state& t = cpu_detail::here();
  const bool atomic = std::exchange(by_atomic, false);
  t.code = code;
  t.inside_hook = true;
  t.owner->settle_writes(t);
  t.owner->loaded(t, p, value, {});
  if ((atomic || between_meetings) && t.loads.is_waiting()) t.loads.looked_in_vain();
  t.inside_hook = false;
}
void write(const void* p, bool at_once) {
  thread_state& t = cpu_detail::here();
  if (!at_once && !t.loads.will_write(p)) return;
  t.loads.something_else();
  t.owner->note_write();
}
void give_way(atomic_kind kind, const void* code) {
  thread_state& t = cpu_detail::here();
  by_atomic = kind == atomic_kind::load;
  if (by_atomic && t.loads.is_waiting()) return;  // a polling loop: it yields soon anyway
  t.code = code;
  t.inside_hook = true;
  t.owner->give_way(t);
  t.inside_hook = false;
  by_atomic = kind == atomic_kind::load;  // others have run
}

class model_observer final : public cpu_detail::observer {
 public:
  explicit model_observer(model& m) : m_(m) {}

  unsigned char* shared_memory(std::size_t bytes) override {
    if (bytes > shadow::shared_bytes)
      throw not_supported("the blocks that are resident at once have " + std::to_string(bytes) +
                          " bytes of shared memory together: the checker follows " +
                          std::to_string(shadow::shared_bytes));
    return m_.memory.shared();
  }
  void launch_begins(const cpu_detail::launch_state& launch, stream on) override {
    launched_ =
        static_cast<std::uint32_t>(launch.grid.count() / static_cast<unsigned>(launch.kernel.cluster));
    begun_ = 0;
    m_.begin_launch(launch.kernel.name, launch.params, launch.kernel.params_bytes, on,
                    launch.kernel.overlaps_previous ? overlap::yes : overlap::no);
    if (m_.times) m_.times->begin_launch(launch.kernel.name, launch.grid, launch.kernel.threads);
  }
  void launch_ends() override {
    runs(nullptr);
    m_.end_launch();
    clusters_.clear();
    clusters_before_ += launched_;
  }
  std::uint64_t most_idle_turns() const override {
    return m_.patient ? std::numeric_limits<std::uint64_t>::max() : observer::most_idle_turns();
  }
  bool enough() override {
    return most_accesses_ > 0 && begun_ > 0 && m_.effort_of_launch() >= most_accesses_;
  }
  void block_begins(block_state& b) override {
    ++begun_;
    auto* block = m_.begin_block(b.index, b.threads, b.shared, b.shared_bytes,
                                 b.cluster_extent > 1 ? number_of(*b.cluster) : 0);
    if (m_.times) {
      const auto lowest = static_cast<std::uint32_t>(b.shared - m_.memory.shared());
      m_.times->begin_block(block->number, b.index, lowest,
                            lowest + static_cast<std::uint32_t>(b.shared_bytes));
    }
    b.watched = block;
    for (std::size_t i = 0; i < b.thread.size(); ++i) b.thread[i]->watched = &block->threads[i];
  }
  void block_ends(block_state& b) override { m_.end_block(*static_cast<block_model*>(b.watched)); }
  void runs(thread_state* t) override {
    m_.set_current(t != nullptr ? &model_of(*t) : nullptr);
    if (t == nullptr) return m_.host.resume_host(m_.memory);
    m_.host.switch_to(m_.host.runs_library
                          ? everything_but(m_.memory)
                          : address_range{reinterpret_cast<std::uintptr_t>(t->self.bottom), t->self.size});
  }
  void thread_ends(thread_state& t, cpu_detail::place) override {
    m_.end_thread(model_of(t));
    if (m_.clocks.log != nullptr)
      m_.clocks.log->end_thread({model_of(t).block, model_of(t).index},
                                static_cast<stamp>(t.time.ticks_since_begin()));
  }

  void found(const cpu_detail::kernel_fault& f) override {
    using tolerance = cpu_detail::kernel_fault::tolerance;
    finding divergent{.kind = finding_kind::divergent_barrier,
                      .kernel = f.kernel,
                      .memory = {},
                      .access = {.action = f.happened,
                                 .place = {},
                                 .through = {},
                                 .block = f.block,
                                 .thread = f.thread,
                                 .moment = {}},
                      .earlier = {},
                      .missing = sentence::uniform_condition,
                      .first = {}};
    if (f.tolerated == tolerance::ended_threads) divergent.in_practice = sentence::gpu_ended_threads;
    if (f.tolerated == tolerance::equal_counts) divergent.in_practice = sentence::gpu_counts_warps;
    m_.findings.note(std::move(divergent), m_.places.number_of(f.code, f.place));
  }

  bool leaves_out(cpu_detail::wait_kind wait) const override {
    // What follows the first finding is only more of it, and may not end.
    if (m_.without != ring_wait::none && !m_.findings.all().empty())
      leave_kernel("a kernel without its waits was stopped at its first finding");
    switch (m_.without) {
      case ring_wait::none: return false;
      case ring_wait::data: return wait == cpu_detail::wait_kind::data;
      case ring_wait::slot: return wait == cpu_detail::wait_kind::slot;
      case ring_wait::barrier: return wait == cpu_detail::wait_kind::barrier;
    }
    return false;
  }
  void comes_to_barrier(thread_state& t, const void* frame) override {
    t.calls.clear();
    if (!m_.memory.shared_by_variables) return;  // the library's kernels have no frame pointers
    const auto* const lowest = static_cast<const unsigned char*>(static_cast<const void*>(t.self.bottom));
    constexpr std::size_t most = 16;
    for (const void* at = frame; t.calls.size() < most;) {
      const std::size_t depth = static_cast<std::size_t>(static_cast<const unsigned char*>(at) - lowest);
      if (depth + 2 * sizeof at > t.self.size || depth % sizeof at != 0) return;  // wraps below the stack
      const void* two[2];
      std::memcpy(two, at, sizeof two);  // the caller's frame, and the address in it
      if (!is_of_program(two[1])) return;
      t.calls.push_back(two[1]);
      if (two[0] <= at) return;
      at = two[0];
    }
  }
  std::string other_way(const thread_state& t, const thread_state& other) override {
    std::string& way = ways_[{t.calls, other.calls}];
    if (!way.empty()) return way == same_lines ? "" : way;
    std::thread([&] {  // the kernel's thread has too little stack for looking up lines
      const std::vector<code_place> mine = lines_of(t.calls), theirs = lines_of(other.calls);
      const auto [a, b] = std::ranges::mismatch(mine, theirs);
      way = a == mine.end() || b == theirs.end() ? same_lines : fmt::format("{}:{}", b->file, b->line);
    })
        .join();
    return way == same_lines ? "" : way;
  }

  void met(block_state& b, std::span<thread_state* const> threads) override {
    // lanes may be all that still run of their block
    const condition at = threads.front()->now;
    const bool everybody = static_cast<int>(threads.size()) == b.running;
    m_.meet(models_of(threads),
            everybody && at != condition::at_warp && at != condition::at_whole_warp ? meeting::of_block
                                                                                    : meeting::of_some,
            threads.front()->code);
  }
  void arrived(thread_state& t, const void* barrier) override {
    m_.clocks.release(model_of(t), named_[barrier], "arrives at a named barrier");
    m_.did(model_of(t), lane_event::kind::named_arrive, t.code, barrier);
  }
  void passed(const void* barrier, std::span<thread_state* const> waiting) override {
    const knowledge_ptr all = std::move(named_[barrier]);
    named_.erase(barrier);
    if (m_.times) m_.times->passed(reinterpret_cast<std::uintptr_t>(barrier));
    for (thread_state* t : waiting) {
      m_.clocks.acquire(model_of(*t), all, "waits at a named barrier");
      m_.did(model_of(*t), lane_event::kind::named_wait, t->code, barrier);
    }
  }

  void previous_grid_waited(thread_state& t) override { m_.wait_for_launch(model_of(t)); }
  void next_grid_started(thread_state& t) override { m_.start_next_launch(model_of(t)); }
  void cluster_arrived(thread_state& t, bool releases) override {
    m_.barriers.arrive_in_cluster(model_of(t));
    knowledge_ptr& arrived = clusters_[number_of(*t.home->cluster)].arrived;
    if (releases)
      m_.clocks.release(model_of(t), arrived, "arrives at the cluster's barrier");
    else if (const knowledge_ptr& fenced = model_of(t).released[1]; fenced != nullptr)
      arrived = join(arrived, fenced, arrived != nullptr ? arrived->block : fenced->block);
  }
  void cluster_phase_ended(cpu_detail::cluster_state& c) override {
    cluster_barrier& b = clusters_[number_of(c)];
    b.ended = std::move(b.arrived);
    b.arrived = nullptr;
  }
  void cluster_waited(thread_state& t) override {
    m_.clocks.acquire(model_of(t), clusters_[number_of(*t.home->cluster)].ended,
                      "waits at the cluster's barrier");
    m_.barriers.met_in_cluster(model_of(t));
  }

  void copy_issued(thread_state& t, const cpu_detail::async_copy& c, cpu_detail::place where) override {
    const place_number here = at(t, where);
    m_.async.issue_copy(model_of(t), c.destination, c.source, static_cast<std::size_t>(c.bytes),
                        static_cast<std::size_t>(c.from_source), here);
    m_.count(model_of(t), line_action::async_copy, c.source, static_cast<std::size_t>(c.from_source), here);
    m_.count(model_of(t), line_action::async_copy, c.destination, static_cast<std::size_t>(c.bytes), here);
  }
  void copies_committed(thread_state& t) override {
    m_.async.commit_copies(model_of(t));
    m_.did(model_of(t), lane_event::kind::commit, t.code);
  }
  void copies_waited(thread_state& t, int groups_left) override {
    m_.async.wait_copies(model_of(t), groups_left);
    m_.did(model_of(t), lane_event::kind::copy_wait, t.code, nullptr,
           static_cast<std::uint32_t>(groups_left));
  }

  void mbarrier_initialised(thread_state& t, const std::uint64_t* word, cpu_detail::place where) override {
    const place_number here = at(t, where);
    if (m_.barriers.is_valid(word, m_.memory.byte(m_.memory.offset_of(word)).place))
      m_.note_here(finding_kind::barrier_misuse, here, "initialisation of what is an mbarrier already", "",
                   sentence::inval_before_init,
                   m_.barriers.is_idle(word) ? sentence::gpu_mbarrier_again : sentence::none);
    m_.async.init_barrier(model_of(t), word, here);
  }
  void mbarrier_invalidated(thread_state& t, const std::uint64_t* word, cpu_detail::place where) override {
    m_.async.end_barrier(model_of(t), word, at(t, where));
  }
  std::string name_of(const thread_state& t, const std::uint64_t* word) const override {
    return m_.findings.name_of_mbarrier(model_of(t).block, word);
  }
  std::string polled_words(std::span<const void* const> polled) override {
    std::string all;
    std::thread([&] { all = m_.polled_words(polled); }).join();  // as in other_way()
    return all;
  }
  void mbarrier_touched(thread_state& t, const std::uint64_t* word, cpu_detail::place where) override {
    m_.async.touch_barrier(model_of(t), word, at(t, where));
  }
  void mbarrier_arrived(thread_state& t, const std::uint64_t* word,
                        machine::mbarrier_semantics how) override {
    m_.barriers.arrive(model_of(t), word, how);
    m_.did(model_of(t), lane_event::kind::arrive, t.code, word);
  }
  void mbarrier_phase_ended(block_state&, const std::uint64_t* word) override {
    m_.barriers.end_phase(word);
    if (m_.times) m_.times->phase_ended(reinterpret_cast<std::uintptr_t>(word));
  }
  void mbarrier_waited(thread_state& t, const std::uint64_t* word, machine::mbarrier_semantics how) override {
    m_.barriers.wait(model_of(t), word, how);
    m_.did(model_of(t), lane_event::kind::wait, t.code, word);
  }
  void bulk_load_issued(thread_state& t, const cpu_detail::bulk_load_state& l,
                        cpu_detail::place where) override {
    const place_number here = at(t, where);
    m_.async.issue_load(model_of(t), l.destination, l.bytes, cpu_detail::sources(l), l.word, here,
                        l.is_generic);
    m_.bulk_load(model_of(t), l.destination, static_cast<std::uint32_t>(l.bytes), l.word, here);
  }
  std::uint32_t copies_tracked(thread_state& t, const std::uint64_t* word) override {
    m_.did(model_of(t), lane_event::kind::copies_arrive, t.code, word);
    return m_.barriers.track_copies(model_of(t), word);
  }
  void copies_arrived(thread_state& t, const std::uint64_t* word, std::uint32_t tracked) override {
    m_.barriers.arrive_with_copies(model_of(t), word, tracked);
  }
  std::uint64_t tensor_begun(thread_state& t, machine::tensor_work kind, const char* name,
                             std::span<const machine::memory_range> all, cpu_detail::place where) override {
    return m_.async.issue_tensor(owner_of(t, kind), kind, name, all, at(t, where));
  }
  void tensor_waited(thread_state& t, machine::tensor_work kind, std::uint64_t last) override {
    m_.async.wait_tensor(
        model_of(t), owner_of(t, kind), kind,
        static_cast<stamp>(std::min<std::uint64_t>(last, std::numeric_limits<stamp>::max())));
  }
  void tensor_committed(thread_state& t, const std::uint64_t* word) override {
    m_.barriers.arrive_with_products(model_of(t), word);
    m_.did(model_of(t), lane_event::kind::copies_arrive, t.code, word);
  }
  void bulk_store_issued(thread_state& t, const cpu_detail::bulk_store_state& s,
                         cpu_detail::place where) override {
    m_.async.issue_store(model_of(t), cpu_detail::destinations(s), s.source, s.bytes, at(t, where),
                         s.updates ? scope::device : scope{},
                         s.updates ? static_cast<std::size_t>(s.updates->number_bytes) : 0);
    m_.count(model_of(t), line_action::bulk_copy, s.source, s.bytes, at(t, where));
  }
  void bulk_stores_committed(thread_state& t) override { m_.async.commit_stores(model_of(t)); }
  void bulk_stores_waited(thread_state& t, int groups_left, machine::bulk_done what) override {
    m_.async.wait_stores(model_of(t), groups_left,
                         what == machine::bulk_done::written ? stores::written : stores::read);
  }
  void proxy_fence(thread_state& t, machine::proxy of) override {
    if (of == machine::proxy::both)
      m_.clocks.proxy_fence(model_of(t));
    else
      m_.clocks.proxy_fence(model_of(t), {of == machine::proxy::shared ? space::shared : space::global});
  }
  void mbarrier_fence(thread_state& t) override { m_.barriers.fence(model_of(t)); }

  void atomic_begins(thread_state& t, const void* p, const machine::atomic_step& step, std::uint64_t expected,
                     cpu_detail::place where) override {
    at(t, where);
    const auto bytes = static_cast<std::size_t>(step.bytes);
    const bool may_fail = step.update == atomic_update::compare_exchange && m_.memory.follows(p, bytes);
    if (step.update == atomic_update::compare_exchange) m_.compares(p, bytes, expected);
    const bool fails = may_fail && std::memcmp(p, &expected, bytes) != 0;
    m_.atomic(p, bytes, fails ? atomic_kind::load : atomic_kind::update, static_cast<order>(step.order),
              step.reach, t.code);
  }

  void read_by_verb(thread_state& t, const void* from, std::size_t bytes) override {
    m_.access(from, bytes, access_kind::read, t.code);
  }
  void matrix_issued(std::span<thread_state* const> warp,
                     std::span<const std::span<const unsigned char>> reads, int multiply_adds,
                     cpu_detail::place where) override {
    const place_number place = at(*warp.front(), where);
    m_.async.issue_matrix(models_of(warp), reads, place);
    m_.matrix(models_of(warp), reads.front().data(), static_cast<std::uint32_t>(multiply_adds), place);
  }
  void matrix_multiplied(std::span<thread_state* const> warp, int multiply_adds,
                         cpu_detail::place where) override {
    m_.matrix(models_of(warp), nullptr, static_cast<std::uint32_t>(multiply_adds), at(*warp.front(), where));
  }
  void matrices_committed(std::span<thread_state* const> warp) override {
    for (thread_state* t : warp) {
      m_.async.commit_matrix(model_of(*t));
      m_.did(model_of(*t), lane_event::kind::matrix_commit, t->code);
    }
  }
  void matrices_waited(std::span<thread_state* const> warp, int groups_left) override {
    for (thread_state* t : warp) {
      m_.async.wait_matrix(model_of(*t), groups_left);
      m_.did(model_of(*t), lane_event::kind::matrix_wait, t->code, nullptr,
             static_cast<std::uint32_t>(groups_left));
    }
  }

  void limit_accesses(std::uint64_t most) {
    most_accesses_ = most;
    m_.begins_few = most > 0;
  }
  std::uint64_t begun() const { return begun_; }  // blocks of the last launch

 private:
  std::uint32_t number_of(const cpu_detail::cluster_state& c) const {
    return clusters_before_ + static_cast<std::uint32_t>(c.number) + 1;
  }
  place_number at(const thread_state& t, cpu_detail::place where) {
    return m_.places.number_of(t.code, where);
  }
  std::span<thread_model* const> models_of(std::span<thread_state* const> threads) {
    meeting_.clear();
    for (thread_state* t : threads) meeting_.push_back(&model_of(*t));
    return meeting_;
  }

  // A compiler may have made several instructions of one: then their lines are the same.
  std::vector<code_place> lines_of(const std::vector<const void*>& calls) const {
    std::vector<code_place> all;
    for (const void* call : calls)
      for (const code_place& p : checker_detail::lines_of(call)) all.push_back(p);
    return all;
  }
  static bool is_of_program(const void* code) {
    return reinterpret_cast<std::uintptr_t>(code) - code_base < place_table::far_code;
  }

  model& m_;
  std::vector<thread_model*> meeting_;
  static constexpr const char* same_lines = "-";
  std::map<std::pair<std::vector<const void*>, std::vector<const void*>>, std::string> ways_;
  std::map<const void*, knowledge_ptr> named_;  // arrivals in the phase in progress, by named barrier
  struct cluster_barrier {
    knowledge_ptr arrived;  // in the phase in progress
    knowledge_ptr ended;    // in the last complete phase
  };
  std::map<std::uint32_t, cluster_barrier> clusters_;
  std::uint32_t launched_ = 0, clusters_before_ = 0;  // clusters, by this launch and by those before it
  std::uint64_t begun_ = 0, most_accesses_ = 0;
};

class checking_executor final : public executor {
 public:
  checking_executor(const cpu_options& options, model& m) : options_(options), m_(m), watch_(m) {
    m_.host.allows_more = machine_allows;
    m_.history.stop = leave_kernel;
    m_.history.end_long_run = end_long_run;
    m_.loops.on_look = look;
    m_.loops.on_write = write;
    m_.loops.give_way = give_way;
  }

  target kind() const override { return target::checked; }
  const device_limits& limits() const override { return options_.limits; }

  void* allocate(std::size_t bytes) const override { return m_.memory.allocate(bytes); }
  void deallocate(void* memory) const noexcept override { m_.memory.free(memory); }
  void copy_in(void* device, const void* host, std::size_t bytes, stream on) const override {
    if (m_.host_access(device, bytes, access_kind::write, on, "copy to the device") && bytes > 0)
      std::memcpy(device, host, bytes);
  }
  void fill(void* to, std::span<const unsigned char> value, std::size_t bytes, stream on) const {
    if (m_.host_access(to, bytes, access_kind::write, on, "copy to the device"))
      m_.memory.fill(to, value, bytes);
  }
  void copy_out(void* host, const void* device, std::size_t bytes, stream on) const override {
    if (m_.host_access(device, bytes, access_kind::read, on, "copy from the device") && bytes > 0)
      std::memcpy(host, device, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes, stream on) const override {
    const bool readable = m_.host_access(from, bytes, access_kind::read, on, "copy on the device");
    const bool writable = m_.host_access(to, bytes, access_kind::write, on, "copy on the device");
    if (readable && writable && bytes > 0) std::memmove(to, from, bytes);
  }
  void synchronize(stream on) const override { m_.launches.synchronize(on); }
  double milliseconds(const std::function<void(stream)>& queue, stream on) const override {
    queue(on);
    return 0;  // no timing in a checked run
  }
  std::unique_lock<std::recursive_mutex> hold(stream on) const override { return streams_.hold(on); }
  std::span<std::byte> scratch(std::size_t bytes, stream on) const override {
    return scratch_.get(bytes, on, [&](std::size_t size) {
      constexpr unsigned char zero = 0;
      void* memory = allocate(size);
      fill(memory, {&zero, 1}, size, on);
      return memory;
    });
  }
  void forget_scratch(stream on) const override { scratch_.forget(on); }

  tensor_map encode(const tensor_layout& tensor) const override { return cpu_detail::encode(tensor); }
  kernel_usage usage(const kernel& k) const override { return cpu_detail::usage(options_.limits, k); }

  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    struct following {
      explicit following(model& m) : before(std::exchange(active, &m)) {}
      ~following() { active = before; }
      model* before;
    } now(m_);
    m_.old.enabled = options_.copies == landing::late;
    m_.old.seed = options_.seed;
    return workers_.launch(options_, k, grid, params, on, &watch_, chosen_);
  }

  model& followed() const { return m_; }
  unsigned seed() const { return options_.seed; }
  void choose_blocks(std::vector<std::uint64_t> chosen, std::uint64_t most_accesses) const {
    chosen_ = std::move(chosen);
    watch_.limit_accesses(most_accesses);
  }
  std::uint64_t blocks_begun() const { return watch_.begun(); }
  void schedule_as(const cpu_options& options) { options_ = options; }

 private:
  cpu_options options_;
  model& m_;
  mutable std::vector<std::uint64_t> chosen_;
  mutable model_observer watch_;
  mutable cpu_detail::worker_pool workers_;
  mutable stream_locks streams_;
  mutable scratch_memory scratch_;
};

}  // namespace

std::shared_ptr<executor> make_checking_executor(const cpu_options& options, model& m) {
  return std::make_shared<checking_executor>(options, m);
}
void schedule_as(executor& on, const cpu_options& options) {
  dynamic_cast<checking_executor&>(on).schedule_as(options);
}
void fill(const executor& on, void* to, std::span<const unsigned char> value, std::size_t bytes, stream s) {
  dynamic_cast<const checking_executor&>(on).fill(to, value, bytes, s);
}
model& model_of(const executor& on) { return dynamic_cast<const checking_executor&>(on).followed(); }
unsigned seed_of(const executor& on) { return dynamic_cast<const checking_executor&>(on).seed(); }
void choose_blocks(const executor& on, std::vector<std::uint64_t> chosen, std::uint64_t most_accesses) {
  dynamic_cast<const checking_executor&>(on).choose_blocks(std::move(chosen), most_accesses);
}
std::uint64_t blocks_begun(const executor& on) {
  return dynamic_cast<const checking_executor&>(on).blocks_begun();
}

}  // namespace antiphase::checker_detail
