// Data flow outside the records: assignments to variables, reads by Python or NumPy, and requested gradients.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/record/trace/tensor_table.h"
#include "engine/tensor/tensor.h"

namespace tapedeck {

/// A value assigned to a variable, or its initial value.
struct Assignment {
  std::uint64_t leaf = 0;      ///< id of the variable's value
  std::uint64_t value = 0;     ///< id of the assigned tensor
  std::uint64_t variable = 0;  ///< Variable::id
  std::uint64_t since = 0;     ///< newer tensors, up to `value`, were made by the assignment itself
  std::uint32_t location = 0;
  std::uint32_t after = 0;  ///< newest record then
};

/// A tensor whose elements went to Python or NumPy: float(t), t.numpy(), np.exp(t).
struct ExternalRead {
  std::uint64_t tensor = 0;
  std::uint64_t newest = 0;  ///< id of the newest tensor then: what depends on the read is newer
  std::uint32_t location = 0;
  std::optional<double> number =
      std::nullopt;  ///< if it was a single number on the host; not stored in files
};

/// The request of a playback.
struct RequestedGradients {
  std::uint32_t playback = 0;          ///< its record
  std::vector<std::uint64_t> sources;  ///< ids, in the order of the record's outputs
};

/// Entries are dropped with the records to which they belong: without an assignment, older values of the
/// variable cannot be traced back. For programs that assign but run no ops, only the newest stay.
/// Thread-safe.
class DataFlowLog {
 public:
  explicit DataFlowLog(std::uint64_t most_bytes = UINT64_MAX) { set_most_bytes(most_bytes); }
  /// Applies from the next entry on; a few hundred thousand are always kept.
  void set_most_bytes(std::uint64_t bytes);
  /// To be called after the table forgot tensors: drops entries of records before that one, except those of
  /// tensors that the table knows, and of variables' current values.
  void forget(std::uint32_t oldest_record, const TensorTable& table);
  std::uint64_t bytes() const;
  void add(const Assignment& assignment);
  void variable_gone(std::uint64_t variable);
  void add(const ExternalRead& external_read);
  void add(RequestedGradients asked);
  std::optional<Assignment> assignment_of(std::uint64_t leaf) const;
  /// Id of the newest variable's value whose assignment was forgotten; 0: none was.
  std::uint64_t newest_forgotten() const;
  /// All known values of the variable.
  std::set<std::uint64_t> values_of(std::uint64_t variable) const;
  /// The value that the variable had before that record began; 0: the variable is newer. nullopt: its
  /// assignment was forgotten.
  std::optional<std::uint64_t> value_before(std::uint64_t variable, std::uint64_t record) const;
  /// Newest first.
  std::vector<ExternalRead> external_reads() const;
  /// Empty: unknown.
  std::vector<std::uint64_t> sources_of(std::uint32_t playback) const;
  /// At most `limit` assignments of values with ids above `leaf`, in order.
  std::vector<Assignment> assignments_after(std::uint64_t leaf, std::size_t limit) const;
  /// At most `limit` requests of records above `playback`, in order.
  std::vector<RequestedGradients> requests_after(std::uint32_t playback, std::size_t limit) const;
  /// The newest playback that computed the gradient of that tensor; 0: none.
  std::uint32_t playback_for(std::uint64_t source) const;
  std::uint32_t newest_playback() const;  ///< 0: none
  /// All kept entries, oldest first.
  std::vector<Assignment> assignments() const;
  std::vector<RequestedGradients> gradient_requests() const;
  void restore_newest_forgotten(std::uint64_t id);

 private:
  void drop_assignment();
  void drop_request();

  std::size_t assignments_limit_ = 0, external_reads_limit_ = 0, requests_limit_ = 0;
  mutable std::mutex mutex_;
  std::deque<Assignment> assignments_;                       // by leaf, which is by time
  std::unordered_map<std::uint64_t, std::uint64_t> newest_;  // leaf by variable
  std::uint64_t newest_forgotten_ = 0;
  std::deque<ExternalRead> external_reads_;
  std::deque<RequestedGradients> requests_;  // by playback
  std::uint64_t source_count_ = 0;           ///< in all requests
};

}  // namespace tapedeck
