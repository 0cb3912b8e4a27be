// Calls on tensors whose shapes, or with attributes whose numbers, are known only when the graph runs.
#include <algorithm>
#include <set>

#include "engine/graph/control.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/run_op.h"
#include "engine/tensor/narrow.h"

namespace tapedeck::graph {
namespace {

/// What takes the place of the numbers that the next call will read; by their marks. A call of an op comes
/// right behind the conversion of its arguments, on the same thread.
struct Marked {
  Tensor tensor;
  std::int64_t index = 0;
};
thread_local std::vector<Marked> marked;

// Marks are numbers that no program passes, and doubles have exactly. Below them are the counters of traced
// draws.
constexpr std::int64_t first_mark = -(std::int64_t{1} << 62), mark_step = 4096;

std::optional<std::size_t> mark_of(std::int64_t number) {
  const std::int64_t distance = number - first_mark;
  if (number >= 0 || distance < mark_step || distance % mark_step != 0) return std::nullopt;
  const auto place = static_cast<std::size_t>(distance / mark_step) - 1;
  return place < marked.size() ? std::optional(place) : std::nullopt;
}

/// Calls visit(element, mark) for each mark of the attribute.
template <class Visit>
void for_each_mark(const Attribute& attribute, Visit&& visit) {
  const auto* real = std::get_if<double>(&attribute);
  if (const auto* number = std::get_if<std::int64_t>(&attribute)) {
    if (const auto mark = mark_of(*number)) visit(-1, *mark);
  } else if (real && *real < 0 && *real >= static_cast<double>(first_mark)) {
    if (const auto mark = mark_of(static_cast<std::int64_t>(*real))) visit(-1, *mark);
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) {
    for (std::size_t i = 0; i < list->size(); ++i)
      if (const auto mark = mark_of((*list)[i])) visit(static_cast<int>(i), *mark);
  }
}

bool has_marks(const Attributes& attributes) {
  bool found = false;
  for (std::size_t i = 0; i < attributes.size(); ++i)
    for_each_mark(attributes[i], [&](int, std::size_t) { found = true; });
  return found;
}

std::optional<std::int64_t> element_of(const std::optional<Tensor>& tensor, std::int64_t index) {
  if (!tensor || index >= tensor->count() || !is_integer(tensor->dtype())) return std::nullopt;
  const Tensor values = widened(tensor->on_host()).make_contiguous();
  return values.dtype() == DType::int32 ? std::int64_t{values.data<std::int32_t>()[index]}
                                        : values.data<std::int64_t>()[index];
}

std::optional<std::vector<std::int64_t>> list_of(const std::optional<Tensor>& tensor) {
  if (!tensor || tensor->rank() != 1 || !is_integer(tensor->dtype())) return std::nullopt;
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < tensor->count(); ++i) list.push_back(*element_of(tensor, i));
  return list;
}

/// Nothing is known of the results of a call that no sample fits, but how many there are and their dtype.
std::optional<Inferred> unknown_result(const OpDef& op, std::span<const Tensor> inputs,
                                       const Attributes& attributes) {
  if (op.returns_list || op.results.fields.size() > 1) return std::nullopt;
  std::optional<DType> dtype;
  for (std::size_t i = 0; i < attributes.size(); ++i)
    if (const auto* given = std::get_if<DType>(&attributes[i])) dtype = *given;
  if (!dtype && inputs.empty()) return std::nullopt;
  Inferred inferred;
  const UnknownShape unknown{0, true};
  inferred.worlds = {new_worlds({}, unknown)};
  inferred.samples.push_back({dtype ? *dtype : inputs[0].dtype(), *inferred.worlds[0][0]});
  inferred.unknown = {unknown};
  std::vector<Attribute> sample;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    sample.push_back(attributes[i]);
    for_each_mark(attributes[i], [&](int element, std::size_t) { set_number(sample, i, element, 1); });
  }
  inferred.attributes = Attributes(std::move(sample));
  return inferred;
}

}  // namespace

namespace {

/// The list of all elements; where the graph becomes part of one that is being traced, its mark.
std::vector<std::int64_t> whole_list(const Node& node, const Tensor& input) {
  std::optional<Tensor> value = input;
  auto* tracer = dynamic_cast<GraphTracer*>(current_tracer());
  if (input.is_symbolic()) value = tracer ? tracer->known_value(input) : std::nullopt;
  if (const auto list = list_of(value)) return *list;
  if (input.is_symbolic() && tracer) return {tracer->late_number(input, -1)};
  fail<InvalidArgumentError>(node.op->name, ": a list of numbers comes from a tensor of shape ",
                             shape_text(input), "; needs one axis");
}

}  // namespace

