#include "engine/debug/explain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/debug/describe.h"
#include "engine/record/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_leaves = 8;

class Explainer {
 public:
  Explainer(const Recorder& recorder, std::uint64_t source) : recorder_(recorder), source_(source) {}

  NoGradient explain(std::uint64_t result) {
    collect(result);
    mark();
    NoGradient answer;
    answer.depends = result == source_ || leads_to_source(result);
    if (answer.depends)
      walk(result, answer);
    else
      name_leaves(answer);
    return answer;
  }

 private:
  /// The step that made a tensor: its op; or the function with a custom gradient that the op ran inside of,
  /// whose own ops say nothing about gradients. 0: none, a leaf.
  std::uint32_t step_of(std::uint64_t tensor) {
    std::uint32_t number = recorder_.trace().tensors().get(tensor).producer();
    if (number == 0 || !read(number)) return 0;
    for (std::uint32_t at = number; const RecordView* view = read(at); at = view->head.parent) {
      if (view->head.kind == EventKind::custom) number = at;
      if (view->head.parent == 0) break;
    }
    return number;
  }

  const RecordView* read(std::uint32_t number) {
    const auto [found, fresh] = views_.try_emplace(number);
    if (fresh && !recorder_.trace().read(number, found->second)) {
      views_.erase(found);
      return nullptr;
    }
    return &found->second;
  }

  /// All steps that the result was made by.
  void collect(std::uint64_t result) {
    std::vector<std::uint64_t> waiting{result};
    std::set<std::uint64_t> seen;
    while (!waiting.empty()) {
      const std::uint64_t tensor = waiting.back();
      waiting.pop_back();
      if (tensor == source_ || tensor == 0 || !seen.insert(tensor).second) continue;
      const std::uint32_t step = step_of(tensor);
      if (step == 0) {
        leaves_.insert(tensor);
        continue;
      }
      makers_[tensor] = step;
      made_[step].push_back(tensor);
      if (!steps_.insert(step).second) continue;
      const RecordView* view = read(step);
      waiting.insert(waiting.end(), view->inputs.begin(), view->inputs.end());
    }
  }

  /// Steps are numbered in the order in which they began, so inputs are marked before what they are used by;
  /// a custom gradient counts from where it began.
  void mark() {
    for (const std::uint32_t step : steps_)
      for (const std::uint64_t input : read(step)->inputs)
        if (input == source_ || leads_to_source(input)) leading_.insert(step);
  }

  bool leads_to_source(std::uint64_t tensor) const {
    const auto maker = makers_.find(tensor);
    return maker != makers_.end() && leading_.contains(maker->second);
  }

  /// From the source along steps that pass gradients on, to the first of each path that does not: what comes
  /// after it is on no tape because of it.
  void walk(std::uint64_t result, NoGradient& answer) {
    std::set<std::uint64_t> alive{source_};
    for (const std::uint32_t step : leading_) {
      const RecordView& view = *read(step);
      const bool reached = std::any_of(view.inputs.begin(), view.inputs.end(),
                                       [&](std::uint64_t input) { return alive.contains(input); });
      if (!reached) continue;
      if (const auto reason = why_broken(step)) {
        answer.broken.push_back({*reason, step, view.name(), location_of(view.head.location)});
        continue;
      }
      alive.insert(made_[step].begin(), made_[step].end());
    }
    answer.connected = alive.contains(result);
  }

  std::optional<BrokenStep::Reason> why_broken(std::uint32_t step) {
    using Reason = BrokenStep::Reason;
    const RecordHead& head = read(step)->head;
    if (head.op && head.op->name == "stop_gradient") return Reason::stopped;
    if (head.op && !head.op->vjp) return Reason::no_gradient;
    for (const std::uint64_t tensor : made_[step])
      if (!is_floating_result(tensor)) return Reason::integer;
    if (head.tape == 0) return Reason::not_taped;
    return std::nullopt;
  }

  bool is_floating_result(std::uint64_t tensor) const {
    const std::string dtype = tensor_info(recorder_, tensor, false).dtype;
    return dtype.find("float") != std::string::npos;
  }

  void name_leaves(NoGradient& answer) {
    for (const std::uint64_t leaf : leaves_) {
      if (answer.leaves.size() == most_leaves) break;
      const protocol::TensorInfo info = tensor_info(recorder_, leaf, true);
      std::string text = info.name.empty() ? "a constant" : info.name;
      if (!info.preview.empty()) text += " " + info.preview;
      answer.leaves.push_back(std::move(text));
    }
  }

  const Recorder& recorder_;
  const std::uint64_t source_;
  std::map<std::uint32_t, RecordView> views_;
  std::map<std::uint64_t, std::uint32_t> makers_;             ///< tensor → step
  std::map<std::uint32_t, std::vector<std::uint64_t>> made_;  ///< step → its tensors
  std::set<std::uint32_t> steps_, leading_;
  std::set<std::uint64_t> leaves_;
};

}  // namespace

NoGradient explain_no_gradient(const Recorder& recorder, std::uint64_t result, std::uint64_t source) {
  if (result != source && !recorder.trace().tensors().get(result).known())
    throw ValueError("The result was made before the recording began, so nothing is known of how.", "gone");
  return Explainer(recorder, source).explain(result);
}

}  // namespace tapedeck::debug
