// SPDX-License-Identifier: Apache-2.0
// check(): runs a program under many schedules and reports what they show.
#include <fmt/format.h>

#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/plain_cuda.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "checker/findings/groups.hpp"
#include "checker/order/missing.hpp"
#include "checker/order/places.hpp"
#include "checker/plain/ptx/module.hpp"
#include "checker/runs/process/process.hpp"
#include "core/executor/cpu/observer.hpp"
#include "core/executor/cpu/order/script.hpp"
#include "executor.hpp"
#include "lists.hpp"
#include "model.hpp"
#include "timed_kernels.hpp"

namespace antiphase {
namespace {

using checker_detail::is_machinery;
using checker_detail::model;

template <class T> std::vector<T> or_all(const std::vector<T>& asked, std::initializer_list<T> all) {
  return asked.empty() ? std::vector<T>(all) : asked;
}

// Orders alternate fastest; landings and resident blocks go through all their pairs.
std::vector<check_run> plan_of(const check_options& options) {
  if (options.replay) return {*options.replay};
  const auto orders = or_all(options.orders, {schedule::random, schedule::forward, schedule::reversed,
                                              schedule::starved, schedule::priority});
  const auto copies = or_all(options.copies, {landing::late, landing::early, landing::mixed});
  const auto resident = or_all(options.resident_blocks, {1, 3});
  const bool coprime = std::gcd(copies.size(), resident.size()) == 1;
  std::vector<check_run> plan;
  for (int i = 0; i < options.schedules; ++i) {
    const auto step = static_cast<std::size_t>(i), turn = step / orders.size();
    plan.push_back({.seed = options.seed + static_cast<unsigned>(i),
                    .order = orders[step % orders.size()],
                    .copies = copies[turn % copies.size()],
                    .resident_blocks = resident[(coprime ? turn : turn / copies.size()) % resident.size()],
                    .script = orders[step % orders.size()] == schedule::script ? options.script : "",
                    .without = options.without});
  }
  return plan;
}

void place(finding_side& side, std::vector<code_place> lines, const std::vector<const void*>& callers = {}) {
  for (const void* caller : callers)
    for (const code_place& p : checker_detail::lines_of(caller)) lines.push_back(p);
  // a copy by the host's order has no place in a kernel
  if (lines.empty() || checker_detail::lies_in_sources(lines.front().file, "checker/")) return;
  auto first = std::find_if_not(lines.begin(), lines.end(), is_machinery);
  if (first == lines.end()) first = lines.begin();
  side.place = *first;
  // headers that stand in for CUDA's mean nothing to the user
  side.through.clear();
  std::copy_if(lines.begin(), first, std::back_inserter(side.through), [](const code_place& p) {
    return !p.file.starts_with("antiphase/plain/") && !p.file.starts_with("antiphase/stand_ins/");
  });
  const auto is_user_s = [](const code_place& p) {
    return !is_machinery(p) && !checker_detail::lies_in_sources(p.file, "core/executor/cpu/");
  };
  if (first != std::prev(lines.end()))
    std::copy_if(std::next(first), lines.end(), std::back_inserter(side.callers), is_user_s);
}

using checker_detail::is_same;

// Two threads write the same memory in one line, which a barrier before or after the line does not order.
bool write_in_one_line(const finding& f) {
  const auto writes = [](const finding_side& s) { return s.thread >= 0 && s.writes; };
  return f.earlier && f.access.place == f.earlier->place && f.access.place.line > 0 && writes(f.access) &&
         writes(*f.earlier);
}
void name_one_line(finding& f) {
  const missing_order order = f.missing.order();
  if (f.severity() == finding_severity::error &&
      (order == missing_order::warp_sync || order == missing_order::block_barrier ||
       f.missing.row == sentence::device_release))
    f.missing = sentence::one_writer;
}

using checker_detail::outcome;
using checker_detail::run_processes;
using checker_detail::run_request;

cpu_options options_for(const check_options& options, const run_request& asked) {
  const check_run& how = asked.run;
  cpu_options on{.seed = how.seed,
                 .order = how.order,
                 .copies = how.copies,
                 .workers = 1,
                 .resident_blocks = how.resident_blocks};
  on.limits = options.limits;
  on.sums = tensor_sums::plain;  // the order of accesses does not depend on the last bits of sums
  on.script = asked.script;
  if (how.order == schedule::script && on.script == nullptr)
    on.script = std::make_shared<schedule_script>(schedule_script{cpu_detail::from_text(how.script), {}});
  return on;
}

using program_of_runs = std::function<void(const context&)>;

finding_schedule drawn(const model& m, const checker_detail::event_log::snapshot& s) {
  return checker_detail::event_log::drawn(
      s, [&](checker_detail::place_number p) { return m.places.first_line(p); });
}

// Lines of a library's kernel, and the user's that launched it.
std::vector<code_place> with_launch(const model& m, std::vector<code_place> lines,
                                    checker_detail::place_number launch) {
  const auto is_foreign = [](const code_place& p) {
    return is_machinery(p) || plain::ptx_module::is_of_compiler(p.file);
  };
  if (launch != 0 && !lines.empty() && std::ranges::all_of(lines, is_foreign)) lines = m.places.lines(launch);
  return lines;
}

// A finding of a run, with its lines.
finding placed(const model& m, checker_detail::run_finding f, const check_run& how) {
  place(f.result.access, with_launch(m, m.places.lines(f.place), f.launch), f.callers);
  if (f.result.earlier) place(*f.result.earlier, m.places.lines(f.earlier_place));
  if (m.clocks.log != nullptr) f.result.drawn = drawn(m, f.drawn);
  f.result.first = how;
  return std::move(f.result);
}

// `begins`, if given, is called at the first point where the schedule matters, and returns the request to go
// on with; `found` with each finding, in case that the run does not end.
outcome run_here(const program_of_runs& program, const check_options& options, const run_request& asked,
                 model& m, const run_processes::fork_point& begins = {},
                 const run_processes::finding_seen& found = {}) {
  outcome result;
  m.reset();
  m.without = asked.run.without;
  if (asked.draw) m.write_down_run();
  if (options.count) m.count_run();
  if (options.time) m.time_run(options.time->block);
  check_run how = asked.run;
  const std::shared_ptr<executor> on = checker_detail::make_checking_executor(options_for(options, asked), m);
  if (begins)
    m.schedule_begins = [&] {
      const run_request now = begins();
      if (now.draw) m.write_down_run();
      how = now.run;
      checker_detail::schedule_as(*on, options_for(options, now));
    };
  // The stack of a kernel's thread is too small to look for lines on.
  if (found)
    m.findings.seen = [&](const checker_detail::run_finding& f) {
      std::thread([&] { found(placed(m, f, how)); }).join();
    };
  finding fault;
  bool failed = false;
  try {
    program(context(on));
  } catch (const bad_request&) {
    result.refused = std::current_exception();
  } catch (const not_supported&) {
    result.refused = std::current_exception();
  } catch (const bad_source&) {
    result.refused = std::current_exception();
  } catch (const checker_detail::stopped&) {  // reported already
    result.ended_at = m.ended_at;
    if (m.unfinished_at != 0) {
      result.unfinished = result.timed_out = true;
      result.ended_at.clear();
      const code_place at = m.places.first_line(m.unfinished_at);
      m.findings.say(fmt::format(
          "kernel {0} was stopped at {2}:{3}, {1} million accesses of a few blocks after its start: its "
          "loop may never end, or it is a lot of work. The rest is not checked. Smaller input, or --blocks "
          "all and --seconds, let it finish",
          m.findings.kernel, m.history.effort.total() / 1'000'000, at.file, at.line));
    }
  } catch (const cpu_detail::kernel_fault& f) {
    failed = true;
    result.ended_at = m.ended_at;
    fault.kind = f.kind;
    fault.kernel = f.kernel;
    result.timed_out = f.by_bound;
    const bool everybody = f.kind == cpu_detail::fault::deadlock;  // the message lists the threads
    fault.access = {.action = f.happened,
                    .place = {},
                    .through = {},
                    .callers = {},
                    .block = f.block,
                    .thread = everybody ? -1 : f.thread,
                    .moment = {}};
    const bool has_place = f.place.line() != 0 || (everybody && f.code != nullptr);
    const checker_detail::place_number at = has_place ? m.places.number_of(f.code, f.place) : 0;
    if (has_place) place(fault.access, with_launch(m, m.places.lines(at), m.findings.launch));
    if (m.clocks.log != nullptr)
      fault.drawn =
          drawn(m, m.clocks.log->taken({.now = {{m.clocks.log->block_at(f.block), f.thread}, at, f.happened},
                                        .earlier = {},
                                        .others = true,
                                        .for_ever = everybody,
                                        .is_thread = !everybody && f.thread >= 0}));
  } catch (const std::exception& e) {
    failed = true;
    fault.kind = finding_kind::wrong_result;
    fault.kernel = m.findings.kernel;
    fault.access.action = e.what();
    if (m.clocks.log != nullptr)
      fault.drawn =
          drawn(m, m.clocks.log->taken({.now = {}, .earlier = {}, .last_kernel = true, .is_thread = false}));
    if (const auto& old = m.brought_old) {
      fault.earlier = old->load;
      fault.earlier->action = "read of an old value";
      place(*fault.earlier, m.places.lines(old->place));
      fault.missing = old->missing;
    }
  }
  m.finish_findings();
  for (auto& f : m.findings.all()) result.findings.push_back(placed(m, std::move(f), how));
  if (failed) {
    fault.times = 1;
    fault.first = how;
    result.findings.push_back(std::move(fault));
  }
  result.notes = m.findings.notes();
  result.tried_change = m.findings.tried_change;
  result.accesses = m.history.effort.accesses;
  if (m.counts) result.counts = m.counts->lines();
  if (m.times) result.timed = checker_detail::timed_kernels(m, *options.time);
  result.tracked = m.memory.bytes_tracked();
  result.kept = m.memory.bytes_kept();
  return result;
}

// Does runs one after the other, on one OS thread.
class runner {
 public:
  runner(const program_of_runs& program, const check_options& options)
      : program_(program), options_(options) {
    if (options.process_seconds > 0)
      processes_.emplace(
          [this](const run_request& asked, const run_processes::fork_point& begins,
                 const run_processes::finding_seen& found) {
            return run_here(program_, options_, asked, model_, begins, found);
          },
          options.process_seconds);
  }
  // `seen`, if given, is called with what a run in a process has found so far.
  outcome run(const run_request& asked, const run_processes::findings_seen& seen = {}) {
    return processes_ ? processes_->run(asked, seen) : run_here(program_, options_, asked, model_);
  }