void fill_late_numbers(const Node& node, std::span<const Tensor> inputs, std::vector<Attribute>& attributes) {
  for (const LateNumber& late : node.late) {
    const Tensor& input = inputs[static_cast<std::size_t>(late.input)];
    const auto attribute = static_cast<std::size_t>(late.attribute);
    if (late.index < 0) {
      attributes[attribute] = whole_list(node, input);
      continue;
    }
    std::optional<std::int64_t> number;
    if (input.is_symbolic()) {  // this graph becomes part of one that is being traced
      auto* tracer = dynamic_cast<GraphTracer*>(current_tracer());
      if (tracer) number = element_of(tracer->known_value(input), late.index);
      if (tracer && !number) number = tracer->late_number(input, late.index);
    } else {
      number = element_of(input, late.index);
    }
    if (!number)
      fail<InvalidArgumentError>(node.op->name, ": ", node.op->attributes[attribute].name, " needs element ",
                                 late.index, " of a tensor of shape ", shape_text(input));
    set_number(attributes, attribute, late.element, *number);
  }
}

void GraphTracer::forget_marks() {
  marked.clear();
}

std::int64_t GraphTracer::late_number(const Tensor& tensor, std::int64_t index) {
  marked.push_back({tensor, index});
  return first_mark + mark_step * static_cast<std::int64_t>(marked.size());
}

bool GraphTracer::is_open(const OpDef& op, std::span<const Tensor> inputs,
                          const Attributes& attributes) const {
  if (guessing_) return false;
  if (op.shape_of_values) return true;
  for (const Tensor& input : inputs)
    if (input && unknown_of(input)) return true;
  return !marked.empty() && has_marks(attributes);
}

/// Whether the element is another one where all unknown extents differ: what is equal in the worlds may
/// cancel out.
bool GraphTracer::depends_on_unknown(const Tensor& tensor, std::int64_t index, std::int64_t value) const {
  bool assumed = false;
  const std::optional<std::int64_t> other =
      element_of(value_in_world(tensor, scrambled_world, assumed), index);
  return other && *other != value;
}

/// The marks of the attributes: `node` gets them as late numbers, and their tensors become the last inputs.
std::vector<OpenNumber> GraphTracer::open_numbers(const OpDef&, const Attributes& attributes, Node& node,
                                                  Tensors& inputs) const {
  std::vector<OpenNumber> numbers;
  const std::size_t operands = inputs.size();
  std::size_t lowest = marked.size();
  for (std::size_t i = 0; i < attributes.size(); ++i)
    for_each_mark(attributes[i], [&](int element, std::size_t mark) {
      const Marked& number = marked[mark];
      lowest = std::min(lowest, mark);
      std::size_t input = operands;
      while (input < inputs.size() && inputs[input].id() != number.tensor.id()) ++input;
      if (input == inputs.size()) inputs.push_back(number.tensor);
      node.late.push_back(
          {static_cast<std::int32_t>(i), element, static_cast<std::int32_t>(input), number.index});
      OpenNumber open;
      open.attribute = i;
      open.element = element;
      open.is_whole = number.index < 0;
      for (std::size_t world = 0; world < world_count; ++world) {
        const std::optional<Tensor> value = value_in_world(number.tensor, world, open.assumed);
        if (open.is_whole)
          open.lists[world] = list_of(value);
        else
          open.values[world] = element_of(value, number.index);
        open.assumed = open.assumed || !(open.values[world] || open.lists[world]);
      }
      if (!open.is_whole && !open.assumed && open.values[0] == open.values[1])
        open.assumed = depends_on_unknown(number.tensor, number.index, *open.values[0]);
      numbers.push_back(std::move(open));
    });
  marked.resize(lowest);
  return numbers;
}

