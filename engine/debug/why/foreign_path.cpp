#include "engine/debug/why/foreign_path.h"

#include <algorithm>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_gradient.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t glanced_inside = 4096;
constexpr std::size_t most_ancestors = 500'000, most_breaks_told = 20, most_leaves_told = 8;

/// "detach" of "aten.detach_" and "aten.detach.default".
bool is_called(const OpDef& op, std::string_view base) {
  std::string_view name = op.name;
  if (!name.starts_with("aten.")) return false;
  name.remove_prefix(5);
  name = name.substr(0, name.find_first_of(".#"));
  return name == base || (name.ends_with('_') && name.substr(0, name.size() - 1) == base);
}

bool has_derivative(const RecordedSpec& spec) {
  return is_floating(spec.dtype) || is_complex(spec.dtype);
}

/// The newest tensor when the playback began.
std::uint64_t newest_of(const RecordView& playback) {
  std::uint64_t newest = 0;
  for (const std::uint64_t target : playback.inputs) newest = std::max(newest, target);
  return newest == 0 ? UINT64_MAX : newest + 1;
}

std::string place_of_reason(const protocol::Reason& reason) {
  std::string text = reason.op;
  if (reason.record) text += " (op " + std::to_string(*reason.record);
  if (reason.line) text += (reason.record ? ", line " : " (line ") + std::to_string(reason.line);
  return text + (reason.record || reason.line ? ")" : "");
}

}  // namespace

bool is_arrival(const OpDef& op) {
  return is_foreign(op) && op.name == "autograd.AccumulateGrad";
}

std::vector<std::uint32_t> records_inside(Past& past, const RecordView& outer) {
  const Trace& trace = past.recorder().trace();
  const std::uint32_t newest = trace.newest();
  std::vector<std::uint32_t> numbers;
  bool beyond = false;
  for (std::uint32_t first = outer.number + 1; first <= newest && !beyond; first += glanced_inside) {
    check_cancelled(past.cancel());
    trace.glance(first, std::min(newest, first + glanced_inside - 1), [&](const RecordGlance& glance) {
      if (glance.head.thread != outer.head.thread) return;
      beyond = beyond || glance.head.depth <= outer.head.depth;
      if (!beyond && glance.state == RecordState::done) numbers.push_back(glance.number);
    });
  }
  return numbers;
}

std::string pass_text(const Past& past, const RecordView& playback) {
  const std::string name = past.name(playback);
  return "the backward pass " + name.substr(name.find('('));
}

ForeignPath::ForeignPath(Past& past, const RecordView& playback, std::set<std::uint64_t> values)
    : past_(past), playback_(playback), values_(std::move(values)), memory_(past) {
  collect_vjps();
  collect_ancestors();
  walk();
}

const RecordView* ForeignPath::vjp_of(std::uint32_t forward) const {
  const auto found = vjps_.find(forward);
  return found == vjps_.end() ? nullptr : found->second;
}

/// Where the op ran inside of forward() of a Function of the program: what ran of its backward().
const RecordView* ForeignPath::vjp_of_function_around(const RecordView& record) const {
  for (const RecordView* at = &record; at; at = past_.record(at->head.parent))
    if (const RecordView* vjp = at->head.kind == EventKind::custom ? vjp_of(at->number) : nullptr) return vjp;
  return nullptr;
}

void ForeignPath::collect_vjps() {
  for (const std::uint32_t number : records_inside(past_, playback_)) {
    const RecordView* record = past_.record(number);
    if (record && record->head.kind == EventKind::vjp && record->head.forward)
      vjps_.emplace(record->head.forward, record);
  }
}

void ForeignPath::collect_ancestors() {
  std::vector<std::uint64_t> waiting(playback_.inputs.begin(), playback_.inputs.end());
  std::set<std::uint64_t> seen;
  while (!waiting.empty()) {
    const std::uint64_t id = waiting.back();
    waiting.pop_back();
    if (id == 0 || !seen.insert(id).second) continue;
    if (ancestors_.size() >= most_ancestors) {
      too_many_ = true;
      return;
    }
    const RecordView* maker = past_.maker(id);
    if (maker && maker->head.kind == EventKind::op) {
      past_.step(ancestors_.size());
      if (ancestors_.insert(maker->number).second)
        waiting.insert(waiting.end(), maker->inputs.begin(), maker->inputs.end());
      continue;
    }
    const std::vector<ElementSource> sources = memory_.sources(id);
    if (sources.empty()) {
      leaves_.insert(id);
      continue;
    }
    std::vector<std::uint64_t>& made_of = rewritten_[id];
    for (const ElementSource& source : sources) made_of.push_back(source.tensor);
    waiting.insert(waiting.end(), made_of.begin(), made_of.end());
  }
}

