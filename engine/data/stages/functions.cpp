// Stages that call a function for each element, on the consumer's thread.
#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

/// A stage with a function.
template <class Self, class Iterator_>
class FunctionStage : public Stage<Self, Iterator_> {
 public:
  FunctionStage(std::string name, DatasetPointer input, FunctionPointer function)
      : Stage<Self, Iterator_>(std::move(name), {std::move(input)}), function_(std::move(function)) {}
  const Function& function() const { return *function_; }

 private:
  FunctionPointer function_;
};

/// Counts elements, for errors.
template <class Dataset_>
class Counting : public OneInput<Dataset_> {
 public:
  using OneInput<Dataset_>::OneInput;
  void save(StateWriter& writer) override {
    OneInput<Dataset_>::save(writer);
    writer.number(taken_);
  }
  void restore(StateReader& reader) override {
    OneInput<Dataset_>::restore(reader);
    taken_ = reader.number(INT64_MAX);
  }

 protected:
  /// The function's results for the next element, which becomes `argument`; false at the end.
  bool call_next(Element& argument, Element& results) {
    if (!this->input_->next(argument)) return false;
    results.clear();
    this->place_.at(taken_++, [&] { this->dataset_->function().call(argument, results); });
    return true;
  }
  std::int64_t taken_ = 0;
};

class MapIterator;
class Map final : public FunctionStage<Map, MapIterator> {
 public:
  using FunctionStage::FunctionStage;
  std::int64_t cardinality() const override { return input()->cardinality(); }
};
class MapIterator final : public Counting<Map> {
 public:
  using Counting::Counting;
  bool next(Element& element) override {
    Element results;
    if (!call_next(element, results)) return false;
    element = std::move(results);
    return true;
  }
};

class FilterIterator;
class Filter final : public FunctionStage<Filter, FilterIterator> {
 public:
  using FunctionStage::FunctionStage;
};
class FilterIterator final : public Counting<Filter> {
 public:
  using Counting::Counting;
  bool next(Element& element) override {
    Element results;
    while (call_next(element, results)) {
      if (place_.at(taken_ - 1, [&] { return scalar_of(results, "the predicate"); }) != 0) return true;
      check_cancelled();
    }
    return false;
  }
};

class TakeWhileIterator;
class TakeWhile final : public FunctionStage<TakeWhile, TakeWhileIterator> {
 public:
  using FunctionStage::FunctionStage;
};
class TakeWhileIterator final : public Counting<TakeWhile> {
 public:
  using Counting::Counting;
  bool next(Element& element) override {
    Element results;
    if (ended_ || !call_next(element, results)) return false;
    ended_ = place_.at(taken_ - 1, [&] { return scalar_of(results, "the predicate"); }) == 0;
    return !ended_;
  }
  void save(StateWriter& writer) override {
    Counting::save(writer);
    writer.number(ended_);
  }
  void restore(StateReader& reader) override {
    Counting::restore(reader);
    ended_ = reader.number(1) == 1;
  }

 private:
  bool ended_ = false;
};

class ScanIterator;
class Scan final : public FunctionStage<Scan, ScanIterator> {
 public:
  Scan(DatasetPointer input, Element state, FunctionPointer function)
      : FunctionStage("scan", std::move(input), std::move(function)), state_(std::move(state)) {}
  std::int64_t cardinality() const override { return input()->cardinality(); }
  const Element& first_state() const { return state_; }

 private:
  Element state_;
};
class ScanIterator final : public Counting<Scan> {
 public:
  ScanIterator(const std::shared_ptr<const Scan>& dataset, const Start& how)
      : Counting(dataset, how), state_(dataset->first_state()) {}
  bool next(Element& element) override {
    Element input, results;
    if (!input_->next(input)) return false;
    Element arguments = state_;
    for (Component& component : input) arguments.push_back(std::move(component));
    place_.at(taken_++, [&] {
      dataset_->function().call(arguments, results);
      if (results.size() < state_.size())
        fail<InvalidArgumentError>("the function returned ", results.size(), " values; the state has ",
                                   state_.size());
    });
    const auto split = results.begin() + std::ssize(state_);
    element.assign(std::make_move_iterator(split), std::make_move_iterator(results.end()));
    results.erase(split, results.end());
    state_ = std::move(results);
    return true;
  }
  void save(StateWriter& writer) override {
    Counting::save(writer);
    writer.element(state_);
  }
  void restore(StateReader& reader) override {
    Counting::restore(reader);
    state_ = reader.element();
  }

 private:
  Element state_;
};

}  // namespace

DatasetPointer map(DatasetPointer input, FunctionPointer function, std::string name) {
  return std::make_shared<Map>(std::move(name), std::move(input), std::move(function));
}
DatasetPointer filter(DatasetPointer input, FunctionPointer predicate) {
  return std::make_shared<Filter>("filter", std::move(input), std::move(predicate));
}
DatasetPointer take_while(DatasetPointer input, FunctionPointer predicate) {
  return std::make_shared<TakeWhile>("take_while", std::move(input), std::move(predicate));
}
DatasetPointer scan(DatasetPointer input, Element state, FunctionPointer function) {
  return std::make_shared<Scan>(std::move(input), std::move(state), std::move(function));
}

}  // namespace tapedeck::data
