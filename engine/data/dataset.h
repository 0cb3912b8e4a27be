// Data sets: trees of immutable stages. Iterators are state machines that can be saved between two elements.
//
// No stage needs Python: a user's function is passed as a Function. An iterator belongs to one thread at a
// time; stages with their own threads (prefetch, parallel map) end them on destruction.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck::data {

class Dataset;
using DatasetPointer = std::shared_ptr<const Dataset>;
class StateReader;
class StateWriter;

/// One leaf of an element: a tensor, or a data set (as window() and functions return them).
struct Component {
  Component() = default;
  Component(Tensor value) : tensor(std::move(value)) {}
  Component(DatasetPointer value) : dataset(std::move(value)) {}
  Tensor tensor;
  DatasetPointer dataset;
};
using Element = std::vector<Component>;

/// A user's function, which a stage calls per element.
class Function {
 public:
  virtual ~Function() = default;
  /// Called concurrently. `results` is empty on entry. Throws whatever the user's code throws.
  virtual void call(const Element& arguments, Element& results) const = 0;
};
using FunctionPointer = std::shared_ptr<const Function>;

/// An error in a stage; `cause` is the original exception.
struct StageFailure : Error {
  StageFailure(std::string place, std::exception_ptr thrown);
  std::string place;  ///< "map (stage 2 of 4), element 17"
  std::exception_ptr cause;
};

/// The parameters with which all iterators of a tree start.
struct Start {
  int stages = 0;           ///< of the whole tree
  bool own_threads = true;  ///< false: every stage works on the consumer's thread, for a debugger
};

constexpr std::int64_t infinite_cardinality = -1;
constexpr std::int64_t unknown_cardinality = -2;

class Iterator {
 public:
  virtual ~Iterator() = default;
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  /// Replaces `element` with the next one. False at the end, and on every later call.
  virtual bool next(Element& element) = 0;
  /// Writes what a later iterator of an equal data set needs to continue with the same next element.
  virtual void save(StateWriter& writer) = 0;
  virtual void restore(StateReader& reader) = 0;

  /// If every element is a row of constant tensors: those tensors. Rows can then be requested by number, and
  /// batches gathered without a tensor per element.
  virtual const Tensors* table() const { return nullptr; }
  /// The numbers of the next rows of the table; fewer only at the end. Replaces as many calls of next().
  virtual std::int64_t next_rows(std::span<std::int64_t> rows) {
    (void)rows;
    return 0;
  }
};
using IteratorPointer = std::unique_ptr<Iterator>;

class Dataset : public std::enable_shared_from_this<Dataset> {
 public:
  virtual ~Dataset() = default;
  Dataset(std::string name, std::vector<DatasetPointer> inputs);
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  /// A new iterator at the first element.
  virtual IteratorPointer start(const Start& how) const = 0;
  /// How many elements; or infinite_cardinality, unknown_cardinality.
  virtual std::int64_t cardinality() const { return unknown_cardinality; }
  /// Writes the elements for elements_of, if the data set can be an element in a saved iterator's buffer;
  /// else returns false.
  virtual bool save_elements(StateWriter& writer) const;

  const std::string& name() const { return name_; }
  int depth() const { return depth_; }  ///< 1 for a source

 protected:
  std::vector<DatasetPointer> inputs_;

 private:
  std::string name_;
  int depth_ = 1;
};

/// The first iterator of a tree. `own_threads` as in Start.
IteratorPointer iterate(const Dataset& dataset, bool own_threads = true);

/// An iterator's position, for errors.
class Place {
 public:
  Place(const Dataset& dataset, const Start& how)
      : name_(&dataset.name()), depth_(dataset.depth()), stages_(how.stages) {}
  /// Throws StageFailure for what `work` throws; interrupts and existing StageFailures propagate unchanged.
  template <class Work>
  auto at(std::int64_t element, Work&& work) const {
    try {
      return work();
    } catch (...) {
      rethrow(element);
    }
  }

 private:
  [[noreturn]] void rethrow(std::int64_t element) const;
  const std::string* name_;  ///< the data set's, which outlives its iterators
  int depth_, stages_;
};

/// A pseudorandom sequence whose state is two numbers that can be saved: SplitMix64 (Steele, Lea, Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014).
class RandomStream {
 public:
  RandomStream() = default;
  explicit RandomStream(std::uint64_t key) : key_(key) {}
  std::uint64_t next();
  /// Uniform below `limit` (at least 1): the high half of a product (Lemire, "Fast random integer generation
  /// in an interval", 2019), without bias.
  std::uint64_t below(std::uint64_t limit);
  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  std::uint64_t key_ = 0, counter_ = 0;
};

}  // namespace tapedeck::data
