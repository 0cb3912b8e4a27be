#include "engine/debug/explain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/debug/describe.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_leaves = 8, most_external_reads = 3;
constexpr int most_external_reads_seen = 500;  // a loop may print a value in each round

/// A step of the way: the record of this number; or, behind the newest record then, an assignment to a
/// variable.
struct Step {
  std::uint32_t record = 0;
  std::uint64_t leaf = 0;  ///< of an assignment: the variable's value; else 0
  auto operator<=>(const Step&) const = default;
};

/// The graph of what tensors were made of, as far as it was followed backwards.
class Graph {
 public:
  /// `lifts`: a function with a custom gradient is one step; else its ops are.
  Graph(const Recorder& recorder, std::set<std::uint64_t> sources, bool lifts)
      : recorder_(recorder), sources_(std::move(sources)), lifts_(lifts) {}

  /// Follows a tensor back to the sources and to leaves.
  void collect(std::uint64_t result) {
    std::set<Step> met;
    std::vector<std::uint64_t> waiting{result};
    while (!waiting.empty()) {
      const std::uint64_t tensor = waiting.back();
      waiting.pop_back();
      if (is_source(tensor) || tensor == 0 || !seen_.insert(tensor).second) continue;
      const std::optional<Step> step = step_of(tensor);
      if (!step) {
        leaves_.insert(tensor);
        continue;
      }
      makers_[tensor] = *step;
      made_[*step].push_back(tensor);
      const auto [entry, fresh] = inputs_.try_emplace(*step);
      if (!fresh) continue;
      met.insert(*step);
      entry->second = inputs_of(*step);
      for (const std::uint64_t input : entry->second) users_.try_emplace(input, *step);
      waiting.insert(waiting.end(), entry->second.begin(), entry->second.end());
    }
    mark(met);
  }

  bool is_source(std::uint64_t tensor) const { return sources_.contains(tensor); }
  bool depends(std::uint64_t tensor) const {
    const auto maker = makers_.find(tensor);
    return is_source(tensor) || (maker != makers_.end() && leading_.contains(maker->second));
  }
  /// The steps that depend on a source, in order.
  const std::set<Step>& leading() const { return leading_; }
  const TensorIds& inputs(const Step& step) const { return inputs_.at(step); }
  const std::vector<std::uint64_t>& made(const Step& step) const { return made_.at(step); }
  const std::set<std::uint64_t>& leaves() const { return leaves_; }
  std::optional<Step> maker(std::uint64_t tensor) const {
    const auto found = makers_.find(tensor);
    return found == makers_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Step> first_user(std::uint64_t tensor) const {
    const auto found = users_.find(tensor);
    return found == users_.end() ? std::nullopt : std::optional(found->second);
  }

  const RecordView* read(std::uint32_t number) {
    const auto [found, fresh] = views_.try_emplace(number);
    if (fresh && !recorder_.trace().read(number, found->second)) {
      views_.erase(found);
      return nullptr;
    }
    return &found->second;
  }

  /// The outermost function with a custom gradient, on a tape, that the record's op ran inside of; 0: none.
  std::uint32_t custom_around(std::uint32_t number) {
    std::uint32_t outermost = 0;
    for (std::uint32_t at = number; const RecordView* view = read(at); at = view->head.parent) {
      if (view->head.kind == EventKind::custom && view->head.tape != 0) outermost = at;
      if (view->head.parent == 0) break;
    }
    return outermost;
  }

 private:
  /// What made a tensor: its op; or the function with a custom gradient that the op ran inside of, whose own
  /// ops say nothing about gradients.
  std::optional<Step> step_of(std::uint64_t tensor) {
    if (const auto assignment = recorder_.data_flow().assignment_of(tensor))
      return Step{assignment->after, assignment->leaf};
    const std::uint32_t number = recorder_.trace().tensors().get(tensor).producer();
    if (number == 0 || !read(number)) return std::nullopt;
    const std::uint32_t custom = lifts_ ? custom_around(number) : 0;
    return Step{custom ? custom : number, 0};
  }

  TensorIds inputs_of(const Step& step) {
    if (step.leaf) return {recorder_.data_flow().assignment_of(step.leaf)->value};
    return read(step.record)->inputs;
  }

  /// Steps are numbered in the order in which they began, so inputs are marked before what they are used by;
  /// a custom gradient counts from where it began. What was met before has its mark.
  void mark(const std::set<Step>& met) {
    for (const Step& step : met)
      for (const std::uint64_t input : inputs_.at(step))
        if (depends(input)) leading_.insert(step);
  }

  const Recorder& recorder_;
  const std::set<std::uint64_t> sources_;
  const bool lifts_;
  std::map<std::uint32_t, RecordView> views_;
  std::map<std::uint64_t, Step> makers_, users_;     ///< tensor → step
  std::map<Step, std::vector<std::uint64_t>> made_;  ///< step → its tensors
  std::map<Step, TensorIds> inputs_;
  std::set<Step> leading_;
  std::set<std::uint64_t> seen_, leaves_;
};

class Explainer {
 public:
  Explainer(const Recorder& recorder, std::set<std::uint64_t> sources)
      : recorder_(recorder), sources_(std::move(sources)), graph_(recorder, sources_, true) {}

