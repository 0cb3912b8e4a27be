#include "engine/record/breakpoints/break_check.h"

#include <algorithm>
#include <utility>

#include "engine/protocol/call_text.h"
#include "engine/protocol/record_filter.h"
#include "engine/record/breakpoints/host_program.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/trace.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck {

using protocol::BreakpointKind;
using protocol::Condition;
using protocol::FilterPart;
using protocol::Flag;
using protocol::Quantity;
using protocol::TextTerm;
using protocol::Verdict;
using protocol::verdict_of;

namespace {

std::string shape_text(std::span<const std::int64_t> shape) {
  return to_string(Shape(shape));
}

protocol::TensorFacts facts_of(DType dtype, const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::uint64_t>(extent);
  return {shape.span(), dtype_name(dtype), count, count * item_size(dtype)};
}

}  // namespace

std::string breakpoint_text(const protocol::Breakpoint& source, const std::string& written,
                            const std::string& error) {
  const auto with_target = [&](const char* text) {
    return text + (source.target.empty() ? std::string() : " " + source.target);
  };
  std::string what;
  switch (source.kind) {
    case BreakpointKind::line:
      what = "line " + std::to_string(source.line);
      break;
    case BreakpointKind::op:
      what = with_target("op");
      break;
    case BreakpointKind::read:
      what = "read of " + (source.target.empty() ? "any variable" : source.target);
      break;
    case BreakpointKind::write:
      what = "write of " + (source.target.empty() ? written : source.target);
      break;
    case BreakpointKind::cell:
      what = "cell start";
      break;
    case BreakpointKind::exception:
      what = "exception, " + error;
      break;
    case BreakpointKind::playback:
      what = "playback";
      break;
    case BreakpointKind::vjp:
      what = with_target("VJP");
      break;
    case BreakpointKind::condition:
      break;
  }
  if (!source.condition.empty()) what += (what.empty() ? "" : ", ") + source.condition;
  return what;
}

Verdict BreakCheck::verdict(const CompiledBreakpoint& breakpoint) {
  // Of the breakpoint before, or of its log.
  measured_ = nullptr;
  series_position_ = 0;
  if (breakpoint.tensor != 0 &&
      std::none_of(event_.inputs.begin(), event_.inputs.end(),
                   [&](const Tensor& input) { return input && input.id() == breakpoint.tensor; }))
    return Verdict::no;
  if (breakpoint.forward != 0 && event_.forward != breakpoint.forward) return Verdict::no;
  current_ = &breakpoint;
  name_problem_.clear();
  try {
    return evaluate(breakpoint.condition, [this](const Condition& one) {
      return std::visit([this](const auto& term) { return look(term); }, one.term);
    });
  } catch (const protocol::NameError& error) {
    name_problem_ = error.what();
    return Verdict::yes;
  }
}

bool BreakCheck::hit(CompiledBreakpoint& breakpoint, std::optional<BreakStop>& stop) {
  if (!name_problem_.empty()) {
    if (breakpoint.memory->spent.load(std::memory_order_relaxed)) return false;
    add_to(stop, breakpoint);
    return true;
  }
  if (breakpoint.memory->spent.load(std::memory_order_relaxed) || seen(breakpoint)) return false;
  const std::uint64_t hits = breakpoint.memory->hits.fetch_add(1) + 1;
  if (hits < breakpoint.source.from_hit) return false;
  if (breakpoint.source.action == protocol::BreakpointAction::log) {
    if (host_hooks().print) host_hooks().print(write(breakpoint, hits));
    return false;
  }
  if (breakpoint.source.action == protocol::BreakpointAction::point) {
    if (const auto value = measure_first(breakpoint.text.quantity()))
      known_.series.add(breakpoint.text.curve(), static_cast<double>(hits), *value, event_.number, "hit");
    return false;
  }
  if (breakpoint.source.once && breakpoint.memory->spent.exchange(true)) return false;
  add_to(stop, breakpoint);
  return true;
}

