#include "engine/record/lockstep/lockstep.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/core/placement.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck {
namespace {

double unit_in_last_place(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    case DType::float32:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

bool is_cast(const OpDef* op) {
  static const OpDef* const cast = Registry::instance().find("cast");
  return op && op == cast;
}

bool comparable(DType a, DType b) {
  return a == b || (is_floating(a) && is_floating(b)) || (is_complex(a) && is_complex(b));
}

/// Ops, and results of the user's own code.
bool writes_values(const LockstepEvent& event) {
  return event.kind == EventKind::op || event.kind == EventKind::custom ||
         (event.kind == EventKind::vjp && event.custom);
}

std::string called(const LockstepEvent& event) {
  return event.op ? event.op->name : event.name;
}

/// The part that a report keeps.
LockstepEvent without_values(const LockstepEvent& event) {
  LockstepEvent kept;
  kept.kind = event.kind;
  kept.op = event.op;
  kept.custom = event.custom;
  kept.failed = event.failed;
  kept.number = event.number;
  kept.location = event.location;
  kept.record = event.record;
  kept.name = event.name;
  return kept;
}

std::optional<double> operands_apart(const LockstepEvent& first, const LockstepEvent& second) {
  if (!first.inputs_held || first.inputs.size() != second.inputs.size()) return std::nullopt;
  double apart = 0;
  for (std::size_t i = 0; i < first.inputs.size(); ++i) {
    const Tensor &a = first.inputs[i], &b = second.inputs[i];
    if (!a || !b || !comparable(a.dtype(), b.dtype()) || a.shape() != b.shape()) return std::nullopt;
    const TensorDifference found = compare_values(a, b, {});
    if (found.index < 0) continue;
    const double largest = std::max(largest_magnitude(a), largest_magnitude(b));
    apart = std::max(apart, largest > 0 ? found.absolute / largest : found.absolute);
  }
  return apart;
}

}  // namespace

Tolerance tolerance_of(const LockstepOptions& options, DType first, DType second) {
  Tolerance tolerance;
  const bool floating = is_differentiable(first) && is_differentiable(second);
  double unit = std::max(unit_in_last_place(first), unit_in_last_place(second));
  if (options.narrowest) unit = std::max(unit, unit_in_last_place(*options.narrowest));
  if (floating && options.loose) {
    tolerance.rtol = std::sqrt(unit);
    tolerance.share = std::min(64 * unit, tolerance.rtol);
  }
  if (options.rtol) tolerance.rtol = *options.rtol;
  if (options.atol) {
    tolerance.atol = *options.atol;
    tolerance.share = 0;
  }
  return tolerance;
}

Lockstep& Lockstep::instance() {
  static auto* const one = new Lockstep;  // ops may run while the process ends
  return *one;
}

void Lockstep::start(const LockstepOptions& options) {
  if (running_.exchange(true))
    fail<FailedPreconditionError>("lockstep: another one runs; a lockstep cannot begin inside of a lockstep");
  options_ = options;
  report_ = {};
  open_.clear();
  thread_.store(std::this_thread::get_id());
  start_again();
  add_front_observer(*this);
}

void Lockstep::start_again() {
  first_.clear();
  storages_.clear();
  held_ = 0;
  report_.held_bytes = 0;
  place_ = 0;
  ops_ = 0;
  phase_ = Phase::first;
}

void Lockstep::pause() {
  phase_ = Phase::idle;
}

void Lockstep::second_run() {
  report_.held_bytes = held_;
  place_ = 0;
  ops_ = 0;
  last_ = {};
  phase_ = Phase::second;
}

LockstepReport Lockstep::finish(bool complete) {
  remove_front_observer(*this);
  if (complete && phase_ == Phase::second && !report_.difference &&
      place_ < static_cast<std::int64_t>(first_.size())) {
    LockstepDifference difference;
    difference.reason = LockstepDifference::Reason::shorter;
    difference.first = std::move(first_[static_cast<std::size_t>(place_)]);
    difference.second = std::move(last_);
    report_.difference = std::move(difference);
  }
  phase_ = Phase::idle;
  first_.clear();
  storages_.clear();
  open_.clear();
  last_ = {};
  held_ = 0;
  running_.store(false);
  return std::exchange(report_, {});
}

bool Lockstep::concerns() const {
  return running_.load(std::memory_order_relaxed) && thread_.load() == std::this_thread::get_id();
}

bool Lockstep::is_ignored(const Event& event) {
  if (phase_ == Phase::idle || (!open_.empty() && open_.back().hides)) return true;
  if (!options_.loose) return false;
  if (event.op == &ops::copy_to_device_op) return true;  // copies differ between devices
  // Conversions differ between dtypes.
  if (!is_cast(event.op)) return false;
  return event.kind == EventKind::vjp ||
         (is_differentiable(event.inputs[0].dtype()) && is_differentiable(event.outputs[0].dtype));
}

LockstepEvent Lockstep::note(const Event& event, std::uint64_t record) {
  LockstepEvent noted;
  noted.kind = event.kind;
  noted.op = event.op;
  noted.custom = event.custom_gradient;
  if (!event.op) noted.name = event.name;
  noted.location = capture_location();
  noted.record = record;
  noted.number = event.kind == EventKind::op ? ++ops_ : ops_;
  return noted;
}

/// Whether they fit within the limit.
bool Lockstep::hold(std::span<const Tensor> tensors) {
  constexpr std::size_t always = 512;  // a digest takes as much
  std::uint64_t more = 0;
  for (const Tensor& tensor : tensors)
    if (tensor && !storages_.contains(tensor.storage().get()) && tensor.storage()->size() > always)
      more += tensor.storage()->size();
  if (held_ + more > options_.limit_bytes) return false;
  held_ += more;
  for (const Tensor& tensor : tensors)
    if (tensor) storages_.insert(tensor.storage().get());
  return true;
}

void Lockstep::begun(const Event& event, std::uint64_t record) {
  if (!concerns()) return;
  if (phase_ == Phase::second && report_.difference)
    throw LockstepDifferenceError("lockstep: the second run differs from the first, and is over");
  Open open;
  if (is_ignored(event)) {
    open.hides = event.kind != EventKind::op;
    open_.push_back(std::move(open));
    return;
  }
  LockstepEvent noted = note(event, record);
  open.place = place_++;
  if (phase_ == Phase::first) {
    if (writes_values(noted) && hold(event.inputs)) {
      noted.inputs.assign(event.inputs.begin(), event.inputs.end());
      noted.inputs_held = true;
    }
    first_.push_back(std::move(noted));
    open_.push_back(std::move(open));
    return;
  }
  noted.inputs.assign(event.inputs.begin(), event.inputs.end());
  noted.inputs_held = true;
  if (open.place >= static_cast<std::int64_t>(first_.size())) {
    LockstepDifference difference;
    difference.reason = LockstepDifference::Reason::longer;
    if (!first_.empty()) difference.first = without_values(first_.back());
    difference.second = std::move(noted);
    stop(std::move(difference));
  }
  LockstepEvent& partner = first_[static_cast<std::size_t>(open.place)];
  if (partner.kind != noted.kind || partner.op != noted.op || partner.name != noted.name) {
    LockstepDifference difference;
    difference.reason = LockstepDifference::Reason::sequence;
    difference.first = std::move(partner);
    difference.second = std::move(noted);
    stop(std::move(difference));
  }
  open.noted = std::move(noted);
  open_.push_back(std::move(open));
}

void Lockstep::ended(const Event& event, std::uint64_t, std::span<const Tensor> outputs, const char* error) {
  (void)event;
  if (!concerns() || open_.empty()) return;
  Open open = std::move(open_.back());
  open_.pop_back();
  if (open.place == ignored || phase_ == Phase::idle || report_.difference) return;
  LockstepEvent& partner = first_[static_cast<std::size_t>(open.place)];
  if (phase_ == Phase::first) return end_first(partner, outputs, error);
  open.noted.failed = error != nullptr;
  if (open.noted.failed != partner.failed) {
    if (error) return;  // its own exception says more, if it is not caught
    LockstepDifference difference;
    difference.reason = LockstepDifference::Reason::failure;
    difference.first = std::move(partner);
    difference.second = std::move(open.noted);
    stop(std::move(difference));
  }
  end_second(partner, open.noted, outputs);
}

void Lockstep::end_first(LockstepEvent& noted, std::span<const Tensor> outputs, const char* error) {
  noted.failed = error != nullptr;
  if (!writes_values(noted)) return;
  if (hold(outputs)) {
    noted.outputs.assign(outputs.begin(), outputs.end());
    noted.outputs_held = true;
    return;
  }
  for (const Tensor& output : outputs) noted.digests.push_back(output ? digest_of(output) : Digest{});
}

void Lockstep::end_second(LockstepEvent& partner, LockstepEvent& noted, std::span<const Tensor> outputs) {
  if (writes_values(noted)) {
    noted.outputs.assign(outputs.begin(), outputs.end());
    noted.outputs_held = true;
    if (noted.kind == EventKind::op) {
      ++report_.ops;
      report_.statistics_only += !partner.outputs_held;
    }
    const std::size_t count = partner.outputs_held ? partner.outputs.size() : partner.digests.size();
    for (std::size_t k = 0; k < std::min(count, noted.outputs.size()); ++k) compare_output(partner, noted, k);
  }
  last_ = without_values(noted);
  // Later ops hold the inputs that they take from it.
  partner.inputs.clear();
  partner.outputs.clear();
  partner.digests.clear();
}

void Lockstep::compare_output(LockstepEvent& partner, LockstepEvent& noted, std::size_t output) {
  const Tensor& second = noted.outputs[output];
  const bool held = partner.outputs_held;
  const Tensor* first = held ? &partner.outputs[output] : nullptr;
  const bool first_there =
      held ? static_cast<bool>(*first)
           : !partner.digests[output].samples.empty() || partner.digests[output].dtype == DType::string;
  if (!first_there && (!second || !held)) return;
  LockstepDifference difference;
  difference.output = output;
  difference.statistics_only = !held;
  const DType dtype = held ? (*first ? first->dtype() : DType{}) : partner.digests[output].dtype;
  const bool alike = first_there && second && comparable(dtype, second.dtype()) &&
                     (held ? first->shape() : partner.digests[output].shape) == second.shape();
  if (alike) {
    difference.tolerance = tolerance_of(options_, dtype, second.dtype());
    difference.values = held ? compare_values(*first, second, difference.tolerance)
                             : compare_values(partner.digests[output], second, difference.tolerance);
    if (difference.values.agrees()) {
      if (difference.values.index < 0) return;
      const double largest = largest_magnitude(second);
      const double share = largest > 0 ? difference.values.absolute / largest : difference.values.absolute;
      if (share <= report_.largest) return;
      report_.largest = share;
      report_.where = difference.values;
      report_.first = without_values(partner);
      report_.second = without_values(noted);
      report_.output = output;
      return;
    }
  } else {
    difference.reason = LockstepDifference::Reason::shape;
  }
  difference.inputs_apart = operands_apart(partner, noted);
  difference.first = std::move(partner);
  difference.second = std::move(noted);
  stop(std::move(difference));
}

void Lockstep::stop(LockstepDifference difference) {
  const std::string name = called(difference.second);
  const std::uint32_t number = difference.second.number;
  report_.difference = std::move(difference);
  fail<LockstepDifferenceError>("lockstep: the second run differs from the first at op ", number, ", ", name);
}

}  // namespace tapedeck
