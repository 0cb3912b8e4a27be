#include "engine/graph/calls.h"

#include <exception>
#include <utility>

#include "engine/graph/arrays/arrays.h"
#include "engine/graph/run_log.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/observed.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::graph {
namespace {

thread_local std::shared_ptr<const Part> part_traced;
/// The innermost part of the running call whose record is open.
thread_local const Part* part_running = nullptr;

class RunningPartScope {
 public:
  explicit RunningPartScope(const Part* part) : before_(std::exchange(part_running, part)) {}
  ~RunningPartScope() { part_running = before_; }
  RunningPartScope(const RunningPartScope&) = delete;

 private:
  const Part* const before_;
};

bool is_in(const Part* part, const Part* around) {
  for (; part; part = part->around.get())
    if (part == around) return true;
  return around == nullptr;
}

/// What records show: an array is no value.
Tensors without_arrays(std::span<const Tensor> tensors) {
  Tensors shown;
  for (const Tensor& tensor : tensors)
    if (!carries_array(tensor)) shown.push_back(tensor);
  return shown;
}

Event event_of(std::string_view name, std::span<const Tensor> inputs) {
  static const Attributes none;
  Event event;
  event.kind = EventKind::call;
  event.name = name;
  event.inputs = inputs;
  event.attributes = &none;
  return event;
}

}  // namespace

const std::shared_ptr<const Part>& traced_part() {
  return part_traced;
}

TracedPartScope::TracedPartScope(std::shared_ptr<const Part> part)
    : before_(std::exchange(part_traced, std::move(part))) {}
TracedPartScope::~TracedPartScope() {
  part_traced = std::move(before_);
}

std::vector<std::uint64_t> ids_of(std::span<const Tensor> tensors) {
  std::vector<std::uint64_t> ids;
  for (const Tensor& tensor : tensors) ids.push_back(tensor ? tensor.id() : 0);
  return ids;
}

std::string signature_of(const Graph& graph) {
  std::string text = graph.name + "(";
  for (std::size_t i = 0; i < graph.arguments; ++i) {
    if (i > 0) text += ", ";
    text += graph.nodes[i].name + ": " + to_string(graph.value_spec({static_cast<std::int32_t>(i), 0}));
  }
  return text + ")";
}

Tensors in_call(const Graph& graph, const std::string& signature, std::span<const Tensor> arguments,
                const std::function<Tensors()>& run) {
  const RunningPartScope own(nullptr);  // its nodes' parts are of another trace than those that are open
  if (auto* tracer = dynamic_cast<GraphTracer*>(current_tracer())) {
    Part part;
    part.around = traced_part();
    part.name = signature;
    const CallSite site = tracer->call_site();
    part.location = site.location;
    part.call = site.call;
    part.scope = current_scope();
    part.backward = part.around && part.around->backward;
    part.inputs = ids_of(arguments.first(graph.arguments));
    const auto made = std::make_shared<Part>(std::move(part));
    const TracedPartScope scope(made);
    Tensors results = run();
    made->results = ids_of(results);
    return results;
  }
  Observer* observer = current_observer();
  if (!observer) return run();
  TensorSpecs results;
  for (const Value result : graph.results) results.push_back(graph.spec(result));
  const Tensors shown = without_arrays(arguments.first(graph.arguments));
  Event event = event_of(signature, shown);
  event.outputs = results;
  return tapedeck::detail::observed(observer, event, [&](std::uint64_t) { return run(); });
}

Tensors in_part(const Node& node, const std::function<std::string()>& name, std::span<const Tensor> inputs,
                const std::function<Tensors()>& run) {
  Observer* observer = current_observer();
  if (!observer) return run();
  const LocationScope location({node.location, node.call});
  const WholeScope scope(node.scope);
  const std::string text = name();
  const Tensors shown = without_arrays(inputs);
  Event event = event_of(text, shown);
  event.part = true;
  Tensors results;
  tapedeck::detail::observed(observer, event, [&](std::uint64_t) {
    results = run();
    return without_arrays(results);
  });
  return results;
}

