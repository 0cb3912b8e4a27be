#include "engine/debug/health/step_reader.h"

#include <algorithm>
#include <array>

#include "engine/ops/core/foreign.h"
#include "engine/record/health/health_batch.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t most_step_records = 20000, most_records_behind = 4000;

/// They move numbers to other places, or to another dtype.
constexpr std::array<std::string_view, 8> moving_ops = {
    "reshape", "squeeze", "expand_dims", "cast", "identity", "transpose", "stop_gradient", "ensure_shape"};
constexpr std::array<std::string_view, 6> axis_making_ops = {"reshape", "expand_dims",   "transpose",
                                                             "squeeze", "strided_slice", "broadcast_to"};
/// What they get belongs to a layer, not to a loss: scores of attention, say.
constexpr std::array<std::string_view, 5> mixing_ops = {"matmul", "softmax", "conv2d", "einsum", "tensordot"};
constexpr std::array<std::string_view, 7> broadcasting_ops = {
    "add", "subtract", "multiply", "divide", "squared_difference", "maximum", "minimum"};

template <std::size_t n>
bool is_one_of(const StepOp& op, const std::array<std::string_view, n>& names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return computes(op, name); });
}

}  // namespace

bool is_named(const StepOp& op, std::string_view name) {
  return op.kind == EventKind::op && op.op && op.op->name == name;
}

bool computes(const StepOp& op, std::string_view name) {
  if (is_named(op, name)) return true;
  const ForeignOp* foreign = op.kind == EventKind::op && op.op ? foreign_of(*op.op) : nullptr;
  return foreign && foreign->counterpart && foreign->counterpart->name == name;
}

// ---- the graph

StepGraph::StepGraph(Past& past, const StepToRead& step) : past_(past) {
  const Trace& trace = past.recorder().trace();
  const std::uint32_t most = step.training ? most_step_records : most_records_behind;
  std::uint32_t last = step.last;
  if (last - step.first >= most) {
    last = step.first + most - 1;
    cut_ = true;
  }
  const auto take = [&](const RecordGlance& record) {
    const RecordHead& head = record.head;
    if (record.state != RecordState::done || head.kind == EventKind::call)
      return;  // its ops are records, too
    // Of the way back only the playbacks and what the user wrote are of interest.
    if (head.backward && head.kind != EventKind::playback && !head.custom_gradient) return;
    StepOp op;
    op.number = record.number;
    op.op = head.op;
    op.kind = head.kind;
    op.custom = head.custom_gradient;
    op.backward = head.backward;
    op.tape = head.tape;
    op.parent = head.parent;
    op.forward = head.forward;
    op.scope = head.scope;
    op.location = head.location;
    op.inputs.assign(record.inputs.begin(), record.inputs.end());
    op.outputs.assign(record.outputs.begin(), record.outputs.end());
    ops_.push_back(std::move(op));
  };
  constexpr std::uint32_t records_at_once = 4096;
  for (std::uint32_t next = step.first; next <= last;) {
    check_cancelled(past.cancel());
    const std::uint32_t after = trace.glance(next, std::min(last, next + records_at_once - 1), take);
    if (after <= next) break;
    next = after;
  }
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const StepOp& op = ops_[i];
    if (op.backward) continue;
    // Of a function with a custom gradient the ops inside of it made the results, too: it comes first.
    for (const std::uint64_t output : op.outputs)
      if (output != 0) makers_[output] = i;
    if (op.tape != 0 && first_on_tape_ == 0) first_on_tape_ = op.number;
  }
  find_dependents();
  find_targets();
}

void StepGraph::find_dependents() {
  for (const StepOp& op : ops_) {
    if (op.kind != EventKind::playback) continue;
    for (const std::uint64_t source : past_.recorder().data_flow().sources_of(op.number))
      sources_.insert(source);
  }
  depends_ = sources_;
  for (const StepOp& op : ops_) {
    if (op.backward || is_named(op, "stop_gradient")) continue;
    if (!std::ranges::any_of(op.inputs, [&](std::uint64_t input) { return depends_.contains(input); }))
      continue;
    depends_.insert(op.outputs.begin(), op.outputs.end());
  }
  depends_.erase(0);
}