Tensors GraphTracer::call_open(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes,
                               Attributes& sample) {
  Node node;
  node.kind = NodeKind::op;
  node.op = &op;
  Tensors all(inputs.begin(), inputs.end());
  const bool is_late = !marked.empty() && has_marks(attributes);
  std::optional<Inferred> unknown;
  if (is_late) unknown = unknown_result(op, inputs, attributes);
  std::vector<OpenNumber> numbers;
  if (is_late) numbers = open_numbers(op, attributes, node, all);
  OpenCall call{op, inputs, {}, attributes, std::move(numbers)};
  for (const Tensor& input : inputs) call.worlds.push_back(worlds_of(input));
  Inferred inferred;
  try {
    inferred = infer(call);
  } catch (const InvalidArgumentError&) {
    const bool assumed =
        std::ranges::any_of(call.numbers, [](const OpenNumber& each) { return each.assumed; });
    if (!assumed || !unknown) throw;
    inferred = std::move(*unknown);
  }
  sample = inferred.attributes;
  std::vector<ValueSpec> results;
  for (std::size_t i = 0; i < inferred.samples.size(); ++i)
    results.push_back({inferred.samples[i].dtype, inferred.samples[i].shape, inferred.unknown[i]});
  set_results(node, results);
  return add_call(std::move(node), {op, inputs, sample, {}, {}}, all, &inferred.worlds);
}

Worlds GraphTracer::worlds_of(const Tensor& tensor) const {
  const UnknownShape unknown = unknown_of(tensor);
  if (unknown) {
    if (const auto found = values_.find(tensor.id()); found != values_.end() && found->second.node >= 0)
      return worlds_of(found->second);
    if (around_ && around_->knows(tensor)) return around_->worlds_of(tensor);
  }
  return new_worlds(tensor.shape(), unknown);
}

Worlds GraphTracer::worlds_of(Value value) const {
  if (value.node < -1) return worlds_of(graph_.captured[static_cast<std::size_t>(-2 - value.node)]);
  if (const auto found = worlds_.find(value); found != worlds_.end()) return found->second;
  return new_worlds(graph_.spec(value).shape, graph_.unknown(value));
}

void GraphTracer::narrow(const Tensor& tensor, const Shape& shape, UnknownShape unknown) {
  const auto own = values_.find(tensor.id());
  if ((own == values_.end() || own->second.node < 0) && around_ && around_->knows(tensor))
    return around_->narrow(tensor, shape, unknown);  // for all that reads it, where no branch decides
  const UnknownShape before = unknown_of(tensor);
  if (!is_compatible(tensor.shape(), before, shape, unknown))
    fail<InvalidArgumentError>("set_shape: a tensor of shape ", shape_text(tensor), " cannot have shape ",
                               to_string(shape, unknown));
  if (!before || unknown.rank) return;
  Shape sample = before.rank ? shape : tensor.shape();
  UnknownShape after;
  for (int axis = 0; axis < sample.rank(); ++axis) {
    if (!unknown.has(axis))
      sample[axis] = shape[axis];
    else if (before.has(axis))
      after.axes |= std::uint32_t{1} << axis;
  }
  if (after == before) return;
  Worlds worlds = worlds_of(tensor);
  const Worlds fresh = new_worlds(sample, after);
  for (std::size_t world = 0; world < world_count; ++world) {
    if (before.rank || !worlds[world] || worlds[world]->rank() != sample.rank()) {
      worlds[world] = fresh[world];
      continue;
    }
    for (int axis = 0; axis < sample.rank(); ++axis)
      if (!after.has(axis)) (*worlds[world])[axis] = sample[axis];
  }
  if (worlds[0]) sample = *worlds[0];
  static const OpDef& identity = *Registry::instance().find("identity");
  Node node;
  node.kind = NodeKind::op;
  node.op = &identity;
  node.name = set_shape_name;
  const ValueSpec spec{tensor.dtype(), sample, after};
  set_results(node, {&spec, 1});
  const Value value{add(std::move(node), {&tensor, 1}), 0};
  values_[tensor.id()] = value;
  tensors_.resize(graph_.nodes.size());
  tensors_.back().push_back(tensor);
  if (after) worlds_[value] = worlds;
  open_up_to_ = graph_.nodes.size();
  set_symbolic_shape(tensor, sample, after);
}

