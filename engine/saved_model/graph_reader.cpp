#include "engine/saved_model/graph_reader.h"

#include <algorithm>

#include "engine/data/data_error.h"
#include "engine/graph/arrays/arrays.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/observer.h"
#include "engine/record/trace/scope.h"
#include "engine/saved_model/attributes.h"
#include "engine/saved_model/node_kinds.h"
#include "engine/tensor/error.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::saved_model {
namespace {

using graph::Executable;
using graph::Graph;
using graph::Node;
using graph::NodeKind;
using graph::Value;

/// Graphs in graphs: as deep as a program's branches and loops may nest.
constexpr int most_levels = 64;
/// Extents that only a run knows; a trace takes any number in their place.
constexpr std::int64_t sample_extent = 1;

std::string place_of(const std::string& outer, const char* list, std::size_t number) {
  return outer + "." + list + "[" + std::to_string(number) + "]";
}

/// The nodes as the JSON has them. Numbers of nodes, inputs, attributes and variables are checked, results
/// are not.
class GraphReader {
 public:
  GraphReader(std::span<const Variable> variables, const WeightsToRead& weights, std::string place, int level)
      : variables_(variables), weights_(weights), place_(std::move(place)), level_(level) {}

  Graph read(const Json& json) {
    if (level_ > most_levels) fail_at(place_, "graphs nest deeper than " + std::to_string(most_levels));
    graph_.name = text_of(member(json, "name", place_), place_);
    const Json& nodes = list_at(json, "nodes", place_);
    const auto count = static_cast<std::int64_t>(nodes.size());
    graph_.arguments =
        static_cast<std::size_t>(integer_of(member(json, "arguments", place_), 0, count, place_));
    graph_.captured.resize(static_cast<std::size_t>(integer_of(
        member(json, "captured", place_), 0, count - static_cast<std::int64_t>(graph_.arguments), place_)));
    const std::string own = place_;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      place_ = place_of(own, "nodes", i);
      graph_.nodes.push_back(node(nodes[i], i));
    }
    place_ = own;
    for (const Json& result : list_at(json, "results", place_)) graph_.results.push_back(value(result));
    return std::move(graph_);
  }

 private:
  std::int64_t number(const Json& json, std::int64_t least, std::int64_t most) const {
    return integer_of(json, least, most, place_);
  }
  std::int64_t number(const Json& json, const char* name, std::int64_t least, std::int64_t most) const {
    return number(member(json, name, place_), least, most);
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(place_, what); }

  Value value(const Json& json) const {
    if (!json.is_array() || json.size() != 2) fail("a value is [node, result]");
    const auto node = number(json[0], 0, static_cast<std::int64_t>(graph_.nodes.size()) - 1);
    const auto results = graph_.nodes[static_cast<std::size_t>(node)].results.size();
    const auto result = number(json[1], 0, static_cast<std::int64_t>(results) - 1);
    return {static_cast<std::int32_t>(node), static_cast<std::int32_t>(result)};
  }

  graph::ValueSpec spec(const Json& json) const {
    graph::ValueSpec spec{dtype_of_name(member(json, "dtype", place_), place_), {}};
    const Json& shape = member(json, "shape", place_);
    if (shape.is_null()) {
      spec.unknown.rank = true;
      return spec;
    }
    if (!shape.is_array() || shape.size() > static_cast<std::size_t>(max_rank))
      fail("a shape is null or a list of up to " + std::to_string(max_rank) + " extents");
    for (const Json& extent : shape) {
      if (extent.is_null()) spec.unknown.axes |= std::uint32_t{1} << spec.shape.rank();
      spec.shape.push_back(extent.is_null() ? sample_extent : number(extent, 0, INT64_MAX));
    }
    element_count(spec.shape);  // throws where there are too many
    return spec;
  }

  const Variable& variable(const Json& json) const {
    const auto count = static_cast<std::int64_t>(variables_.size());
    return variables_[static_cast<std::size_t>(number(json, 0, count - 1))];
  }

  Node node(const Json& json, std::size_t at) {
    Node node;
    const std::string kind = text_of(member(json, "kind", place_), place_);
    const std::optional<NodeKind> known = kind_of_name(kind);
    if (!known) fail("there is no kind of node '" + kind + "'");
    node.kind = *known;
    const std::size_t parameters = graph_.arguments + graph_.captured.size();
    if ((node.kind == NodeKind::parameter) != (at < parameters))
      fail("the first " + std::to_string(parameters) + " nodes are parameters, and no others");
    if (find_member(json, "in", place_))
      for (const Json& input : list_at(json, "in", place_)) node.inputs.push_back(value(input));
    std::vector<graph::ValueSpec> results;
    if (find_member(json, "results", place_))
      for (const Json& result : list_at(json, "results", place_)) results.push_back(spec(result));
    set_results(node, results);
    if (const Json* name = find_member(json, "name", place_)) node.name = text_of(*name, place_);
    if (const Json* scope = find_member(json, "scope", place_))
      node.scope = intern_scope(text_of(*scope, place_));
    if (const Json* device = find_member(json, "device", place_)) node.device = device_at(*device);
    add_graphs(json, node);
    fill(json, node, at);
    return node;
  }