  NoGradient explain(std::uint64_t result) {
    graph_.collect(result);
    NoGradient answer;
    answer.depends = graph_.depends(result);
    if (answer.depends)
      walk(result, answer);
    else if (!find_capture(result, answer)) {
      name_leaves(answer);
      name_external_reads(answer);
    }
    return answer;
  }

 private:
  using Reason = BrokenStep::Reason;

  /// From the sources along steps that pass gradients on, to the first of each path that does not: what comes
  /// after it is on no tape because of it.
  void walk(std::uint64_t result, NoGradient& answer) {
    std::set<std::uint64_t> alive = sources_;
    for (const Step& step : graph_.leading()) {
      const TensorIds& inputs = graph_.inputs(step);
      if (std::none_of(inputs.begin(), inputs.end(), [&](std::uint64_t id) { return alive.contains(id); }))
        continue;
      const auto reason = why_broken(step, alive);
      if (reason && !(*reason == Reason::not_taped && is_work_of_assignment(step))) {
        answer.broken.push_back(broken(step, *reason));
        continue;
      }
      alive.insert(graph_.made(step).begin(), graph_.made(step).end());
    }
    answer.connected = alive.contains(result);
  }

  /// Whether an assignment (assign_add) ran this op itself, off every tape: then the path ends at the
  /// assignment.
  bool is_work_of_assignment(const Step& step) {
    const std::uint32_t location = graph_.read(step.record)->head.location;
    for (const Step& other : graph_.leading()) {
      const auto assignment =
          other.leaf ? recorder_.data_flow().assignment_of(other.leaf) : std::optional<Assignment>();
      if (!assignment || assignment->location != location) continue;
      for (const std::uint64_t made : graph_.made(step))
        if (made > assignment->since && made <= assignment->value) return true;
    }
    return false;
  }

  BrokenStep broken(const Step& step, Reason reason) {
    if (!step.leaf) {
      const RecordView& view = *graph_.read(step.record);
      return {reason, step.record, view.name(), location_of(view.head.location)};
    }
    const std::string name = tensor_info(recorder_, step.leaf, false).name;
    return {reason, 0, name, location_of(recorder_.data_flow().assignment_of(step.leaf)->location)};
  }

  std::optional<Reason> why_broken(const Step& step, const std::set<std::uint64_t>& alive) {
    if (step.leaf) return Reason::assigned;
    const RecordHead& head = graph_.read(step.record)->head;
    if (head.op && head.op->stops_gradient) return Reason::stopped;
    if (head.op && !head.op->vjp) return Reason::no_gradient;
    for (const std::uint64_t tensor : graph_.made(step))
      if (!is_floating_result(tensor)) return Reason::integer;
    if (head.tape == 0) return Reason::not_taped;
    if (head.kind == EventKind::custom && gave_none(step.record, alive)) return Reason::none_given;
    return std::nullopt;
  }

  bool is_floating_result(std::uint64_t tensor) const {
    return tensor_info(recorder_, tensor, false).dtype.find("float") != std::string::npos;
  }

