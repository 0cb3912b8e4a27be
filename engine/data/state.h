// An iterator's state as plain numbers and tensors, written and read in the same order.
#pragma once

#include <string_view>

#include "engine/data/dataset.h"

namespace tapedeck::data {

struct State {
  std::vector<std::int64_t> numbers;
  std::vector<Tensor> tensors;
};

class StateWriter {
 public:
  explicit StateWriter(State& state) : state_(state) {}
  /// A mark that the reader checks: the stage's name.
  void begin(std::string_view stage);
  void number(std::int64_t value) { state_.numbers.push_back(value); }
  void text(std::string_view value);
  void tensor(const Tensor& value) { state_.tensors.push_back(value); }
  /// FailedPreconditionError if a component is a data set that cannot be written.
  void element(const Element& element);
  template <class Elements>
  void elements(const Elements& all) {
    number(static_cast<std::int64_t>(all.size()));
    for (const Element& each : all) element(each);
  }

 private:
  State& state_;
};

/// Never trusts its input: InvalidArgumentError if the state is not one of this data set.
class StateReader {
 public:
  explicit StateReader(const State& state) : state_(state) {}
  void begin(std::string_view stage);
  std::int64_t number();
  /// A number from 0 to `most`.
  std::int64_t number(std::int64_t most);
  std::string text();
  Tensor tensor();
  Element element();
  std::vector<Element> elements();
  /// Throws if something is left.
  void end() const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  const State& state_;
  std::size_t numbers_read_ = 0, tensors_read_ = 0;
};

}  // namespace tapedeck::data