  std::optional<Device> device_at(const Json& json) const {
    const Device device = device_from_name(text_of(json, place_));
    if (device.kind == DeviceKind::gpu && device.index >= gpu_count()) return std::nullopt;
    return device;
  }

  void add_graphs(const Json& json, Node& node) const {
    if (!find_member(json, "graphs", place_)) return;
    const Json& graphs = list_at(json, "graphs", place_);
    for (std::size_t i = 0; i < graphs.size(); ++i)
      node.graphs.push_back(std::make_shared<const Graph>(
          GraphReader(variables_, weights_, place_of(place_, "graphs", i), level_ + 1).read(graphs[i])));
  }

  void expect(const Node& node, std::size_t inputs, std::size_t results, std::size_t graphs) const {
    if (node.inputs.size() != inputs || node.results.size() != results || node.graphs.size() != graphs)
      fail("has " + std::to_string(node.inputs.size()) + " inputs, " + std::to_string(node.results.size()) +
           " results and " + std::to_string(node.graphs.size()) + " graphs, where " + std::to_string(inputs) +
           ", " + std::to_string(results) + " and " + std::to_string(graphs) + " belong");
  }

  void fill(const Json& json, Node& node, std::size_t at) {
    switch (node.kind) {
      case NodeKind::parameter:
        return expect(node, 0, 1, 0);
      case NodeKind::constant:
        node.constant = weights_.read(member(json, "value", place_), place_);
        return expect(node, 0, 1, 0);
      case NodeKind::read:
        node.variable = variable(member(json, "variable", place_));
        return expect(node, 0, 1, 0);
      case NodeKind::assign:
        node.variable = variable(member(json, "variable", place_));
        return expect(node, 1, 0, 0);
      case NodeKind::op:
        return fill_op(json, node, at);
      case NodeKind::branch:
        return check_branch(node);
      case NodeKind::loop:
        return check_loop(node);
      case NodeKind::custom:
        return fill_custom(json, node);
      case NodeKind::host:
        return fill_array_call(json, node);
      default:
        return fill_tape(json, node);
    }
  }

  // ---- ops

  void fill_op(const Json& json, Node& node, std::size_t at) {
    const std::string name = text_of(member(json, "op", place_), place_);
    node.op = Registry::instance().find(name);
    if (!node.op) fail("there is no op '" + name + "'");
    place_ += " (" + name + ")";
    fill_attributes(json, node);
    if (find_member(json, "late", place_))
      for (const Json& late : list_at(json, "late", place_)) node.late.push_back(late_number(late, node));
    fill_draws(json, node, at);
    const std::size_t operands = operand_count(node), wanted = node.op->inputs.size();
    const bool variadic = wanted > 0 && node.op->inputs.back().variadic;
    if (variadic ? operands + 1 < wanted : operands != wanted)
      fail("has " + std::to_string(operands) + " inputs; the op takes " + std::to_string(wanted));
    if (!node.graphs.empty()) fail("an op has no graphs");
  }

  void fill_attributes(const Json& json, Node& node) const {
    std::vector<Attribute> values;
    const Json none = Json::object();
    const Json* const given = find_member(json, "attributes", place_);
    const Json& attributes = given ? *given : none;
    if (!attributes.is_object()) fail("'attributes' is not an object");
    for (const AttributeSpec& spec : node.op->attributes) {
      const auto found = attributes.find(spec.name);
      if (found == attributes.end() && spec.required) fail("has no attribute '" + spec.name + "'");
      values.push_back(found == attributes.end() ? spec.fallback
                                                 : read_attribute(*found, spec, place_ + "." + spec.name));
    }
    for (const auto& [name, value] : attributes.items())
      if (std::ranges::none_of(node.op->attributes,
                               [&](const AttributeSpec& spec) { return spec.name == name; }))
        fail("the op has no attribute '" + name + "'");
    node.attributes = Attributes(std::move(values));
  }