  /// Whether the function's VJP ran, and gave nothing for any of the inputs that matter.
  bool gave_none(std::uint32_t custom, const std::set<std::uint64_t>& alive) {
    const TensorIds inputs = graph_.read(custom)->inputs;
    const auto [first, last] = custom_vjps().equal_range(custom);
    for (auto vjp = first; vjp != last; ++vjp)
      for (std::size_t i = 0; i < std::min(inputs.size(), vjp->second.size()); ++i)
        if (alive.contains(inputs[i]) && vjp->second[i] != 0) return false;
    return first != last;
  }

  /// What the users' VJPs gave, by the record of the function; all records are read once.
  const std::multimap<std::uint64_t, TensorIds>& custom_vjps() {
    if (!vjps_) {
      vjps_.emplace();
      RecordView view;
      for (std::uint32_t number = 1; number <= recorder_.trace().newest(); ++number)
        if (recorder_.trace().read(number, view) && view.head.kind == EventKind::vjp && !view.head.op &&
            view.state == RecordState::done)
          vjps_->emplace(view.head.forward, view.outputs);
    }
    return *vjps_;
  }

  /// Whether a function with a custom gradient used a source, or what was made of it, behind its arguments'
  /// back.
  bool find_capture(std::uint64_t result, NoGradient& answer) {
    Graph inside(recorder_, sources_, false);
    inside.collect(result);
    if (!inside.depends(result)) return false;
    for (const Step& step : inside.leading())
      if (const std::uint32_t custom = step.leaf ? 0 : inside.custom_around(step.record)) {
        const RecordView& view = *inside.read(custom);
        answer.depends = true;
        answer.broken.push_back({Reason::captured, custom, view.name(), location_of(view.head.location)});
        return true;
      }
    return false;
  }

  void name_leaves(NoGradient& answer) {
    for (const std::uint64_t id : graph_.leaves()) {
      if (answer.leaves.size() == most_leaves) break;
      const protocol::TensorInfo info = tensor_info(recorder_, id, true);
      Leaf leaf{info.name.empty() ? "a constant" : info.name, {}, 0, {}};
      if (!info.preview.empty()) leaf.text += " " + info.preview;
      if (const auto user = graph_.first_user(id); user && !user->leaf) {
        const RecordView& view = *graph_.read(user->record);
        leaf.op = view.name();
        leaf.record = user->record;
        leaf.location = location_of(view.head.location);
      }
      answer.leaves.push_back(std::move(leaf));
    }
  }

  /// Values made of a source that Python read before a leaf of the result came to be.
  void name_external_reads(NoGradient& answer) {
    if (graph_.leaves().empty()) return;
    const std::uint64_t last_leaf = *graph_.leaves().rbegin();
    std::set<std::uint32_t> lines;
    int seen = 0;
    for (const ExternalRead& external_read : recorder_.data_flow().external_reads()) {
      if (answer.left.size() == most_external_reads) break;
      if (external_read.newest >= last_leaf) continue;
      const TensorOrigin origin = recorder_.trace().tensors().get(external_read.tensor);
      if (origin.known() && spec_of(origin.spec()).dtype == DType::bool_)
        continue;  // a decision passes no gradient on
      if (++seen > most_external_reads_seen) break;
      graph_.collect(external_read.tensor);
      if (!graph_.depends(external_read.tensor) || !lines.insert(external_read.location).second) continue;
      LeftTape left{{}, 0, location_of(external_read.location)};
      if (const auto step = graph_.maker(external_read.tensor); step && !step->leaf) {
        left.op = graph_.read(step->record)->name();
        left.record = step->record;
      }
      answer.left.push_back(std::move(left));
    }
  }

  const Recorder& recorder_;
  const std::set<std::uint64_t> sources_;
  Graph graph_;
  std::optional<std::multimap<std::uint64_t, TensorIds>> vjps_;  ///< see custom_vjps
};

}  // namespace

NoGradient explain_no_gradient(const Recorder& recorder, std::uint64_t result, Source source) {
  std::set<std::uint64_t> sources = recorder.data_flow().values_of(source.variable);
  sources.insert(source.tensor);
  if (!sources.contains(result) && !recorder.trace().tensors().get(result).known())
    throw ValueError(
        "gone", "The result was computed before the recording began, so the ops that made it are not known.");
  return Explainer(recorder, std::move(sources)).explain(result);
}

}  // namespace tapedeck::debug