bool ForeignPath::is_alive(std::uint64_t tensor) {
  if (alive_.contains(tensor) || values_.contains(tensor)) return true;
  const auto written = rewritten_.find(tensor);
  if (written == rewritten_.end()) return false;
  for (const std::uint64_t before : written->second) {
    if (before < tensor && is_alive(before)) {
      alive_.insert(tensor);
      return true;
    }
  }
  return false;
}

void ForeignPath::walk() {
  for (const std::uint32_t number : ancestors_) {
    const RecordView& record = *past_.record(number);
    past_.step(number, playback_.number);
    std::vector<std::size_t> inputs;  // places of those that lead on
    for (std::size_t i = 0; i < record.inputs.size(); ++i)
      if (record.inputs[i] && is_alive(record.inputs[i])) inputs.push_back(i);
    if (inputs.empty()) continue;
    const bool made_it =
        std::ranges::any_of(record.outputs, [&](auto id) { return id && values_.contains(id); });
    if (made_it) continue;  // its initial value, as uniform_() writes it
    if (auto why = why_broken(record, inputs))
      breaks_.push_back({&record, std::move(*why)});
    else
      for (const std::uint64_t output : record.outputs)
        if (output && has_derivative(spec_of(past_.recorder().trace().tensors().get(output).spec())))
          alive_.insert(output);
  }
  for (const std::uint64_t target : playback_.inputs) {
    if (target == 0) continue;
    connected_ = is_alive(target) || connected_;
  }
}

/// Why none of these inputs gets a gradient through the op; nothing where it passes them on.
std::optional<std::string> ForeignPath::why_broken(const RecordView& record,
                                                   const std::vector<std::size_t>& inputs) {
  const ForeignOp* op = foreign_op_of(record);
  if (!op) return "it is no op of PyTorch, whose graph ends there";
  if (const RecordView* vjp = vjp_of_function_around(record)) {
    if (std::any_of(vjp->outputs.begin(), vjp->outputs.end(), [](std::uint64_t id) { return id != 0; }))
      return std::nullopt;
    return "the backward() of " + vjp->name().substr(9) + " gave None";
  }
  const RecordView* vjp = vjp_of(record.number);
  if (record.head.backward && record.head.tape == 0)
    return "it ran in a backward pass without create_graph=True, which makes no graph of its gradients";
  const std::int64_t facts = foreign_facts(*op->row, record.head.attributes);
  if (facts & ForeignFacts::gradients_off) {
    const bool inside = std::any_of(inputs.begin(), inputs.end(),
                                    [&](std::size_t i) { return in_function_.contains(record.inputs[i]); });
    if (inside) {  // forward() of a Function runs so; its backward() is what counts
      in_function_.insert(record.outputs.begin(), record.outputs.end());
      return std::nullopt;
    }
    return facts & ForeignFacts::inference ? std::string("it ran under torch.inference_mode()")
                                           : std::string(
                                                 "gradients were off when it ran: it is in a torch.no_grad() "
                                                 "block, or in the forward() of "
                                                 "an autograd.Function that the gradient did not come to");
  }
  if (op->reads_shapes_alone && !op->writes)
    return "it reads the shape of what it is given, and none of its values";
  if (is_called(*op->row, "detach"))
    return "detach() or .data cuts the graph: what comes after it is a constant";
  const bool differentiable =
      std::any_of(record.outputs.begin(), record.outputs.end(), [&](std::uint64_t id) {
        return id && has_derivative(spec_of(past_.recorder().trace().tensors().get(id).spec()));
      });
  if (!differentiable) return "its result is not a floating-point tensor, and integers have no gradient";
  if (auto why = why_not_required(record, inputs)) return why;
  const bool asked_for_all = gives_to_leaves(past_, playback_);
  if (vjp && asked_for_all && !op->writes && std::all_of(inputs.begin(), inputs.end(), [&](std::size_t i) {
        return i < vjp->outputs.size() && vjp->outputs[i] == 0;
      }))
    return "its VJP ran, and gave none for " +
           arguments_of(*op, record.head.attributes, record.inputs.size()).at(inputs.front())->name;
  return std::nullopt;
}

