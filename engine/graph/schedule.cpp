#include "engine/graph/schedule.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/cpu/parallel.h"
#include "engine/ops/core/cost.h"
#include "engine/ops/core/run_op.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::graph {
namespace {

// Of one core of a usual machine; what matters is which nodes are small.
constexpr double flops_a_second = 1e11, bytes_a_second = 1e10, seconds_of_a_call = 2e-7;
constexpr double longest_of_group = 1e-4;  ///< kernels that take longer share their own work well
constexpr double seconds_to_wake = 2e-5, seconds_to_pass_on = 1e-6;
constexpr double least_gain = 0.75;  ///< the group's time to that of its nodes one by one
constexpr std::size_t most_nodes_of_group = 512;

double seconds_of(const Graph& graph, const Node& node) {
  constexpr double seconds_of_a_loop = 1e-3;  // a run decides how often its body runs
  if (node.kind == NodeKind::loop || node.kind == NodeKind::unwind) return seconds_of_a_loop;
  if (node.kind == NodeKind::branch) {
    double seconds = 0;
    for (const auto& inner : node.graphs)
      for (const Node& each : inner->nodes) seconds += seconds_of(*inner, each);
    return seconds;
  }
  if (node.kind != NodeKind::op) return 0;
  if (is_open(graph, node)) return seconds_of_a_call;
  TensorSpecs inputs;
  for (const Value input : node.inputs) inputs.push_back(graph.spec(input));
  const OpCost cost = cost_of({*node.op, inputs, node.attributes, node.results});
  return seconds_of_a_call + std::max(cost.flops / flops_a_second, cost.bytes / bytes_a_second);
}

bool has_no_inputs(const Node& node) {
  return node.kind == NodeKind::constant || node.kind == NodeKind::read;
}

bool may_be_in_group(const Graph& graph, const Node& node, double seconds) {
  if (has_no_inputs(node)) return true;
  return node.kind == NodeKind::op && !node.draws && !node.op->updates && !is_open(graph, node) &&
         !node.device && seconds < longest_of_group;
}

}  // namespace

Schedule::Schedule(const Graph& graph, const Layout& layout, std::span<const FusedChain> chains)
    : graph_(graph), layout_(layout), group_at_(graph.nodes.size()) {
  std::vector<bool> is_fused(graph.nodes.size());
  for (const FusedChain& chain : chains)
    for (const std::int32_t node : chain.nodes) is_fused[static_cast<std::size_t>(node)] = true;
  std::vector<double> seconds;
  for (const Node& node : graph.nodes) seconds.push_back(seconds_of(graph, node));
  for (const double each : seconds) seconds_ += each;
  for (std::size_t begin = 0; begin < graph.nodes.size();) {
    std::size_t end = begin;
    while (end < graph.nodes.size() && end - begin < most_nodes_of_group && !is_fused[end] &&
           may_be_in_group(graph, graph.nodes[end], seconds[end]))
      ++end;
    if (end > begin + 1) add_group(begin, end, seconds);
    begin = std::max(end, begin + 1);
  }
}

void Schedule::add_group(std::size_t begin, std::size_t end, const std::vector<double>& seconds) {
  Group group;
  group.begin = begin;
  group.end = end;
  std::vector<double> finished(end - begin);  // the longest chain up to each node
  double all = 0, longest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Node& node = graph_.nodes[i];
    group.successors.emplace_back();
    std::vector<std::uint32_t> before;
    for (const Value input : node.inputs)
      if (input.node >= static_cast<std::int32_t>(begin) &&
          !has_no_inputs(graph_.nodes[static_cast<std::size_t>(input.node)]))
        before.push_back(static_cast<std::uint32_t>(static_cast<std::size_t>(input.node) - begin));
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    group.waits_for.push_back(static_cast<std::uint32_t>(before.size()));
    double start = 0;
    for (const std::uint32_t earlier : before) {
      group.successors[earlier].push_back(static_cast<std::uint32_t>(i - begin));
      start = std::max(start, finished[earlier]);
    }
    finished[i - begin] = start + seconds[i];
    longest = std::max(longest, finished[i - begin]);
    all += seconds[i];
  }
  const double passing_on = seconds_to_wake + seconds_to_pass_on * static_cast<double>(end - begin);
  if (std::max(longest, all / 2) + passing_on > least_gain * all) return;
  group.width = static_cast<std::uint32_t>(all / longest + 0.999);

  std::vector<std::uint32_t> place(layout_.slot_count, UINT32_MAX);
  for (std::size_t i = begin; i < end; ++i)
    for (const std::uint32_t slot : layout_.unread_behind(layout_.steps[i])) {
      place[slot] = static_cast<std::uint32_t>(group.unread.size());
      group.unread.push_back(slot);
      group.readers.push_back(0);
    }
  for (std::size_t i = begin; i < end; ++i) {
    std::vector<std::uint32_t> reads;
    for (const std::uint32_t slot : layout_.inputs_of(layout_.steps[i]))
      if (place[slot] != UINT32_MAX && std::ranges::find(reads, place[slot]) == reads.end())
        reads.push_back(place[slot]);
    for (const std::uint32_t read : reads) ++group.readers[read];
    group.reads.push_back(std::move(reads));
  }
  groups_.push_back(std::move(group));
  group_at_[begin] = static_cast<std::uint32_t>(groups_.size());
}

