// The store of Health: samples of gradients, weights and activations, by subject and quantity.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/protocol/health.h"
#include "engine/tensor/shape.h"

namespace tapedeck {

using protocol::HealthKind;

// The sampled quantities; published ones have their own names.
namespace quantity {
// Norms are infinite where an element is NaN or infinite; those of older trace files are over the finite
// elements.
inline constexpr std::string_view gradient = "gradient";  ///< 2-norm; NaN: no gradient
inline constexpr std::string_view weight = "weight";      ///< 2-norm, after the update
inline constexpr std::string_view update = "update";  ///< 2-norm of the step's change / that of the weight
inline constexpr std::string_view rank = "rank";      ///< effective rank of the gradient (health_gauges.h)
inline constexpr std::string_view dead = "dead";      ///< fraction of the units that are 0 for all examples
inline constexpr std::string_view saturated = "saturated";    ///< fraction of the outputs in saturation
inline constexpr std::string_view not_finite = "not finite";  ///< number of elements
inline constexpr std::string_view loss = "loss";
}  // namespace quantity

/// The subject of samples. Equal keys mean the same subject.
struct HealthSubject {
  HealthKind kind = HealthKind::variable;
  std::uint64_t variable = 0;  ///< Variable::id; for an activation that of the layer's weight, or 0
  std::string op;              ///< of an activation
  std::string
      name;  ///< "dense/kernel"; for an activation its weight's or scope's name; for published ones a group
  std::uint32_t scope = 0, location = 0;
  Shape shape;              ///< of a variable; for an activation without the batch
  std::uint64_t order = 0;  ///< in the table: variables by id, activations after their layer's last variable
  bool same_as(const HealthSubject& other) const;
};

struct HealthSample {
  std::uint32_t record = 0;
  double value = 0;
};

struct HealthCurveData {
  std::string quantity;
  std::vector<HealthSample> samples;  ///< records rise
};

struct HealthSubjectData {
  HealthSubject subject;
  std::vector<HealthCurveData> curves;
};

/// A sampled step: its first playback's record.
struct HealthMark {
  std::uint32_t record = 0;
  bool recomputed = false;
};

/// All data, for trace files.
struct HealthData {
  std::vector<HealthSubjectData> subjects;
  std::vector<HealthMark> marks;  ///< records rise
};

/// Thread-safe. Limited to `most_samples`, and to `most_in_curve` per curve; when the limit is reached, every
/// curve (or that one) is thinned out: of two neighbours the one farther from the previous sample stays, so
/// that spikes are kept.
class HealthStore {
 public:
  explicit HealthStore(std::size_t most_samples = std::size_t{1} << 20, std::size_t most_subjects = 4096,
                       std::size_t most_in_curve = 4096)
      : most_samples_(most_samples), most_subjects_(most_subjects), most_in_curve_(most_in_curve) {}

  /// The number of the equal subject, from 1; 0 if there is no room for another one.
  std::uint32_t subject(const HealthSubject& subject);
  /// Replaces a sample of the same record.
  void put(std::uint32_t subject, std::string_view quantity, HealthSample sample);
  /// Notes that the step of that playback was sampled.
  void mark(HealthMark mark);

  std::uint64_t version() const;  ///< grows with each sample
  std::vector<HealthMark> marks() const;
  std::size_t subject_count() const;
  /// The subjects with these numbers (from 1), with their curves.
  std::vector<HealthSubjectData> read(const std::vector<std::uint32_t>& numbers) const;
  /// All subjects, without curves; number n is at index n − 1.
  std::vector<HealthSubject> subjects() const;
  /// The numbers of those with samples of records from `first` to `last`.
  std::vector<std::uint32_t> subjects_in(std::uint32_t first, std::uint32_t last) const;
  HealthCurveData curve(std::uint32_t subject, std::string_view quantity) const;

  HealthData data() const;
  std::uint64_t bytes() const;

 private:
  std::vector<HealthSample>& curve_of(HealthSubjectData& subject, std::string_view quantity);
  void thin_out();

  const std::size_t most_samples_, most_subjects_, most_in_curve_;
  mutable std::mutex mutex_;
  std::vector<HealthSubjectData> subjects_;
  std::vector<HealthMark> marks_;
  std::size_t samples_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace tapedeck
