// Shared by the files of this folder.
#pragma once

#include "engine/data/stages.h"
#include "engine/data/state.h"
#include "engine/data/threads.h"

namespace tapedeck::data {

/// A data set whose iterators are Iterator_, constructed from the data set and their Start.
template <class Self, class Iterator_>
class Stage : public Dataset {
 public:
  using Dataset::Dataset;
  IteratorPointer start(const Start& how) const override {
    return std::make_unique<Iterator_>(std::static_pointer_cast<const Self>(shared_from_this()), how);
  }
  const DatasetPointer& input(std::size_t i = 0) const { return inputs_[i]; }
};

/// An iterator over one input that reads it from its beginning.
template <class Dataset_>
class OneInput : public Iterator {
 public:
  OneInput(std::shared_ptr<const Dataset_> dataset, const Start& how)
      : dataset_(std::move(dataset)), place_(*dataset_, how), input_(dataset_->input()->start(how)) {}
  void save(StateWriter& writer) override {
    writer.begin(dataset_->name());
    input_->save(writer);
  }
  void restore(StateReader& reader) override {
    reader.begin(dataset_->name());
    input_->restore(reader);
  }

 protected:
  std::shared_ptr<const Dataset_> dataset_;
  Place place_;
  IteratorPointer input_;
};

/// Applies the operation to n, unless n is infinite or unknown.
template <class Operation>
std::int64_t scaled(std::int64_t cardinality, Operation&& operation) {
  return cardinality < 0 ? cardinality : operation(cardinality);
}

/// Row `row` of a tensor, as a view.
Tensor row_of(const Tensor& tensor, std::int64_t row);
/// The number in a function's result: a scalar of a whole or bool dtype. InvalidArgumentError naming `what`.
std::int64_t scalar_of(const Element& results, std::string_view what);
/// The only component, a data set. InvalidArgumentError naming `what`.
const DatasetPointer& dataset_of(const Element& results, std::string_view what);

}  // namespace tapedeck::data
