// Evaluates a condition on the values of a record's tensors: held values, recomputed ones, and the statistics
// that are kept of dropped ones.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/debug/vjp/vjp_call.h"
#include "engine/protocol/conditions/condition.h"
#include "engine/record/breakpoints/break_values.h"
#include "engine/record/recorder.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {

inline bool gives_gradients(EventKind kind) {
  return kind == EventKind::vjp || kind == EventKind::playback;
}

/// Shapes and dtypes of a record's tensors. Tensors of which nothing is known are left out.
class RecordFacts {
 public:
  RecordFacts(std::span<const std::uint64_t> inputs, std::span<const std::uint64_t> outputs,
              const Recorder& recorder, bool gives_gradients);
  RecordFacts(const RecordFacts&) = delete;
  protocol::OpFacts& op() { return op_; }
  std::uint64_t tensor(bool output, std::size_t index) const {
    return index < (output ? outputs_ : inputs_).size() ? (output ? outputs_ : inputs_)[index] : 0;
  }

 private:
  std::vector<RecordedSpec> specs_;
  std::vector<protocol::TensorFacts> facts_;
  std::vector<std::uint64_t> inputs_, outputs_;
  protocol::OpFacts op_;
};

/// Value terms of one record after the other. Of one thread.
class ValueLook {
 public:
  /// `find`: as replay finds values; what it throws but ValueError goes on to the caller.
  ValueLook(const Recorder& recorder, FindTensor find) : recorder_(recorder), find_(std::move(find)) {}

  /// The tensors that the next terms are about, which stay what they are.
  void begin(std::span<const std::uint64_t> inputs, std::span<const std::uint64_t> outputs,
             bool gives_gradients);
  protocol::Verdict verdict(const protocol::ValueTerm& term);
  /// A value that was requested since begin() is lost.
  bool lost() const { return lost_; }
  void note_lost() { lost_ = true; }
  /// What the last term that was decided by a value found.
  const std::optional<double>& measured() const { return measured_; }
  bool counted() const { return measure_ <= protocol::Measure::zeros; }  ///< and it is a number of elements

 private:
  std::optional<double> measure(std::uint64_t tensor, const protocol::Quantity& quantity);

  const Recorder& recorder_;
  const FindTensor find_;
  std::optional<RecordFacts> facts_;
  std::unordered_map<std::uint64_t, Tensor> found_;
  BreakValues values_;
  bool lost_ = false;
  std::optional<double> measured_;
  protocol::Measure measure_ = protocol::Measure::maximum;
};

/// A record of which the values decide: what each term of the condition says without them, by its number.
struct Undecided {
  std::uint32_t number = 0;
  TensorIds inputs, outputs;
  bool gives_gradients = false;
  boost::container::small_vector<protocol::Verdict, 4> terms;
};
/// Unknown: it asks for a lost value (ValueLook::lost), or for what is not recorded.
protocol::Verdict decide(const protocol::Condition& condition, const Undecided& record, ValueLook& values);

}  // namespace tapedeck::debug
