// Values that variables had, as far as an op made them: they can be computed again. Held are the newest of
// each variable, and generations of them now and then, so that the way back to any other is short.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "engine/record/trace/tensor_table.h"
#include "engine/record/values/kept_value.h"

namespace tapedeck {

/// Not by itself safe to use from several threads.
class Versions {
 public:
  using Released = std::vector<KeptValue>;

  struct Version {
    std::uint64_t id = 0;        ///< of the variable's value
    std::uint64_t made_of = 0;   ///< id of the op's result that was assigned
    std::uint64_t variable = 0;  ///< Variable::id
  };

  struct Pace {
    std::int64_t interval_ns = 0;  ///< a generation comes no earlier than so long after the one before,
    std::int64_t ns_per_byte = 0;  ///< and than so long for each of its bytes
    /// Of what is held so many bytes are free; then an older one goes when one comes, unless so long was
    /// recorded for each further byte.
    std::int64_t free_bytes = 0, fresh_ns_per_byte = 0;
  };
  explicit Versions(const Pace& pace) : pace_(pace) {}

  /// The variable's newest value; the one before goes, unless it belongs to a generation. `stays`: it is to
  /// belong to the current one in any case.
  void add(const Version& version, KeptValue value, std::int64_t now_ns, bool stays, Released& released);
  /// By its own id, or that of what it was made of; undefined: it is not held.
  Tensor held(std::uint64_t id) const;
  void variable_gone(std::uint64_t variable, Released& released);
  /// The variable's newest value, unless it belongs to a generation.
  void let_go(std::uint64_t variable, Released& released);
  /// The generation goes that is missed least: those that stay are the closer together the newer they are.
  /// False: there was none but the first and the current one.
  bool thin(Released& released);
  void forget(std::uint64_t below, const TensorTable& table, Released& released);
  void clear(Released& released);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t thinned() const { return thinned_; }  ///< how many generations went
  std::vector<std::uint64_t> ids() const;
  /// Of those that belong to generations, and of what they were made of.
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
    std::uint64_t newest_id = 0;   ///< 0: that is not held
    Entry newest;                  ///< without a value where it belongs to a generation
    std::uint64_t generation = 0;  ///< the newest one in which it is
  };
  using Entries = std::map<std::uint64_t, Entry>;           // by id, which is by time
  using Generations = std::map<std::uint64_t, Generation>;  // by number, from 1
  void release_newest(Owner& owner, Released& released);
  /// Of a generation. The newest value of its variable stays as that.
  Entries::iterator release(Entries::iterator entry, Released& released);

  const Pace pace_;
  std::uint64_t bytes_ = 0, thinned_ = 0;
  Generations generations_;  ///< those that are kept; the last is the current one
  Entries staying_;          ///< what belongs to generations
  std::unordered_map<std::uint64_t, std::uint64_t> made_of_;  ///< their ids by what they were made of
  std::unordered_map<std::uint64_t, Owner> owners_;           ///< by Variable::id
  /// By their ids and by what they were made of. Empty where it is to be made anew: the newest come with
  /// every step, and are looked up between steps.
  mutable std::unordered_map<std::uint64_t, const Entry*> newest_by_id_;
};

}  // namespace tapedeck