std::size_t Schedule::end_of_group(std::size_t node) const {
  const std::uint32_t number = group_at_[node];
  return number == 0 || cpu::thread_count() == 1 ? 0 : groups_[number - 1].end;
}

/// One run of a group: a queue of the nodes whose inputs are there.
class Schedule::Work {
 public:
  Work(const Schedule& schedule, const Group& group, Frame& values)
      : schedule_(schedule),
        group_(group),
        values_(values),
        waits_for_(group.waits_for),
        readers_(std::make_unique<std::atomic<std::uint32_t>[]>(group.unread.size())) {
    for (std::size_t i = 0; i < group.unread.size(); ++i) readers_[i].store(group.readers[i]);
    // The last one is taken first: behind a node runs what waited for it, while its result is in the cache.
    for (std::size_t i = waits_for_.size(); i-- > 0;)
      if (waits_for_[i] == 0 && is_op(i)) ready_.push_back(static_cast<std::uint32_t>(i));
    available_.store(ready_.size());
  }

  /// On each thread. `of_caller`: it checks for interrupts.
  void help(bool of_caller) {
    try {
      for (int turns = 0;; ++turns) {
        if (of_caller) check_interrupt();
        if (available_.load(std::memory_order_acquire) == 0) {
          if (over_.load(std::memory_order_acquire)) return;
          if (turns % 64 == 63) std::this_thread::yield();
          continue;
        }
        std::uint32_t node = 0;
        if (take(node)) run(node);
      }
    } catch (...) {  // interrupted: the others end, too
      const std::lock_guard lock(mutex_);
      failed_ = 0;
      is_interrupted_ = true;
      ready_.clear();
      available_.store(0);
      over_.store(true);
      throw;
    }
  }

  void throw_failure() const {
    if (error_) throw FailedNode{group_.begin + failed_, error_};
  }

 private:
  bool is_op(std::size_t place) const { return !has_no_inputs(schedule_.graph_.nodes[group_.begin + place]); }

  bool take(std::uint32_t& node) {
    const std::lock_guard lock(mutex_);
    while (!ready_.empty()) {
      node = ready_.back();
      ready_.pop_back();
      available_.store(ready_.size());
      if (node > failed_) continue;  // one by one, it would not have run
      ++running_;
      return true;
    }
    finish_if_idle();
    return false;
  }

  void finish_if_idle() {
    if (running_ == 0 && ready_.empty()) over_.store(true, std::memory_order_release);
  }

  void run(std::uint32_t place) {
    std::exception_ptr error;
    try {
      compute(place);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    --running_;
    if (is_interrupted_) return;
    if (error) {
      if (place < failed_) {
        failed_ = place;
        error_ = std::move(error);
      }
    } else {
      for (const std::uint32_t next : group_.successors[place])
        if (--waits_for_[next] == 0) ready_.push_back(next);
    }
    available_.store(ready_.size(), std::memory_order_release);
    finish_if_idle();
  }

  void compute(std::uint32_t place) {
    const std::size_t number = group_.begin + place;
    const Node& node = schedule_.graph_.nodes[number];
    const NodeSlots& step = schedule_.layout_.steps[number];
    {
      const BorrowedInputs inputs(values_, schedule_.layout_.inputs_of(step));
      Tensors results =
          tapedeck::detail::compute_checked({*node.op, inputs, node.attributes, node.results, {}});
      for (std::size_t result = 0; result < results.size(); ++result)
        values_[step.first_result + result] = std::move(results[result]);
    }
    for (const std::uint32_t read : group_.reads[place])
      if (readers_[read].fetch_sub(1, std::memory_order_acq_rel) == 1) values_[group_.unread[read]] = {};
  }

  const Schedule& schedule_;
  const Group& group_;
  Frame& values_;
  std::mutex mutex_;  // guards what follows, but not the atomics
  std::vector<std::uint32_t> waits_for_, ready_;
  std::size_t running_ = 0;
  std::uint32_t failed_ = UINT32_MAX;
  bool is_interrupted_ = false;
  std::exception_ptr error_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> readers_;
  std::atomic<std::size_t> available_{0};  ///< nodes in `ready_`
  std::atomic<bool> over_{false};
};

void Schedule::run_group(std::size_t begin, Frame& values) const {
  const Group& group = groups_[group_at_[begin] - 1];
  Work work(*this, group, values);
  const std::thread::id caller = std::this_thread::get_id();
  const std::int64_t threads = std::min<std::int64_t>(cpu::thread_count(), group.width);
  cpu::parallel_for(threads, 1,
                    [&](std::int64_t, std::int64_t) { work.help(std::this_thread::get_id() == caller); });
  work.throw_failure();
  for (const std::uint32_t slot : group.unread) values[slot] = {};  // what nothing reads
}

}  // namespace tapedeck::graph
