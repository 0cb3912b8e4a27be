#include "engine/graph/run_log.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "engine/ops/core/observer.h"
#include "engine/record/trace/thread_record.h"

namespace tapedeck::graph {
namespace {

constexpr std::size_t most_logged_numbers = std::size_t{4} << 20;  // of all runs: 32 MB
constexpr std::size_t numbers_of_a_run = 24;                       // beside slots and steps

struct ThreadRuns {
  std::deque<std::shared_ptr<LoggedRun>> runs;  ///< in the order in which they began
  std::uint64_t forgotten_to = 0;               ///< of records up to this one runs may be missing
};

struct Log {
  std::mutex mutex;
  std::map<std::uint16_t, ThreadRuns> threads;
  std::size_t numbers = 0;
};

Log& run_log() {
  static auto* log = new Log;  // threads may run graphs until the process ends
  return *log;
}

std::size_t logged_size(const LoggedRun& run) {
  return numbers_of_a_run + run.tensors.size() + 2 * run.steps.capacity();
}

using Runs = std::vector<std::shared_ptr<LoggedRun>>;

/// With the mutex locked: the caller destroys what goes behind it, as constants may own objects of the host
/// language, whose destructors may run ops. Runs that have not ended stay: as many as lie in each other.
Runs take_oldest_runs(Log& log) {
  Runs taken;
  const auto has_ended = [](const auto& run) { return run->after != UINT64_MAX; };
  while (log.numbers > most_logged_numbers) {
    ThreadRuns* from = nullptr;
    std::deque<std::shared_ptr<LoggedRun>>::iterator oldest;
    for (auto& [index, thread] : log.threads) {
      const auto first = std::ranges::find_if(thread.runs, has_ended);
      if (first == thread.runs.end() || (from && (*first)->before >= (*oldest)->before)) continue;
      from = &thread;
      oldest = first;
    }
    if (!from) break;
    from->forgotten_to = std::max(from->forgotten_to, (*oldest)->after);
    log.numbers -= std::min(log.numbers, logged_size(**oldest));
    taken.push_back(std::move(*oldest));
    from->runs.erase(oldest);
  }
  return taken;
}

/// 0: no run around has computed it.
std::uint64_t tensor_in_run(const LoggedRun* run, std::uint64_t symbol) {
  for (; run; run = run->around.get())
    if (const auto slot = run->index->slot_of.find(symbol); slot != run->index->slot_of.end())
      return run->tensors[slot->second];
  return 0;
}

thread_local RunningGraph* innermost_run = nullptr;

}  // namespace

NameIndex::NameIndex(const Graph& graph, const Layout& layout) : slot_count(layout.slot_count) {
  nodes.resize(slot_count, no_op);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    names.push_back(graph.nodes[i].names);
    const auto node = static_cast<std::int32_t>(i);
    if (graph.nodes[i].kind == NodeKind::constant)
      slot_of.emplace(graph.nodes[i].constant.id(), layout.slot_of({node, 0}));
    for (std::size_t k = 0; graph.nodes[i].kind == NodeKind::op && k < graph.nodes[i].results.size(); ++k)
      nodes[layout.slot_of({node, static_cast<std::int32_t>(k)})] = static_cast<std::uint32_t>(i);
    for (const auto& [symbol, result] : graph.nodes[i].symbols)
      slot_of.emplace(symbol, layout.slot_of({node, result}));
  }
}

RunningGraph::RunningGraph(std::shared_ptr<const NameIndex> index)
    : run_(std::make_shared<LoggedRun>()), before_(innermost_run) {
  run_->traces = current_observer() == nullptr;
  if (before_ && before_->run_->traces == run_->traces) {
    run_->around = before_->run_;
    run_->caller = before_->run_->caller;
  } else if (run_->traces) {
    run_->caller = capture_names();
  }
  run_->tensors.resize(index->slot_count);
  run_->index = std::move(index);
  run_->thread = thread_record().thread;
  run_->before = thread_record().newest;
  innermost_run = this;
  if (run_->traces) return;
  Log& log = run_log();
  Runs taken;
  const std::lock_guard lock(log.mutex);  // ends before `taken` goes
  log.threads[run_->thread].runs.push_back(run_);
  log.numbers += logged_size(*run_);
  taken = take_oldest_runs(log);
}

RunningGraph::~RunningGraph() {
  innermost_run = before_;
  if (run_->traces) return;
  Log& log = run_log();
  const std::lock_guard lock(log.mutex);
  run_->after = thread_record().newest;
  log.numbers += 2 * run_->steps.capacity();
}