void StepGraph::find_targets() {
  for (const StepOp& op : ops_)
    if (op.kind == EventKind::playback) targets_.insert(op.inputs.begin(), op.inputs.end());
  for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
    if (op->backward) continue;
    const auto holds = [&](const std::unordered_set<std::uint64_t>& set) {
      return std::ranges::any_of(op->outputs, [&](std::uint64_t output) { return set.contains(output); });
    };
    if (!holds(targets_)) continue;
    targets_.insert(op->inputs.begin(), op->inputs.end());
    const bool weight = std::ranges::any_of(
        op->inputs, [&](std::uint64_t input) { return is_source(input) && count(input) > 1; });
    if (weight || is_one_of(*op, mixing_ops) || holds(meets_weight_))
      meets_weight_.insert(op->inputs.begin(), op->inputs.end());
  }
}

const StepOp* StepGraph::maker(std::uint64_t tensor) const {
  const auto found = makers_.find(tensor);
  return found == makers_.end() ? nullptr : &ops_[found->second];
}

const StepOp* StepGraph::maker_of_numbers(std::uint64_t tensor) const {
  const StepOp* op = maker(tensor);
  while (op && !op->inputs.empty() && is_one_of(*op, moving_ops)) op = maker(op->inputs[0]);
  return op;
}

bool StepGraph::leads_to_target(const StepOp& op) const {
  return std::ranges::any_of(op.outputs, [&](std::uint64_t output) { return targets_.contains(output); });
}

bool StepGraph::is_behind_weights(const StepOp& op) const {
  return leads_to_target(op) && std::ranges::none_of(op.outputs, [&](std::uint64_t output) {
           return meets_weight_.contains(output);
         });
}

bool StepGraph::reaches_a_tape(const StepOp& from) const {
  std::unordered_set<std::uint64_t> made(from.outputs.begin(), from.outputs.end());
  for (const StepOp& op : ops_) {
    if (op.number <= from.number) continue;
    if (!std::ranges::any_of(op.inputs, [&](std::uint64_t input) { return made.contains(input); })) continue;
    if (op.tape != 0) return true;
    made.insert(op.outputs.begin(), op.outputs.end());
  }
  return false;
}

std::vector<std::int64_t> StepGraph::shape(std::uint64_t tensor) const {
  const TensorOrigin origin = past_.recorder().trace().tensors().get(tensor);
  if (origin.spec() == 0) return {};
  const Shape shape = spec_of(origin.spec()).shape;
  return {shape.begin(), shape.end()};
}

double StepGraph::count(std::uint64_t tensor) const {
  double count = 1;
  for (const std::int64_t extent : shape(tensor)) count *= static_cast<double>(extent);
  return count;
}

bool StepGraph::is_floating_point(std::uint64_t tensor) const {
  const TensorOrigin origin = past_.recorder().trace().tensors().get(tensor);
  return origin.spec() != 0 && is_floating(spec_of(origin.spec()).dtype);
}

FactPlace StepGraph::place(const StepOp& op) const {
  FactPlace place;
  place.record = op.number;
  place.location = op.location;
  place.line = location_of(op.location).line;
  place.op = op.op ? op.op->name : std::string();
  return place;
}

// ---- facts that need no values