 private:
  const program_of_runs& program_;
  const check_options& options_;
  model model_;
  std::optional<run_processes> processes_;
};

void add(check_report& report, outcome&& from) {
  for (finding& f : from.findings) {
    const auto at = std::find_if(report.findings.begin(), report.findings.end(),
                                 [&](const finding& g) { return is_same(f, g); });
    const bool known = at != report.findings.end();
    const bool one_line = write_in_one_line(f) || (known && write_in_one_line(*at));
    if (!known)
      report.findings.push_back(std::move(f));
    else if (f.severity() < at->severity())  // an error in this run: that is the one to show
      f.times += at->times, *at = std::move(f);
    else
      at->times += f.times;
    if (one_line) name_one_line(known ? *at : report.findings.back());
  }
  for (std::string& n : from.notes)
    if (std::find(report.notes.begin(), report.notes.end(), n) == report.notes.end())
      report.notes.push_back(std::move(n));
  report.accesses += from.accesses;
  report.tried_change |= from.tried_change;
  if (report.runs == 0) {
    report.counts = std::move(from.counts);
    report.timed = std::move(from.timed);
  }
  if (from.tracked > report.tracked_bytes) {
    report.tracked_bytes = from.tracked;
    report.checker_bytes = from.kept;
  }
  ++report.runs;
  report.unfinished += from.unfinished ? 1 : 0;
}

// Counts the runs that ended early. After two that were stopped at their time limit the others are not
// tried. One is enough if it had not come to a launch, as what comes before does not depend on the schedule;
// or if it was refused.
class time_limit_policy {
 public:
  // True of the last run that counts.
  bool is_last(const outcome& o) {
    stopped_ += o.timed_out ? 1 : 0;
    if (!o.ended_at.empty()) ++ended_[o.ended_at];
    return o.unlaunched || o.refused != nullptr || (o.timed_out && stopped_ == most);
  }
  void say(check_report& report, std::size_t untried) const {
    if (untried > 0 && stopped_ == most)
      report.notes.emplace_back("two runs did not finish, so the other schedules were not tried");
  }
  void say_ended(check_report& report) const {
    for (const auto& [at, runs] : ended_)
      report.notes.push_back(fmt::format(
          "main was ended at {} in {} of {} runs: what follows was not checked", at, runs, report.runs));
  }