void RunningGraph::begin(std::size_t node) {
  const std::lock_guard lock(run_log().mutex);
  run_->steps.push_back({static_cast<std::uint32_t>(node), thread_record().newest});
}

void RunningGraph::set(std::uint32_t slot, const Tensor& tensor) {
  const std::lock_guard lock(run_log().mutex);
  run_->tensors[slot] = tensor ? tensor.id() : 0;
}

RunningGraph* RunningGraph::innermost() {
  return innermost_run;
}

std::uint64_t RunningGraph::record_of(std::uint64_t symbol) const {
  const std::lock_guard lock(run_log().mutex);
  for (const LoggedRun* run = run_.get(); run; run = run->around.get()) {
    const auto slot = run->index->slot_of.find(symbol);
    if (slot == run->index->slot_of.end()) continue;
    const std::uint32_t node = run->index->nodes[slot->second];
    const auto step = std::ranges::lower_bound(run->steps, node, {}, &LoggedRun::Step::node);
    if (node == NameIndex::no_op || step == run->steps.end() || step->node != node) return 0;
    // An op makes one record: the thread's newest when the next node begins.
    const std::uint64_t newest = step + 1 == run->steps.end() ? thread_record().newest : (step + 1)->before;
    return newest > step->before ? newest : 0;
  }
  return 0;
}

Names RunningGraph::names_in_trace() {
  if (run_->steps.empty()) return nullptr;
  const Names& names = run_->index->names[run_->steps.back().node];
  if (!names) return run_->caller;
  Names& known = mapped_[names.get()];
  if (!known)
    known = with_tensors(
        *names, [&](std::uint64_t symbol) { return tensor_in_run(run_.get(), symbol); }, run_->caller);
  return known;
}

Names names_here() {
  RunningGraph* run = RunningGraph::innermost();
  return run && run->traces() ? run->names_in_trace() : capture_names();
}

std::optional<Names> names_at(std::uint64_t record, std::uint16_t thread, bool running) {
  Log& log = run_log();
  const std::lock_guard lock(log.mutex);
  const auto found = log.threads.find(thread);
  if (found == log.threads.end()) return std::nullopt;
  const ThreadRuns& known = found->second;
  const auto& runs = known.runs;
  if (record <= known.forgotten_to) return std::nullopt;
  const auto behind =
      std::ranges::partition_point(runs, [&](const auto& run) { return run->before < record; });
  if (behind == runs.begin()) return std::nullopt;
  // Runs of a thread lie in each other: the one that began last before the record, or one around that.
  const LoggedRun* run = std::prev(behind)->get();
  while (run && run->after < record) run = run->around.get();
  if (!run || (running && run->after != UINT64_MAX)) return std::nullopt;
  const auto step = std::ranges::partition_point(
      run->steps, [&](const LoggedRun::Step& one) { return one.before < record; });
  if (step == run->steps.begin()) return std::nullopt;
  const Names& names = run->index->names[std::prev(step)->node];
  if (!names) return std::nullopt;
  // With 0 for what was not computed.
  const auto resolve = [&](const auto& self, std::vector<NamedValue>& values) -> void {
    for (NamedValue& value : values) {
      if (value.symbolic) value.tensor = tensor_in_run(run, value.tensor);
      self(self, value.items);
    }
  };
  std::shared_ptr<NamesFrame> inner;
  Names innermost;
  for (const NamesFrame* frame = names.get(); frame; frame = frame->around.get()) {
    auto copy = std::make_shared<NamesFrame>(*frame);
    copy->around = nullptr;
    resolve(resolve, copy->values);
    if (inner)
      inner->around = copy;
    else
      innermost = copy;
    inner = std::move(copy);
  }
  return innermost;
}

void forget_runs() {
  Log& log = run_log();
  Runs ended;
  const std::lock_guard lock(log.mutex);  // ends before `ended` goes
  log.numbers = 0;
  for (auto& [index, thread] : log.threads) {
    for (const auto& run : thread.runs)
      if (run->after != UINT64_MAX) ended.push_back(run);
    std::erase_if(thread.runs, [](const auto& run) { return run->after != UINT64_MAX; });
    for (const auto& run : thread.runs) log.numbers += logged_size(*run);
    thread.forgotten_to = 0;  // of the records that there were; the next recorder counts anew
  }
}

}  // namespace tapedeck::graph