std::optional<std::string> ForeignPath::why_not_required(const RecordView& record,
                                                         const std::vector<std::size_t>& inputs) const {
  const std::int64_t required =
      foreign_facts(*record.head.op, record.head.attributes) & ForeignFacts::all_requiring;
  const bool none = record.head.tape == 0 ||
                    (required != 0 && std::all_of(inputs.begin(), inputs.end(), [&](std::size_t i) {
                       const std::int64_t bit = ForeignFacts::requires_gradient(i);
                       return bit != 0 && (required & bit) == 0;
                     }));
  if (!none) return std::nullopt;
  const bool itself = std::any_of(inputs.begin(), inputs.end(),
                                  [&](std::size_t i) { return values_.contains(record.inputs[i]); });
  return itself
             ? "it did not require a gradient when this op read it: requires_grad was False then, or it was "
               "read through .data"
             : "what it read did not require a gradient there: through .data, or because requires_grad was "
               "set to False";
}

protocol::Because ForeignPath::explain(const std::string& text) {
  protocol::Because answer;
  answer.question = protocol::Question::gradient;
  answer.sentence = "In " + pass_text(past_, playback_) + " no gradient came to " + text + ".";
  if (too_many_) {
    answer.complete = false;
    answer.sentence += " Only " + counted(most_ancestors, "op") + " before it were looked at.";
  }
  if (connected_) {
    explain_unbroken(text, answer);
  } else if (!breaks_.empty()) {
    for (const Break& broken : breaks_) {
      if (answer.reasons.size() == most_breaks_told) break;
      protocol::Reason reason =
          past_.reason(*broken.record, "stopped", "The path ends here: " + broken.why + ".");
      if (!broken.record->outputs.empty())
        reason.tensor = protocol::if_there(past_.info(broken.record->outputs[0]));
      answer.reasons.push_back(std::move(reason));
    }
    answer.sentence += " The path from it to the result ends at " + past_.name(*breaks_.front().record) +
                       ": " + breaks_.front().why + ".";
    if (breaks_.size() > 1)
      answer.sentence += " " + counted(breaks_.size() - 1, "other path") +
                         (breaks_.size() == 2 ? " ends" : " end") + " elsewhere.";
  } else if (!is_made_by_records() && std::ranges::none_of(leaves_, [&](std::uint64_t leaf) {
               return past_.assignment(leaf).has_value();
             })) {
    answer.complete = false;
    answer.sentence +=
        " No recorded op made the result: its forward pass is not in the record, because recording began "
        "after it. "
        "Where the path ends is not known.";
  } else if (!explain_new_leaf(answer)) {
    explain_independent(answer);
  }
  answer.reasons.push_back(past_.reason(playback_, "asked here", "This backward pass was looked at."));
  return answer;
}

void ForeignPath::explain_unbroken(const std::string& text, protocol::Because& answer) const {
  // One of its users' VJPs may have given a gradient for it: it arrived, but no record says where.
  for (const auto& [forward, vjp] : vjps_) {
    const RecordView* record = past_.record(forward);
    if (!record) continue;
    for (std::size_t i = 0; i < std::min(record->inputs.size(), vjp->outputs.size()); ++i)
      if (values_.contains(record->inputs[i]) && vjp->outputs[i]) {
        answer.sentence =
            past_.name(*vjp) + " gave a gradient for " + text +
            ". It is kept in grad for leaves that require one, and where retain_grad() was called; "
            "no record says that it arrived there.";
        answer.reasons.push_back(past_.reason(*vjp, "VJP", "It gave a gradient for the tensor."));
        answer.reasons.back().tensor = protocol::if_there(past_.info(vjp->outputs[i]));
        answer.complete = false;
        return;
      }
  }
  answer.complete = false;
  const bool asked = !gives_to_leaves(past_, playback_);
  answer.sentence +=
      asked ? " The result depends on it by ops that pass gradients on, but this backward pass was asked "
              "for gradients of other tensors alone (torch.autograd.grad, or inputs=)."
            : " The records show no break in the path from it to the result. Why none came is not "
              "known: hooks that change gradients, and ops that are not recorded, are not seen.";
}

/// Whether it was made of the tensor that is asked about.
bool ForeignPath::depends(std::uint64_t tensor) {
  std::vector<std::uint64_t> waiting{tensor};
  std::set<std::uint64_t> seen;
  while (!waiting.empty() && seen.size() < most_ancestors) {
    const std::uint64_t id = waiting.back();
    waiting.pop_back();
    if (values_.contains(id)) return true;
    if (id == 0 || !seen.insert(id).second) continue;
    past_.step(seen.size());
    if (const RecordView* maker = past_.maker(id))
      waiting.insert(waiting.end(), maker->inputs.begin(), maker->inputs.end());
    else
      for (const ElementSource& source : memory_.sources(id)) waiting.push_back(source.tensor);
  }
  return false;
}

