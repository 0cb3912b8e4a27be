// Collects the samples of one step for the store; the same for a running and a recomputed step.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/record/health/health.h"
#include "engine/record/health/health_gauges.h"
#include "engine/record/trace/data_flow_log.h"
#include "engine/record/trace/trace.h"
#include "engine/record/values/values.h"

namespace tapedeck {

/// The parts of the recording that samples need.
struct HealthPast {
  const Trace& trace;
  const Values& values;
  const DataFlowLog& data_flow;
};

/// The variable whose value the tensor is; nullopt if there is none. `variable`: its id if the caller knows
/// it (old assignments are forgotten); else 0.
std::optional<HealthSubject> variable_subject(const HealthPast& past, std::uint64_t leaf,
                                              std::uint64_t variable = 0);

/// An op of an activation function that ran.
struct ActivationCall {
  std::uint32_t record = 0;
  const OpDef* op = nullptr;
  std::uint64_t input = 0, output = 0;
  std::uint32_t scope = 0, location = 0;
};
/// Ids of variables by their values, if known better than from the newest assignments.
using KnownVariables = std::map<std::uint64_t, std::uint64_t>;
/// Named after its scope, or after the weight that leads to it.
HealthSubject activation_subject(const HealthPast& past, const ActivationCall& call, const Shape& shape,
                                 const KnownVariables& known = {});

/// Used by one thread at a time.
class HealthBatch {
 public:
  HealthBatch(const HealthPast& past, HealthStore& store) : past_(past), store_(store) {}

  void know(std::uint64_t value, std::uint64_t variable) { known_[value] = variable; }
  /// The target of a playback, if it is a single number.
  void loss(std::uint32_t playback, std::uint32_t location, const Tensor& target);
  /// The gradient of a source of a playback. `id`: of the gradient as recorded; 0, with an undefined tensor:
  /// none.
  void gradient(const HealthSubject& subject, std::uint32_t playback, std::uint64_t id,
                const Tensor& gradient, bool with_rank);
  /// The gradient passed to an optimiser, if no playback gave the variable one.
  void given_gradient(const HealthSubject& subject, std::uint32_t record, const Tensor& gradient);
  void update(const HealthSubject& subject, std::uint32_t record, const Tensor& before, const Tensor& now);
  void activation(const ActivationCall& call, const Tensor& output);
  /// Moves all samples to the store, with the mark if there was a playback.
  void write(bool mark, bool recomputed);
  bool empty() const { return samples_.empty(); }

 private:
  enum class Join { replace, least, mean, sum };
  struct Waiting {
    HealthSample sample;
    std::uint32_t count = 0;
    Join join = Join::replace;
  };
  void add(std::uint32_t subject, std::string_view quantity, HealthSample sample, Join join = Join::replace);
  void not_finite(std::uint32_t subject, std::uint32_t record, std::uint64_t count);

  const HealthPast past_;
  HealthStore& store_;
  KnownVariables known_;
  std::map<std::pair<std::uint32_t, std::string_view>, Waiting> samples_;
  std::uint32_t playback_ = 0;  ///< the first one
};

}  // namespace tapedeck