void BreakCheck::add_to(std::optional<BreakStop>& stop, const CompiledBreakpoint& breakpoint) {
  if (!stop) stop.emplace();
  stop->after = event_.ended;
  stop->breakpoints.push_back(breakpoint.source.id);
  stop->reason += (stop->reason.empty() ? "" : "; ") + reason(breakpoint);
}

void BreakCheck::gather() {
  if (gathered_) return;
  gathered_ = true;
  for (const Tensor& tensor : event_.inputs)
    if (tensor) {
      inputs_.push_back(facts_of(tensor.dtype(), tensor.shape()));
      input_tensors_.push_back(&tensor);
    }
  if (event_.ended) {
    for (const Tensor& tensor : event_.outputs)
      if (tensor) {
        outputs_.push_back(facts_of(tensor.dtype(), tensor.shape()));
        output_tensors_.push_back(&tensor);
      }
  } else {
    for (const TensorSpec& spec : event_.specs) outputs_.push_back(facts_of(spec.dtype, spec.shape));
  }
  facts_.inputs = {inputs_.data(), inputs_.size()};
  facts_.outputs = {outputs_.data(), outputs_.size()};
  facts_.outputs_known = event_.ended || !event_.specs.empty();
  facts_.gives_gradients = event_.kind == EventKind::vjp || event_.kind == EventKind::playback;
  if (const auto name = host_program().name) facts_.name = name;
  facts_.measure = [this](bool output, std::size_t index, const Quantity& quantity) {
    return measure(output, index, quantity);
  };
}

std::optional<double> BreakCheck::measure(bool output, std::size_t index, const Quantity& quantity) {
  const auto& tensors = output ? output_tensors_ : input_tensors_;
  if (index >= tensors.size() || tensors[index]->dtype() == DType::string) return std::nullopt;
  measured_ = tensors[index];
  measured_quantity_ = quantity;
  return measured_value_ = values_.measure(*measured_, quantity);
}

std::optional<double> BreakCheck::measure_first(const Quantity& quantity) {
  gather();
  if (quantity.target.role == protocol::Role::gradient && !facts_.gives_gradients) return std::nullopt;
  const bool output = quantity.target.role == protocol::Role::output ||
                      quantity.target.role == protocol::Role::gradient ||
                      (quantity.target.role == protocol::Role::any && !output_tensors_.empty());
  const auto index = static_cast<std::size_t>(std::max(0, quantity.target.index));
  const auto& facts = output ? outputs_ : inputs_;
  if (index >= facts.size()) return std::nullopt;
  switch (quantity.measure) {
    case protocol::Measure::size:
      return quantity.factor * static_cast<double>(facts[index].size);
    case protocol::Measure::bytes:
      return quantity.factor * static_cast<double>(facts[index].bytes);
    case protocol::Measure::rank:
      return quantity.factor * static_cast<double>(facts[index].shape.size());
    default:
      break;
  }
  const auto value = measure(output, index, quantity);
  return value ? std::optional(quantity.factor * *value) : std::nullopt;
}

Verdict BreakCheck::reads(const TextTerm& term) const {
  for (const Tensor& input : event_.inputs) {
    if (!input || !known_.tensors.get(input.id()).named()) continue;
    const std::string name = name_of(known_.values.name(input.id()));
    if (term.finds(FilterPart::reads, name) || term.finds(FilterPart::name, name)) return Verdict::yes;
  }
  return Verdict::no;
}

