// Tensors that no op made, because what wrote their memory went through other ones: of which tensors they
// have their elements.
#pragma once

#include <optional>
#include <vector>

#include "engine/debug/why/foreign_memory.h"

namespace tapedeck::debug {

/// One element of a tensor, in row-major order.
struct ElementPlace {
  std::uint64_t tensor = 0;
  std::int64_t place = 0;
};

/// A tensor whose elements another one has.
struct ElementSource {
  std::uint64_t tensor = 0;
  std::int64_t elements = 0;  ///< so many of them; 0: it is not known
};

/// Used by one thread, while the Past lives.
class WrittenMemory {
 public:
  explicit WrittenMemory(Past& past) : past_(past) {}

  /// The older tensors that a tensor has its elements of, where no op made it; empty: an op did, it is a
  /// variable's value, or none are known. Throws Cancelled.
  std::vector<ElementSource> sources(std::uint64_t tensor);
  /// The same of one element; nullopt: it is not known. In a trace file it never is.
  std::optional<ElementPlace> source(std::uint64_t tensor, std::int64_t place);
  /// The tensor's `value` where `other` gives other values of its sources; undefined ones for those that have
  /// none. The dtypes may be others, too.
  Tensor with_other_sources(std::uint64_t tensor, const Tensor& value,
                            const std::function<Tensor(std::uint64_t)>& other);
  /// Whether a source was only guessed, because the places in memory are not known (a trace file).
  bool has_guessed() const { return guessed_; }
  /// All writes that are recorded.
  const SharedMemory& shared();

 private:
  struct Known {
    std::vector<std::uint64_t> tensors;
    std::vector<std::int32_t> which;  ///< by element
    std::vector<std::int64_t> places;
    bool exact = false;
  };
  const Known& known(std::uint64_t tensor);
  Known look(std::uint64_t tensor);

  Past& past_;
  std::optional<SharedMemory> shared_;  ///< read where it is needed
  std::unordered_map<std::uint64_t, Known> known_;
  bool guessed_ = false;
};

}  // namespace tapedeck::debug