/// Of a leaf whose value is a result of the tensor's: detach().requires_grad_(), nn.Parameter(result).
bool ForeignPath::explain_new_leaf(protocol::Because& answer) {
  bool found = false;
  for (const std::uint64_t leaf : leaves_) {
    const auto assignment = past_.assignment(leaf);
    const RecordView* maker = assignment ? past_.maker(assignment->value) : nullptr;
    const ForeignOp* op = maker ? foreign_op_of(*maker) : nullptr;
    // What writes a variable in place, as optimisers do, makes no leaf of a result.
    if (!op || op->writes || !depends(assignment->value)) continue;
    const std::string text = tensor_text(past_.recorder(), leaf);
    protocol::Reason reason =
        past_.reason(*maker, "stopped",
                     "The path ends here: a leaf was made of its result, and no gradient goes "
                     "back from a leaf.");
    reason.tensor = protocol::if_there(past_.info(leaf));
    answer.reasons.push_back(std::move(reason));
    if (!found)
      answer.sentence += " The path from it to the result ends at " + text +
                         ", which is a leaf: it has the value of " + past_.name(*maker) +
                         ", but not its graph, as detach().requires_grad_(), nn.Parameter(…) and "
                         "torch.tensor(…, requires_grad=True) make one.";
    found = true;
  }
  return found;
}

void ForeignPath::explain_independent(protocol::Because& answer) {
  // What was made of it before the playback, and the last time that Python read a number of that.
  std::set<std::uint64_t> derived = values_;
  std::uint32_t read = 0, users = 0;
  const Trace& trace = past_.recorder().trace();
  for (std::uint32_t first = std::max(1u, trace.oldest_kept()); first < playback_.number;
       first += glanced_inside) {
    check_cancelled(past_.cancel());
    trace.glance(first, std::min(playback_.number - 1, first + glanced_inside - 1),
                 [&](const RecordGlance& glance) {
                   if (std::none_of(glance.inputs.begin(), glance.inputs.end(),
                                    [&](auto id) { return derived.contains(id); }))
                     return;
                   ++users;
                   derived.insert(glance.outputs.begin(), glance.outputs.end());
                   derived.erase(0);
                   if (glance.head.op && is_called(*glance.head.op, "_local_scalar_dense"))
                     read = glance.number;
                 });
  }
  answer.sentence += " The result does not depend on it by any recorded op";
  answer.sentence += users == 0 ? ": no recorded op read it before." : ".";
  const ExternalRead* other = nullptr;  // as a list or an array: no op did
  const std::vector<ExternalRead> reads = past_.recorder().data_flow().external_reads();
  for (const ExternalRead& one : reads)
    if (!other && !read && derived.contains(one.tensor) && one.newest < newest_of(playback_)) other = &one;
  if (other) {
    RecordView none;
    none.head.location = other->location;
    protocol::Reason reason =
        past_.reason(none, "left the graph", "Python or NumPy read it here: what comes back is a constant.");
    reason.record = {};
    reason.op = "Python";
    reason.tensor = protocol::if_there(past_.info(other->tensor));
    answer.sentence += " Python or NumPy read it" +
                       (reason.line ? " on line " + std::to_string(reason.line) : std::string()) +
                       ": what comes back from there is a constant.";
    answer.reasons.push_back(std::move(reason));
  }
  if (const RecordView* record = past_.record(read)) {
    answer.reasons.push_back(
        past_.reason(*record, "left the graph", "Python read a number here: what comes back is a constant."));
    answer.sentence += " Python read a number of it at " + place_of_reason(answer.reasons.back()) +
                       ": what comes back from there is a constant.";
  }
  for (const std::uint64_t leaf : leaves_) {
    if (answer.reasons.size() == most_leaves_told) break;
    if (!has_derivative(spec_of(past_.recorder().trace().tensors().get(leaf).spec()))) continue;
    protocol::Reason reason;
    reason.role = "made of";
    reason.op = past_.info(leaf).name;
    if (reason.op.empty()) reason.op = "a constant";
    reason.sentence = "The result was made of " + tensor_text(past_.recorder(), leaf) + ".";
    reason.tensor = protocol::if_there(past_.info(leaf));
    answer.reasons.push_back(std::move(reason));
  }
}

}  // namespace tapedeck::debug