  graph::LateNumber late_number(const Json& json, const Node& node) const {
    if (!json.is_array() || json.size() != 4) fail("a late number is [attribute, element, input, index]");
    graph::LateNumber late;
    const auto size = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
    late.attribute = static_cast<std::int32_t>(number(json[0], 0, size(node.attributes) - 1));
    const Attribute& sample = node.attributes[static_cast<std::size_t>(late.attribute)];
    const auto* const list = std::get_if<std::vector<std::int64_t>>(&sample);
    if (!list && !std::holds_alternative<std::int64_t>(sample) && !std::holds_alternative<double>(sample))
      fail("an input gives what is not a number");
    late.element = static_cast<std::int32_t>(number(json[1], -1, list ? size(*list) - 1 : -1));
    late.input = static_cast<std::int32_t>(number(json[2], 0, size(node.inputs) - 1));
    late.index = number(json[3], -1, INT32_MAX);
    if (list ? (late.index >= 0) != (late.element >= 0) : late.index < 0)
      fail("an input gives a list, or one number of a list");
    return late;
  }

  void fill_draws(const Json& json, Node& node, std::size_t at) const {
    if (const Json* draws = find_member(json, "draws", place_)) node.draws = flag_of(*draws, place_);
    if (node.draws && (!node.op->has("key") || !node.op->has("counter"))) fail("draws no random numbers");
    const Json* const again = find_member(json, "draw_of", place_);
    if (!again) return;
    node.draw_of = static_cast<std::int32_t>(number(*again, 0, static_cast<std::int64_t>(at) - 1));
    if (!node.draws || !graph_.nodes[static_cast<std::size_t>(node.draw_of)].draws)
      fail("node " + std::to_string(node.draw_of) + " draws no random numbers");
  }

  // ---- branches, loops, gradients of the program's own

  void check_branch(const Node& node) const {
    if (node.graphs.size() != 2) fail("a branch has two graphs");
    const Graph &yes = *node.graphs[0], &no = *node.graphs[1];
    if (yes.arguments != 0 || no.arguments != 0) fail("the graphs of a branch take no arguments");
    expect(node, 1 + yes.captured.size() + no.captured.size(), yes.results.size(), 2);
    if (no.results.size() != yes.results.size()) fail("the graphs of a branch have as many results");
  }

  void check_loop(const Node& node) const {
    if (node.graphs.size() != 2) fail("a loop has two graphs");
    const Graph &condition = *node.graphs[0], &body = *node.graphs[1];
    if (condition.arguments != body.arguments || condition.results.size() != 1 ||
        body.results.size() != body.arguments)
      fail("a loop's graphs take its variables, and have one result and the variables");
    expect(node, body.arguments + condition.captured.size() + body.captured.size(), body.arguments, 2);
  }

  void fill_custom(const Json& json, Node& node) const {
    const Json& given = member(json, "own", place_);
    auto own = std::make_shared<graph::OwnGradient>();
    own->name = text_of(member(given, "name", place_), place_);
    own->error = text_of(member(given, "error", place_), place_);
    const auto most = static_cast<std::int64_t>(node.inputs.size());
    own->inputs = static_cast<std::size_t>(number(given, "inputs", 0, most));
    own->outputs = static_cast<std::size_t>(number(given, "outputs", 0, most));
    for (const Json& one : list_at(given, "variables", place_)) own->variables.push_back(variable(one));
    for (const Json& one : list_at(given, "given", place_)) own->given.push_back(flag_of(one, place_));
    const std::size_t graphs = own->error.empty() ? 1 : 0;
    if (node.graphs.size() != graphs) fail("has " + std::to_string(node.graphs.size()) + " graphs");
    std::size_t read = 0;
    if (graphs == 1) {
      const Graph& gradient = *node.graphs[0];
      read = gradient.captured.size();
      const auto there = static_cast<std::size_t>(std::ranges::count(own->given, true));
      if (gradient.arguments != own->outputs || gradient.results.size() != there ||
          own->given.size() != own->inputs + own->variables.size())
        fail("the gradient's graph takes the outputs' gradients, and has those that are given");
    }
    expect(node, own->inputs + own->outputs + read, own->outputs, graphs);
    node.own_gradient = std::move(own);
  }

  // ---- arrays

  std::vector<std::int64_t> numbers_at(const Json& json, const char* name) const {
    std::vector<std::int64_t> numbers;
    if (find_member(json, name, place_))
      for (const Json& one : list_at(json, name, place_)) numbers.push_back(number(one, 0, INT32_MAX));
    return numbers;
  }