Verdict BreakCheck::look(const TextTerm& term) {
  if (term.part == FilterPart::is) {
    const auto state = event_.error   ? protocol::RecordState::failed
                       : event_.ended ? protocol::RecordState::done
                                      : protocol::RecordState::running;
    if (protocol::is_state(term, event_.backward, state)) return Verdict::yes;
    return event_.ended ? Verdict::no : Verdict::unknown;
  }
  const auto looks = [&](FilterPart part) {
    return term.part == part || (term.part == FilterPart::any && part <= FilterPart::name);
  };
  if (looks(FilterPart::op) && term.finds(FilterPart::op, event_.op ? event_.op->name : name_of(event_.name)))
    return Verdict::yes;
  if (looks(FilterPart::kind) &&
      term.finds(FilterPart::kind,
                 protocol::kind_text(record_kind(event_.kind), event_.custom_gradient, event_.backward)))
    return Verdict::yes;
  if (looks(FilterPart::scope) && event_.scope != 0 &&
      term.finds(FilterPart::scope, scope_text(event_.scope)))
    return Verdict::yes;
  if (term.part == FilterPart::call)
    return verdict_of(event_.call != 0 &&
                      term.finds(FilterPart::call, protocol::on_one_line(call_of(event_.call).text)));
  if (looks(FilterPart::cell) || looks(FilterPart::file)) {
    const SourceLocation where = location_of(event_.location);
    if (term.finds(FilterPart::cell, set_.cell_name(where.cell)) || term.finds(FilterPart::file, where.file))
      return Verdict::yes;
  }
  if (looks(FilterPart::name) || term.part == FilterPart::reads)
    if (reads(term) == Verdict::yes) return Verdict::yes;
  if (event_.written != 0 && (term.part == FilterPart::writes || looks(FilterPart::name))) {
    const std::string name = name_of(event_.written);
    if (term.finds(FilterPart::writes, name) || term.finds(FilterPart::name, name)) return Verdict::yes;
  }
  if (term.part == FilterPart::dtype) {
    gather();
    const auto fits = [&](const protocol::TensorFacts& tensor) {
      return term.finds(FilterPart::dtype, tensor.dtype);
    };
    if (std::any_of(inputs_.begin(), inputs_.end(), fits) ||
        std::any_of(outputs_.begin(), outputs_.end(), fits))
      return Verdict::yes;
    return facts_.outputs_known ? Verdict::no : Verdict::unknown;
  }
  return Verdict::no;
}

Verdict BreakCheck::look(Flag flag) const {
  if (flag == Flag::failed) return event_.ended ? verdict_of(event_.error != nullptr) : Verdict::unknown;
  return verdict_of(
      protocol::has_flag(flag, record_kind(event_.kind), event_.backward, protocol::RecordState::running));
}

Verdict BreakCheck::look(const protocol::ShapeTerm& term) {
  gather();
  const auto fits = [&](const protocol::TensorFacts& tensor) { return term.fits(tensor.shape); };
  if (std::any_of(inputs_.begin(), inputs_.end(), fits) ||
      std::any_of(outputs_.begin(), outputs_.end(), fits))
    return Verdict::yes;
  return facts_.outputs_known ? Verdict::no : Verdict::unknown;
}

Verdict BreakCheck::look(const protocol::NumberTerm& term) {
  switch (term.number) {
    case protocol::Number::record:
      return verdict_of(term.holds(event_.number));
    case protocol::Number::line:
      return verdict_of(term.holds(location_of(event_.location).line));
    case protocol::Number::duration:
      return event_.ended && event_.duration_known
                 ? verdict_of(term.holds(static_cast<double>(event_.duration_ns)))
                 : Verdict::unknown;
    case protocol::Number::bytes: {
      gather();
      if (!facts_.outputs_known) return Verdict::unknown;
      double bytes = 0;
      for (const protocol::TensorFacts& tensor : outputs_) bytes += static_cast<double>(tensor.bytes);
      return verdict_of(term.holds(bytes));
    }
    case protocol::Number::thread:
      return verdict_of(term.holds(event_.thread));
    case protocol::Number::depth:
      return verdict_of(term.holds(event_.depth));
  }
  return Verdict::no;
}

Verdict BreakCheck::look(const protocol::ValueTerm& term) {
  if (event_.error) return Verdict::no;
  gather();
  return evaluate(term, facts_);
}

Verdict BreakCheck::look(const protocol::SeriesTerm& term) {
  const SeriesStore::Trend trend = known_.series.trend(term.series);
  if (trend.position == 0 || trend.position <= current_->memory->series_seen.load(std::memory_order_relaxed))
    return Verdict::no;
  series_position_ = std::max(series_position_, trend.position);
  return verdict_of(term.rose ? trend.newest > trend.before : trend.newest < trend.before);
}