/// Which sources the targets depend on, as far as the graph shows, through what is on the tape.
std::vector<bool> GraphTracer::reached_sources(const Tape::GradientCall& call) {
  const std::size_t first = tapes_[static_cast<std::size_t>(tape_of(call.tape, "gradient"))].first_node;
  std::set<Value> reached;
  for (const Tensor& target : call.targets) reached.insert(value_of(target, "gradient"));
  std::set<std::uint64_t> variables;
  for (std::size_t i = graph_.nodes.size(); i-- > first;) {
    const Node& node = graph_.nodes[i];
    bool flows = false;
    for (std::size_t result = 0; result < node.results.size(); ++result)
      flows = flows || reached.contains({static_cast<std::int32_t>(i), static_cast<std::int32_t>(result)});
    if (!flows) continue;
    if (node.kind == NodeKind::read) variables.insert(node.variable->id());
    const std::vector<bool> through = differentiable_inputs(node);
    for (std::size_t input = 0; input < through.size(); ++input)
      if (through[input]) reached.insert(node.inputs[input]);
  }
  // A variable that was read before the tape began is known by that value.
  for (const auto& [id, value] : variables_)
    if (const auto found = values_.find(value.id());
        found != values_.end() && reached.contains(found->second))
      variables.insert(id);
  std::vector<bool> all;
  for (const Tape::Source& source : call.sources)
    all.push_back(source.variable ? variables.contains(source.variable->id())
                                  : has_gradients(source.tensor.dtype()) &&
                                        reached.contains(value_of(source.tensor, "gradient")));
  return all;
}

Tensor GraphTracer::variables_value(const Variable& variable) const {
  const auto known = variables_.find(variable.id());
  if (known != variables_.end()) return known->second;
  const ValueSpec spec = graph::spec_of(variable);
  return symbolic_tensor(spec.dtype, spec.shape, spec.unknown);
}

/// The tape is played here to see which gradients there are and of which shapes. What that added to the graph
/// goes again: each run plays the tape anew. Samples of unknown shapes may not fit each other in VJPs: then
/// the graph alone says which gradients there are.
Tensors GraphTracer::tried_gradients(const Tape::GradientCall& call, const std::function<Tensors()>& play) {
  const std::size_t first = graph_.nodes.size(), first_capture = captures_.size();
  const bool is_open =
      open_up_to_ > tapes_[static_cast<std::size_t>(tape_of(call.tape, "gradient"))].first_node;
  guessing_ = true;
  Tensors gradients;
  std::exception_ptr error;
  try {
    gradients = play();
  } catch (const InvalidArgumentError&) {
    error = std::current_exception();
  } catch (const UnimplementedError&) {
    error = std::current_exception();
  } catch (...) {
    guessing_ = false;
    throw;
  }
  guessing_ = false;
  if (error && !is_open) std::rethrow_exception(error);
  drop_nodes_from(first, first_capture);
  if (error) {
    gradients.clear();
    Tensors read(call.targets.begin(), call.targets.end()), given;
    const std::vector<bool> reached = reached_sources(call);
    for (std::size_t i = 0; i < call.sources.size(); ++i) {
      const Tape::Source& source = call.sources[i];
      const bool wanted = reached[i] || call.unconnected == Unconnected::zero;
      const Tensor value = source.variable ? variables_value(*source.variable) : source.tensor;
      gradients.push_back(wanted ? symbolic_tensor(value.dtype(), value.shape(), unknown_of(value))
                                 : Tensor());
      if (!source.variable) read.push_back(value);
      if (wanted) given.push_back(gradients.back());
    }
    for (const Tensor& weight : call.output_gradients)
      if (weight) read.push_back(weight);
    put_on_tapes("gradient", read, std::vector<bool>(read.size(), true), given);
  }
  give_source_shapes(call, gradients, is_open);
  return gradients;
}

/// What the tape gave for samples has the shapes of the sources.
void GraphTracer::give_source_shapes(const Tape::GradientCall& call, std::span<const Tensor> gradients,
                                     bool is_open) {
  const auto follow = [](const Tensor& gradient, const Shape& shape, UnknownShape unknown) {
    if (gradient && gradient.is_symbolic() && unknown) set_symbolic_shape(gradient, shape, unknown);
  };
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tape::Source& source = call.sources[i];
    const ValueSpec spec = source.variable ? graph::spec_of(*source.variable) : graph::spec_of(source.tensor);
    if (is_open) follow(gradients[i], spec.shape, spec.unknown);
    if (!call.rows) continue;
    // What ran decides how many there are.
    const Tape::RowGradient& rows = (*call.rows)[i];
    if (rows.values) follow(rows.values, rows.values.shape(), {1, false});
    if (rows.indices) follow(rows.indices, rows.indices.shape(), {1, false});
  }
}

}  // namespace tapedeck::graph
