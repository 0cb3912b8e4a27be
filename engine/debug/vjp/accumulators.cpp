#include "engine/debug/vjp/accumulators.h"

#include <algorithm>
#include <unordered_map>

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t records_at_once = 4096;

/// A VJP, or a sum, that the playback itself ran.
struct Child {
  std::uint32_t number = 0, forward = 0;
  bool is_vjp = false, ended = false;
  TensorIds inputs, outputs;
};

/// Up to the VJP after `vjp`.
std::vector<Child> children_of(const Recorder& recorder, const RecordView& vjp, const CancelFlag* cancel) {
  const Trace& trace = recorder.trace();
  const std::uint32_t playback = vjp.head.parent, newest = trace.newest();
  std::vector<Child> children;
  bool beyond = false;
  for (std::uint32_t first = playback + 1; first <= newest && !beyond; first += records_at_once) {
    check_cancelled(cancel);
    trace.glance(first, std::min(newest, first + records_at_once - 1), [&](const RecordGlance& glance) {
      if (beyond || glance.head.parent != playback) return;
      const bool is_vjp = glance.head.kind == EventKind::vjp;
      beyond = is_vjp && glance.number > vjp.number;
      const bool sum = glance.head.kind == EventKind::op && glance.head.op->form == Form::sum;
      if (beyond || (!is_vjp && !sum)) return;
      children.push_back({glance.number, glance.head.forward, is_vjp, glance.state == RecordState::done,
                          TensorIds(glance.inputs.begin(), glance.inputs.end()),
                          TensorIds(glance.outputs.begin(), glance.outputs.end())});
    });
  }
  return children;
}

/// Plays the sums again: what each tensor's gradient is at every moment.
class Ledger {
 public:
  Ledger(const Recorder& recorder, const RecordView& vjp, const CancelFlag* cancel)
      : recorder_(recorder), children_(children_of(recorder, vjp, cancel)) {
    RecordView playback;
    running_ = recorder.trace().read(vjp.head.parent, playback) && playback.state == RecordState::running;
  }

  /// Filled by until().
  SummedGradient gradient_of(std::uint32_t sum) const {
    const auto found = gradients_.find(sum);
    if (found == gradients_.end()) return {};
    const auto& [target, count] = found->second;
    const std::vector<GradientShare>& all = shares_.at(target);
    return {target, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)}};
  }

  std::vector<Accumulation> until(std::uint32_t vjp) {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (!children_[i].is_vjp) continue;
      std::vector<Accumulation> sums = add(i);
      if (children_[i].number == vjp) return sums;
    }
    return {};
  }

 private:
  /// A sum of another tensor's gradient is none of this one's; a gradient that was given for a target is.
  bool continues(const Child& sum, std::uint64_t tensor, std::uint64_t contribution) const {
    if (sum.is_vjp || sum.inputs.size() != 2 || sum.inputs[1] != contribution) return false;
    if (const auto known = sums_.find(tensor); tensor && known != sums_.end())
      return known->second == sum.inputs[0];
    return std::none_of(sums_.begin(), sums_.end(),
                        [&](const auto& other) { return other.second == sum.inputs[0]; });
  }

  std::vector<Accumulation> add(std::size_t at) {
    const Child& vjp = children_[at];
    RecordView forward;
    if (!recorder_.trace().read(vjp.forward, forward)) forward.inputs.clear();
    const std::size_t count = std::max<std::size_t>(forward.inputs.size(), vjp.outputs.size());
    std::vector<Accumulation> result(count);
    std::size_t next = at + 1;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t tensor = i < forward.inputs.size() ? forward.inputs[i] : 0;
      const auto known = sums_.find(tensor);
      if (tensor && known != sums_.end()) result[i].before = known->second;
      if (!vjp.ended || i >= vjp.outputs.size() || vjp.outputs[i] == 0) continue;
      result[i].after = vjp.outputs[i];
      const GradientShare share{vjp.number, static_cast<std::uint32_t>(i), vjp.outputs[i]};
      if (next < children_.size() && continues(children_[next], tensor, vjp.outputs[i])) {
        const Child& sum = children_[next++];
        result[i] = {sum.inputs[0], sum.ended && !sum.outputs.empty() ? sum.outputs[0] : 0};
        if (tensor) note(tensor, share, sum);
      } else if (running_ && tensor && known != sums_.end() && next == children_.size()) {
        result[i] = {known->second, 0};  // the playback has not come to this sum
      } else {
        result[i].before = 0;
        if (tensor) shares_[tensor] = {share};
      }
      if (tensor) sums_[tensor] = result[i].after;
    }
    return result;
  }

  void note(std::uint64_t tensor, const GradientShare& share, const Child& sum) {
    std::vector<GradientShare>& shares = shares_[tensor];
    if (shares.empty()) shares.push_back({0, 0, sum.inputs[0]});
    shares.push_back(share);
    gradients_[sum.number] = {tensor, shares.size()};
  }

  const Recorder& recorder_;
  std::vector<Child> children_;
  bool running_ = false;                                   ///< sums may be still to come
  std::unordered_map<std::uint64_t, std::uint64_t> sums_;  ///< tensor → its gradient so far
  std::unordered_map<std::uint64_t, std::vector<GradientShare>> shares_;
  /// Sum → whose gradient, and how many of that one's shares are in it.
  std::unordered_map<std::uint32_t, std::pair<std::uint64_t, std::size_t>> gradients_;
};

}  // namespace

std::vector<Accumulation> accumulations(const Recorder& recorder, const RecordView& vjp,
                                        const CancelFlag* cancel) {
  return Ledger(recorder, vjp, cancel).until(vjp.number);
}

SummedGradient summed_gradient(const Recorder& recorder, const RecordView& vjp, std::uint32_t sum,
                               const CancelFlag* cancel) {
  Ledger ledger(recorder, vjp, cancel);
  ledger.until(vjp.number);
  return ledger.gradient_of(sum);
}

}  // namespace tapedeck::debug