// Without a Python program there are no names: such a breakpoint reports this when it is evaluated.
Verdict BreakCheck::look(const protocol::NameTerm& term) {
  const auto lookup = host_program().name;
  if (!lookup)
    throw protocol::NameError("There is no Python program that defines the name \"" + term.name + "\".");
  return verdict_of(protocol::holds(term, lookup));
}

/// A function with a custom gradient returns the results of its last op again, a playback the gradients of
/// its last VJP; and a curve's point counts once, however many ops follow.
bool BreakCheck::seen(CompiledBreakpoint& breakpoint) {
  if (series_position_ != 0) breakpoint.memory->series_seen.store(series_position_);
  if (!event_.ended || event_.error || event_.outputs.empty() || event_.written != 0) return false;
  const std::uint64_t id = event_.outputs.back() ? event_.outputs.back().id() : 0;
  if (id == 0) return false;
  for (const auto& known : breakpoint.memory->tensors_seen)
    if (known.load(std::memory_order_relaxed) == id) return true;
  for (const Tensor& output : event_.outputs)
    if (output)
      breakpoint.memory->tensors_seen[output.id() % breakpoint.memory->tensors_seen.size()].store(
          output.id());
  return false;
}

std::string BreakCheck::reason(const CompiledBreakpoint& breakpoint) {
  std::string text =
      "breakpoint " + std::to_string(breakpoint.source.id) + ": " +
      breakpoint_text(breakpoint.source, event_.written ? name_of(event_.written) : std::string(),
                      event_.error ? event_.error : "");
  if (!name_problem_.empty()) return text + ": " + name_problem_;
  if (!measured_) return text;
  const auto& quantity = measured_quantity_;
  if (quantity.measure <= protocol::Measure::zeros)
    return text + ", " + protocol::count_text(static_cast<std::uint64_t>(measured_value_)) + " of " +
           protocol::count_text(static_cast<std::uint64_t>(measured_->count())) + " elements";
  return text + ", it is " + protocol::quantity_text(measured_value_);
}

/// The sentence once: "no op on this line: no value".
std::string BreakCheck::without_op() {
  return std::exchange(no_op_said_, true) ? "no value" : std::string(event_.no_op);
}

std::string BreakCheck::fact(std::string_view name, std::uint64_t hits) {
  if (name == "line") return std::to_string(location_of(event_.location).line);
  if (name == "hits") return std::to_string(hits);
  if (!event_.no_op.empty()) return without_op();
  if (name == "op") return event_.op ? event_.op->name : name_of(event_.name);
  if (name == "record") return std::to_string(event_.number);
  gather();
  return outputs_.empty() ? "no output" : shape_text(outputs_.front().shape);
}

std::string BreakCheck::measure_text(const Quantity& quantity) {
  if (!event_.no_op.empty()) return without_op();
  if (const auto value = measure_first(quantity)) return protocol::quantity_text(*value);
  const protocol::Target& target = quantity.target;
  const auto index = static_cast<std::size_t>(std::max(0, target.index));
  const std::string number = target.index < 0 ? std::string() : " " + std::to_string(target.index);
  if (target.role == protocol::Role::gradient)
    return facts_.gives_gradients && index < outputs_.size() ? "no number" : "no gradient" + number;
  if (target.role == protocol::Role::any)
    return inputs_.empty() && outputs_.empty() ? "no tensor" : "no number";
  const bool output = target.role == protocol::Role::output;
  if (index < (output ? outputs_ : inputs_).size()) return "no number";  // strings
  return (output ? "no output" : "no input") + number;
}

std::string BreakCheck::write(const CompiledBreakpoint& breakpoint, std::uint64_t hits) {
  no_op_said_ = false;
  return breakpoint.text.write([&](std::string_view name) { return fact(name, hits); },
                               [&](const Quantity& quantity) { return measure_text(quantity); });
}

void BreakCheck::hit_without_op(CompiledBreakpoint& breakpoint, std::uint64_t series_position) {
  name_problem_.clear();
  series_position_ = series_position;
  std::optional<BreakStop> none;  // a log or a point stops nowhere
  hit(breakpoint, none);
}

}  // namespace tapedeck