namespace {

/// The input that the op applies a softmax or sigmoid to; 0: it applies none.
std::uint64_t squashed_input(const StepOp& op) {
  if (op.inputs.empty()) return 0;
  for (const std::string_view name :
       {"sparse_softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits",
        "sigmoid_cross_entropy_with_logits", "weighted_cross_entropy_with_logits"})
    if (is_named(op, name)) return op.inputs.size() > 1 ? op.inputs[1] : 0;
  if (torch_name(op) == "binary_cross_entropy_with_logits") return op.inputs[0];
  return computes(op, "log_softmax") || computes(op, "softmax") || computes(op, "sigmoid") ? op.inputs[0] : 0;
}

void read_squashed(const StepGraph& graph, StepFacts& facts) {
  for (const StepOp& op : graph.ops()) {
    const std::uint64_t input = op.backward ? 0 : squashed_input(op);
    if (input == 0 || !graph.leads_to_target(op)) continue;
    const StepOp* inner = graph.maker_of_numbers(input);
    if (!inner || !inner->op) continue;
    const bool softmax = computes(*inner, "softmax"), sigmoid = computes(*inner, "sigmoid");
    // A layer may have its own reasons for a sigmoid of a softmax; the same one twice has none.
    const bool twice =
        !computes(op, "softmax") && !computes(op, "sigmoid") ? softmax || sigmoid : inner->op == op.op;
    if (twice && graph.is_behind_weights(op))
      facts.squashed.push_back({graph.place(*inner), graph.place(op)});
  }
}

/// PyTorch's losses expand both to one shape first.
constexpr std::array<std::string_view, 5> losses_that_expand = {"mse_loss", "l1_loss", "smooth_l1_loss",
                                                                "huber_loss", "soft_margin_loss"};

/// (N,) beside (N, 1), which make (N, N); or (N, 1) beside (1, N) that no op made so.
bool is_forgotten_axis(const StepGraph& graph, std::uint64_t left, std::uint64_t right) {
  std::vector<std::int64_t> few = graph.shape(left), many = graph.shape(right);
  if (few.size() > many.size()) std::swap(few, many);
  if (many.size() != 2) return false;
  if (few.size() == 1) return few[0] > 1 && many[0] == few[0] && many[1] == 1;
  if (few.size() != 2) return false;  // a number
  const bool across =
      few[0] == many[1] && few[1] == many[0] && few[0] != few[1] && std::min(few[0], few[1]) == 1;
  if (!across || graph.depends(left) == graph.depends(right)) return false;
  return std::ranges::none_of(std::array{left, right}, [&](std::uint64_t input) {
    const StepOp* maker = graph.maker(input);
    if (!maker || maker->inputs.empty() || !is_one_of(*maker, axis_making_ops)) return false;
    // A column that was cut out of a matrix was made for no broadcast; labels[:, None] was.
    return !computes(*maker, "strided_slice") ||
           graph.shape(maker->inputs[0]).size() != graph.shape(input).size();
  });
}

void read_broadcasts(const StepGraph& graph, StepFacts& facts) {
  for (const StepOp& op : graph.ops()) {
    const bool expands = std::ranges::find(losses_that_expand, torch_name(op)) != losses_that_expand.end();
    if (op.backward || op.inputs.size() != 2 || op.outputs.size() != 1 ||
        !(expands || is_one_of(op, broadcasting_ops)))
      continue;
    const std::uint64_t left = before_expansion(graph, op.inputs[0]),
                        right = before_expansion(graph, op.inputs[1]);
    if (!is_forgotten_axis(graph, left, right) || !graph.depends(op.outputs[0]) ||
        !graph.is_behind_weights(op))
      continue;
    // A loss gives one number: what it was computed over is what the two were expanded to.
    const std::uint64_t whole = left != op.inputs[0] ? op.inputs[0] : op.outputs[0];
    facts.broadcasts.push_back({graph.place(op), graph.shape(left), graph.shape(right), graph.shape(whole)});
  }
}

void read_customs(Past& past, const StepGraph& graph, StepFacts& facts) {
  for (const StepOp& op : graph.ops()) {
    if (!op.custom || op.kind != EventKind::vjp) continue;
    const RecordView* forward = past.record(op.forward);
    if (!forward) continue;
    // A Function that is PyTorch's own (of checkpoints, of hooks) has no line of the program's in backward().
    if (forward->name().starts_with("autograd.") && forward->head.location == op.location) continue;
    CustomFact fact;
    fact.place = graph.place(op);
    fact.name = forward->name();
    fact.location = forward->head.location;
    fact.line = location_of(fact.location).line;
    facts.customs.push_back(std::move(fact));
  }
}

/// The variables that a playback was asked for.
std::vector<SourceFact> sources_of(Past& past, std::uint32_t playback) {
  const Recorder& recorder = past.recorder();
  const HealthPast known{recorder.trace(), recorder.values(), recorder.data_flow()};
  std::vector<SourceFact> found;
  for (const std::uint64_t source : recorder.data_flow().sources_of(playback)) {
    const auto subject = variable_subject(known, source);
    if (!subject || subject->variable == 0) continue;
    SourceFact fact;
    fact.variable = subject->variable;
    fact.value = source;
    fact.name = subject->name;
    fact.shape.assign(subject->shape.begin(), subject->shape.end());
    found.push_back(std::move(fact));
  }
  return found;
}

bool is_of_torch(const StepGraph& graph) {
  return std::ranges::any_of(graph.ops(), [](const StepOp& op) { return !torch_name(op).empty(); });
}

void read_sources(Past& past, const StepGraph& graph, const StepToRead& step, StepFacts& facts) {
  const auto playback =
      std::ranges::find(graph.ops(), EventKind::playback, [](const StepOp& op) { return op.kind; });
  if (playback == graph.ops().end()) return;
  facts.sources = sources_of(past, playback->number);
  const Recorder& recorder = past.recorder();
  const std::vector<SourceFact> before =
      step.playback_before ? sources_of(past, step.playback_before) : std::vector<SourceFact>();
  for (SourceFact& fact : facts.sources) {
    fact.place = graph.place(*playback);
    fact.place.op = "playback";
    // Inputs of a PyTorch program may require gradients: of what no step changes nothing is lost.
    if (before.empty() || (facts.in_torch && recorder.data_flow().values_of(fact.variable).size() < 2))
      continue;
    const auto same = [&](const SourceFact& other) {
      return other.name == fact.name && other.shape == fact.shape;
    };
    const bool there =
        std::ranges::any_of(before, [&](const SourceFact& other) { return other.variable == fact.variable; });
    fact.fresh = !there && std::ranges::any_of(before, same);
  }
}

}  // namespace

