// Where values leave the recorded ops and come back as leaves: assignments to variables, and what Python or
// NumPy reads.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// A value that was assigned to a variable, or that one began with.
struct Assignment {
  std::uint64_t leaf = 0;      ///< id of the variable's value
  std::uint64_t value = 0;     ///< id of the tensor that it was made of
  std::uint64_t variable = 0;  ///< Variable::id
  std::uint64_t since = 0;     ///< newer tensors, up to `value`, were made by the assignment itself
  std::uint32_t location = 0;
  std::uint32_t after = 0;  ///< newest record then
};

/// A tensor whose elements went to Python or NumPy: float(t), t.numpy(), np.exp(t).
struct Departure {
  std::uint64_t tensor = 0;
  std::uint64_t newest = 0;  ///< id of the newest tensor then: what came of it is newer
  std::uint32_t location = 0;
};

/// The newest of both; older ones are forgotten. Any thread may call.
class Handoffs {
 public:
  void add(const Assignment& assignment);
  void add(const Departure& departure);
  std::optional<Assignment> assignment_of(std::uint64_t leaf) const;
  /// Every value of the variable that is known.
  std::set<std::uint64_t> values_of(std::uint64_t variable) const;
  /// The newest first.
  std::vector<Departure> departures() const;

 private:
  static constexpr std::size_t limit = 1 << 16;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Assignment> assignments_;  // by leaf, which is by time
  std::deque<Departure> departures_;
};

}  // namespace tapedeck