  void fill_array_call(const Json& json, Node& node) const {
    const Json& given = member(json, "array", place_);
    graph::ArrayCallForm form;
    form.name = text_of(member(given, "call", place_), place_);
    if (const Json* element = find_member(given, "element", place_))
      form.kind = graph::ArrayKind{spec(*element), flag_of(member(given, "infers", place_), place_),
                                   flag_of(member(given, "grows", place_), place_)};
    form.numbers = numbers_at(given, "written");
    form.cleared = numbers_at(given, "cleared");
    if (const Json* axis = find_member(given, "axis", place_))
      form.axis = number(*axis, -max_rank - 1, max_rank);
    expect(node, node.inputs.size(), 1, 0);
    node.host =
        std::make_shared<const graph::HostCall>(graph::array_call(std::move(form), node.inputs.size()));
  }

  // ---- tapes

  void fill_tape(const Json& json, Node& node) {
    const Json& given = member(json, "tape", place_);
    auto use = std::make_shared<graph::TapeUse>();
    use->tape = static_cast<std::int32_t>(number(given, "tape", 0, tapes_));
    if (node.kind == NodeKind::tape_start) {
      tapes_ = std::max<std::int64_t>(tapes_, use->tape + 1);
      use->persistent = flag_of(member(given, "persistent", place_), place_);
      use->watch_accessed_variables = flag_of(member(given, "watch_accessed_variables", place_), place_);
    } else if (use->tape == tapes_) {
      fail("tape " + std::to_string(use->tape) + " was not started");
    }
    if (node.kind == NodeKind::tape_watch && find_member(json, "variable", place_))
      node.variable = variable(member(json, "variable", place_));
    if (node.kind == NodeKind::gradient)
      fill_gradient(given, node, *use);
    else
      expect(node, node.kind == NodeKind::tape_watch && !node.variable ? 1 : 0, 0, 0);
    node.tape = std::move(use);
  }

  void fill_gradient(const Json& given, const Node& node, graph::TapeUse& use) const {
    const auto inputs = static_cast<std::int64_t>(node.inputs.size());
    use.targets = static_cast<std::int32_t>(number(given, "targets", 0, inputs));
    for (const Json& one : list_at(given, "weighted", place_)) use.weighted.push_back(flag_of(one, place_));
    if (use.weighted.size() != static_cast<std::size_t>(use.targets))
      fail("says of each target whether it is weighted");
    std::size_t read = static_cast<std::size_t>(use.targets) +
                       static_cast<std::size_t>(std::ranges::count(use.weighted, true));
    for (const Json& one : list_at(given, "sources", place_)) {
      use.sources.push_back(one.is_null() ? std::nullopt : std::optional(variable(one)));
      read += one.is_null();
    }
    use.unconnected = flag_of(member(given, "zero", place_), place_) ? Unconnected::zero : Unconnected::none;
    for (const Json& one : list_at(given, "parts", place_)) {
      if (!one.is_array() || one.size() != 2) fail("a part of a gradient is [source, part]");
      const auto source = number(one[0], 0, static_cast<std::int64_t>(use.sources.size()) - 1);
      use.parts.emplace_back(source, static_cast<graph::TapeUse::Part>(number(one[1], 0, 2)));
    }
    expect(node, read, use.parts.size(), 0);
  }

  const std::span<const Variable> variables_;
  const WeightsToRead& weights_;
  std::string place_;
  const int level_;
  std::int64_t tapes_ = 0;
  Graph graph_;
};

/// Where no observer and no tape of the caller's sees it.
Graph traced_again(const Graph& read) {
  const UnobservedScope unobserved;
  const StopRecording stopped;
  graph::GraphTracer tracer(read.name);
  Tensors parameters;
  for (std::size_t i = 0; i < read.arguments; ++i)
    parameters.push_back(
        tracer.parameter(read.nodes[i].name, read.value_spec({static_cast<std::int32_t>(i), 0})));
  const Executable executable(read, Executable::Use::traced_again);
  Tensors results;
  {
    const TracerScope scope(&tracer);
    results = executable.run(parameters, {});
  }
  Graph again = tracer.finish(results);
  again.watched_up_to = 0;  // no tape knows the constants, which were made for this graph
  return again;
}

}  // namespace

Graph read_graph(const Json& json, std::span<const Variable> variables, const WeightsToRead& weights,
                 const std::string& place) {
  try {
    const Graph read = GraphReader(variables, weights, place, 0).read(json);
    if (!read.captured.empty()) fail_at(place, "captures tensors of a function around it, and there is none");
    return traced_again(read);
  } catch (const Interrupted&) {
    throw;
  } catch (const data::DataLossError&) {
    throw;
  } catch (const std::bad_alloc&) {
    fail<ResourceExhaustedError>(place, ": memory is exhausted");
  } catch (const std::exception& error) {
    graph::take_failed_location();
    fail_at(place, error.what());
  }
}

}  // namespace tapedeck::saved_model