Tensor step_value(Past& past, std::uint64_t tensor, bool recompute, StepFacts& facts) {
  if (Tensor held = past.recorder().values().held(tensor)) return held;
  if (!recompute) return {};
  try {
    return past.value(tensor);
  } catch (const ValueError&) {
    facts.values_gone = true;
    return {};
  }
}

StepFacts read_without_steps(Past& past, const StepToRead& records) {
  StepFacts facts;
  const StepGraph graph(past, records);
  facts.cut = graph.cut();
  facts.in_torch = is_of_torch(graph);
  read_cleared(past, graph, facts);
  read_label_troubles(past, records, facts);
  return facts;
}

StepFacts read_step(Past& past, const StepToRead& step) {
  StepFacts facts;
  if (step.first > step.last) return facts;
  const StepGraph graph(past, step);
  facts.cut = graph.cut();
  facts.in_torch = is_of_torch(graph);
  if (step.training) {
    read_squashed(graph, facts);
    read_broadcasts(graph, facts);
    read_customs(past, graph, facts);
    read_sources(past, graph, step, facts);
    read_labels(past, graph, step.recompute, facts);
    read_inputs(past, graph, step.recompute, facts);
    read_updates(past, graph, step, facts);
    read_arrivals(past, graph, step, facts);
    read_cleared(past, graph, facts);
    read_masks(past, graph, step.recompute, facts);
  }
  read_modes(past, graph, step, facts);
  read_label_troubles(past, step, facts);
  return facts;
}

}  // namespace tapedeck::debug