 private:
  static constexpr int most = 2;
  int stopped_ = 0;
  std::map<std::string, int> ended_;  // runs that ended early, by where
};

// A refusal ends the check; what had been found before is reported first.
void keep_or_throw(check_report& report, const std::exception_ptr& refused) {
  if (report.clean()) std::rethrow_exception(refused);
  try {
    std::rethrow_exception(refused);
  } catch (const std::exception& e) {
    report.refused.push_back({.why = "not supported", .place = {}, .column = 0, .text = e.what()});
  }
}

constexpr std::size_t longest_script = 200;  // characters; beyond that the seed is the better replay

// What looking for simpler runs may cost, of all findings together. Not counted by a clock: a report must not
// depend on the machine.
struct trials {
  int runs = 100;
  std::int64_t accesses = 1'000'000;  // that are followed
};

// Looks for a simpler run that shows the same finding: first the threads in their order (schedule::forward),
// then a script with few deviations from it. A finding that forward order showed already is left. `f` is
// replaced by the finding as that run shows it. `left` bounds what is tried.
void shorten(finding& f, runner& runs, trials& left) {
  finding shown;
  bool timed_out = false;  // such runs take long: one is enough
  const auto shows = [&](const check_run& how, std::shared_ptr<schedule_script> script) {
    if (timed_out) return false;
    --left.runs;
    const outcome o = runs.run({how, std::move(script)});
    timed_out = o.timed_out;
    if (timed_out) left.runs = 0;
    left.accesses -= static_cast<std::int64_t>(o.accesses);
    const auto at =
        std::find_if(o.findings.begin(), o.findings.end(), [&](const finding& g) { return is_same(f, g); });
    if (at == o.findings.end() || at->severity() != f.severity()) return false;
    shown = *at;
    return true;
  };
  const auto take_shown = [&] {
    shown.times = f.times;
    shown.group = f.group;
    shown.missing = f.missing;
    shown.remarks = f.remarks;
    f = shown;
  };
  if (f.first.order == schedule::forward || left.runs < 3 || left.accesses <= 0) return;
  check_run simple = f.first;
  simple.order = schedule::forward;
  simple.resident_blocks = 1;
  simple.script.clear();
  for (const landing copies : {landing::late, landing::early}) {
    simple.copies = copies;
    if (shows(simple, nullptr)) return take_shown();
  }
  // Record the script of the original run, then follow it with fewer and fewer deviations.
  auto script = std::make_shared<schedule_script>(schedule_script{cpu_detail::from_text(f.first.script), {}});
  if (!shows(f.first, script)) return;
  check_run scripted = f.first;
  scripted.order = schedule::script;
  script->choices = cpu_detail::taken(*script);
  script->taken.clear();
  if (!shows(scripted, script)) return;
  if (left.accesses <= 0) return;
  cpu_detail::shorten(
      *script, [&] { return left.accesses <= 0 || !shows(scripted, script); },
      static_cast<unsigned>(std::max(1, left.runs)));
  scripted.script = cpu_detail::to_text(script->choices);
  if (scripted.script.size() <= longest_script && shows(scripted, nullptr)) take_shown();
}

// Runs each finding's first schedule once more to record it. Findings first shown by the same run share one.
void draw(std::vector<finding>& findings, runner& runs) {
  std::vector<std::pair<check_run, outcome>> drawn;
  for (finding& f : findings) {
    auto by = std::ranges::find(drawn, f.first, &std::pair<check_run, outcome>::first);
    if (by == drawn.end()) {
      drawn.emplace_back(f.first, runs.run({.run = f.first, .script = nullptr, .draw = true}));
      by = std::prev(drawn.end());
    }
    const auto shown =
        std::ranges::find_if(by->second.findings, [&](const finding& g) { return is_same(f, g); });
    if (shown != by->second.findings.end()) f.drawn = std::move(shown->drawn);
  }
}

// The runs of the plan, several at a time. The report does not depend on the number of workers.
check_report run_plan(const std::function<void(const context&)>& program, const check_options& options) {
  const std::vector<check_run> plan = plan_of(options);
  std::vector<std::optional<outcome>> outcomes(plan.size());
  std::atomic<std::size_t> next{0};
  std::exception_ptr broken;
  std::mutex mutex;
  check_report report;
  std::size_t added = 0;
  time_limit_policy left;
  const auto add_next = [&] {  // in the plan's order, whichever finishes first
    while (added < plan.size() && outcomes[added]) {
      outcome& o = *outcomes[added++];
      const bool is_last = left.is_last(o);
      const std::exception_ptr refused = o.refused;
      add(report, std::move(o));
      if (refused) keep_or_throw(report, refused);
      if (options.progress) options.progress(report);
      if (!is_last) continue;
      left.say(report, plan.size() - added);
      next = added = plan.size();
    }
  };
  // Shows what the run of this number has found so far, and other runs that have not been added yet.
  std::map<std::size_t, std::vector<finding>> under_way;
  const auto show = [&](std::size_t run, const std::vector<finding>& found) {
    const std::lock_guard lock(mutex);
    if (run < added) return;
    under_way[run] = found;
    check_report so_far = report;
    for (const auto& [number, all] : under_way)
      if (number >= added)
        add(so_far, {.findings = all, .notes = {}, .refused = nullptr, .unfinished = true});
    checker_detail::group_findings(so_far.findings);
    options.progress(so_far);
  };
  const auto work = [&] {
    try {
      runner runs(program, options);
      for (std::size_t i = next++; i < plan.size(); i = next++) {
        run_processes::findings_seen seen;
        if (options.progress) seen = [&, i](const std::vector<finding>& found) { show(i, found); };
        outcome o = runs.run({plan[i], nullptr, i == 0 ? options.output : program_output::none}, seen);
        const std::lock_guard lock(mutex);
        if (o.unlaunched) next = plan.size();  // as those that are in progress will be
        outcomes[i] = std::move(o);
        add_next();  // nothing, after the last that counts
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!broken) broken = std::current_exception();
      next = plan.size();
    }
  };
  const auto cores =
      static_cast<std::size_t>(options.workers > 0 ? static_cast<unsigned>(options.workers)
                                                   : std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(cores, plan.size()); ++i) others.emplace_back(work);
  work();
  for (auto& t : others) t.join();
  if (broken) std::rethrow_exception(broken);
  left.say_ended(report);
  return report;
}

// Explores every schedule, one after the other. With mixed landings, when a copy lands is one more decision;
// more resident blocks include the schedules of fewer.
check_report run_all(const std::function<void(const context&)>& program, const check_options& options) {
  check_report report;
  runner runs(program, options);
  const check_run how{
      .seed = options.seed,
      .order = schedule::script,
      .copies = options.copies.size() == 1 ? options.copies.front() : landing::mixed,
      .resident_blocks = options.resident_blocks.empty() ? 3 : std::ranges::max(options.resident_blocks),
      .script = {},
      .without = options.without};
  const auto script = std::make_shared<schedule_script>();
  time_limit_policy left;
  const auto run = [&] {
    outcome o = runs.run({how, script});
    for (finding& f : o.findings) f.first.script = cpu_detail::to_text(cpu_detail::taken(*script));
    const bool is_last = left.is_last(o);
    const std::exception_ptr refused = o.refused;
    add(report, std::move(o));
    if (refused) keep_or_throw(report, refused);
    return !is_last;  // go on after a finding: it ends the run, not the exploration
  };
  report.complete = cpu_detail::explore(*script, run, options.exhaustive).complete;
  left.say_ended(report);
  return report;
}

}  // namespace

bool checker_detail::is_same(const finding& a, const finding& b) {
  return a.kind == b.kind && a.kernel == b.kernel && a.access.place == b.access.place &&
         a.earlier.has_value() == b.earlier.has_value() &&
         (!a.earlier || a.earlier->place == b.earlier->place);
}

check_report check(const std::function<void(const context&)>& program, const check_options& options) {
  if (options.schedules < 1)
    throw bad_request("schedules = " + std::to_string(options.schedules) + ": expected 1 or more");
  if (options.workers < 0)
    throw bad_request("workers = " + std::to_string(options.workers) + ": expected 0 (one per core) or more");
  checker_detail::enter_checked_kernels();
  check_report report =
      options.exhaustive > 0 && !options.replay ? run_all(program, options) : run_plan(program, options);
  checker_detail::group_findings(report.findings);
  const bool simpler = options.shorten && report.runs > 1 && report.unfinished == 0;
  if (report.clean() || !(simpler || options.draw)) return report;
  runner runs(program, options);
  trials left;
  if (simpler)
    for (finding& f : report.findings) shorten(f, runs, left);
  if (options.draw) draw(report.findings, runs);
  return report;
}

}  // namespace antiphase
