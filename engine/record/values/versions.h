// Values of variables that an op computed, so that they can be recomputed. The newest of each variable is
// held, and occasional generations of all of them, so that recomputing any other is short.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "engine/record/trace/tensor_table.h"
#include "engine/record/values/kept_value.h"

namespace tapedeck {

/// Not thread-safe.
class Versions {
 public:
  using Released = std::vector<KeptValue>;

  struct Version {
    std::uint64_t id = 0;        ///< of the variable's value
    std::uint64_t made_of = 0;   ///< id of the op's result that was assigned
    std::uint64_t variable = 0;  ///< Variable::id
  };

  struct Pace {
    std::int64_t interval_ns = 0;  ///< the minimum time between generations,
    std::int64_t ns_per_byte = 0;  ///< and the minimum time per byte
    /// This many held bytes cost nothing; beyond, a new generation replaces an older one unless the recording
    /// has lasted this long per further byte.
    std::int64_t free_bytes = 0, fresh_ns_per_byte = 0;
  };
  explicit Versions(const Pace& pace) : pace_(pace) {}

  /// Adds the variable's newest value; releases the previous one unless it belongs to a generation. `stays`:
  /// adds it to the current generation in any case.
  void add(const Version& version, KeptValue value, std::int64_t now_ns, bool stays, Released& released);
  /// By its own id, or that of the assigned result; undefined if it is not held.
  Tensor held(std::uint64_t id) const;
  void variable_gone(std::uint64_t variable, Released& released);
  /// Releases the variable's newest value unless it belongs to a generation.
  void release_newest(std::uint64_t variable, Released& released);
  /// Drops the most dispensable generation: those that stay are closer together the newer they are. False:
  /// there are only the first and the current one.
  bool thin(Released& released);
  void forget(std::uint64_t below, const TensorTable& table, Released& released);
  void clear(Released& released);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t thinned() const { return thinned_; }  ///< how many generations went
  std::vector<std::uint64_t> ids() const;
  /// Ids of values that belong to generations, and of the results that were assigned.
  std::vector<std::uint64_t> staying_ids() const;

 private:
  struct Entry {
    KeptValue value;
    std::uint64_t made_of = 0, variable = 0;
  };
  struct Generation {
    std::int64_t began_ns = 0;
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> ids;
  };
  struct Owner {
    std::uint64_t newest_id = 0;   ///< 0: it is not held
    Entry newest;                  ///< without a value if it belongs to a generation
    std::uint64_t generation = 0;  ///< the newest one that contains it
  };
  using Entries = std::map<std::uint64_t, Entry>;           // by id, which is by time
  using Generations = std::map<std::uint64_t, Generation>;  // by number, from 1
  void release_newest(Owner& owner, Released& released);
  /// Releases an entry of a generation. If it is its variable's newest value, it stays as that.
  Entries::iterator release(Entries::iterator entry, Released& released);

  const Pace pace_;
  std::uint64_t bytes_ = 0, thinned_ = 0;
  Generations generations_;                                   ///< the kept ones; the last is the current one
  Entries staying_;                                           ///< entries that belong to generations
  std::unordered_map<std::uint64_t, std::uint64_t> made_of_;  ///< their ids by the assigned results
  std::unordered_map<std::uint64_t, Owner> owners_;           ///< by Variable::id
  /// By their ids and by the assigned results. Empty if it must be rebuilt: newest values arrive with every
  /// step, but are looked up only between steps.
  mutable std::unordered_map<std::uint64_t, const Entry*> newest_by_id_;
};

}  // namespace tapedeck