std::string branch_name(const Node& node, bool is_true) {
  const std::uint32_t line = location_of(node.location).line;
  return (line == 0 ? "if" : "if line " + std::to_string(line)) + (is_true ? ": true" : ": false");
}

std::string loop_name(const Node& node) {
  const std::uint32_t line = location_of(node.location).line;
  return line == 0 ? "loop" : "loop line " + std::to_string(line);
}

std::string iteration_name(std::uint64_t number) {
  constexpr std::uint64_t most_names = 100'000;
  return number < most_names ? "iteration " + std::to_string(number)
                             : "iteration " + std::to_string(most_names) + " or later";
}

bool decides(const Node& node, const Tensor& predicate) {
  if (Observer* observer = current_observer()) {
    const LocationScope location({node.location, node.call});
    observer->left(predicate);
  }
  return predicate.item() != 0;
}

PartFollower::PartFollower()
    : base_(part_running),
      current_(part_running),
      attends_(current_observer() != nullptr || current_tracer() != nullptr) {}

PartFollower::~PartFollower() {
  while (!open_.empty()) end(nullptr);
}

void PartFollower::fail() {
  if (open_.empty()) return;
  std::string text = "an exception of the host language";
  try {
    throw;
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {  // the text says it
  }
  while (!open_.empty()) end(text.c_str());
}

void PartFollower::change_to(const Part* part) {
  while (!open_.empty() && !is_in(part, open_.back().part)) end(nullptr);
  if (open_.empty() && is_in(base_, part)) return;  // a node of what is open around this graph
  std::vector<const Part*> missing;
  for (; part && part != current_; part = part->around.get()) missing.push_back(part);
  for (std::size_t i = missing.size(); i-- > 0;) begin(*missing[i]);
}

Tensors PartFollower::values_of(const std::vector<std::uint64_t>& ids) const {
  Tensors values;
  for (const std::uint64_t id : ids) values.push_back(id != 0 && find_ ? find_(id) : Tensor());
  return values;
}

void PartFollower::begin(const Part& part) {
  Open open;
  open.part = &part;
  const Tensors inputs = values_of(part.inputs);
  if (current_tracer()) {
    open.again = std::make_shared<Part>(part);
    open.again->around = traced_part();
    open.again->inputs = ids_of(inputs);
    if (part.forward != 0) open.again->forward = ids_of(values_of({part.forward}))[0];
    open.traced = std::make_unique<TracedPartScope>(open.again);
  } else if ((open.observer = current_observer()) != nullptr) {
    const LocationScope location({part.location, part.call});
    const WholeScope scope(part.scope);
    Event event = event_of(part.name, inputs);
    event.part = !part.is_call;
    event.backward = part.backward;
    boost::container::small_vector<bool, 8> wanted(part.wanted.begin(), part.wanted.end());
    // As eager code has it, where the record of the forward op is known.
    const RunningGraph* run = RunningGraph::innermost();
    event.forward_record = part.vjp_of && run ? run->record_of(part.forward) : 0;
    if (event.forward_record != 0) {
      event.kind = EventKind::vjp;
      event.op = part.vjp_of;
      event.name = part.vjp_of->name;
      event.attributes = &part.attributes;
      event.wanted = {wanted.data(), wanted.size()};
      event.part = false;
    }
    set_last_place(reinterpret_cast<std::uintptr_t>(&part));  // where a pass of its line may begin again
    open.record = open.observer->begin(event);
  }
  open_.push_back(std::move(open));
  current_ = part_running = &part;
}

void PartFollower::end(const char* error) {
  const Open open = std::move(open_.back());
  open_.pop_back();
  current_ = part_running = open_.empty() ? base_ : open_.back().part;
  if (open.again) open.again->results = ids_of(values_of(open.part->results));
  if (open.observer)
    open.observer->end(open.record, error ? Tensors() : values_of(open.part->results), error);
}

}  // namespace tapedeck::graph
