// Stages that combine elements of several data sets, or split one element into several.
#include <algorithm>

#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

// ---- concatenate

class ConcatenateIterator;
class Concatenate final : public Stage<Concatenate, ConcatenateIterator> {
 public:
  Concatenate(DatasetPointer first, DatasetPointer second)
      : Stage("concatenate", {std::move(first), std::move(second)}) {}
  std::int64_t cardinality() const override {
    const std::int64_t first = input(0)->cardinality(), second = input(1)->cardinality();
    if (first == infinite_cardinality || second == infinite_cardinality) return infinite_cardinality;
    return first < 0 || second < 0 ? unknown_cardinality : first + second;
  }
};

class ConcatenateIterator final : public Iterator {
 public:
  ConcatenateIterator(std::shared_ptr<const Concatenate> dataset, const Start& how)
      : dataset_(std::move(dataset)), how_(how), input_(dataset_->input(0)->start(how)) {}
  bool next(Element& element) override {
    if (input_->next(element)) return true;
    if (second_) return false;
    move_on();
    return input_->next(element);
  }
  void save(StateWriter& writer) override {
    writer.begin("concatenate");
    writer.number(second_);
    input_->save(writer);
  }
  void restore(StateReader& reader) override {
    reader.begin("concatenate");
    second_ = reader.number(1) == 1;
    input_ = dataset_->input(second_ ? 1 : 0)->start(how_);
    input_->restore(reader);
  }

 private:
  void move_on() {
    second_ = true;
    input_ = dataset_->input(1)->start(how_);
  }
  std::shared_ptr<const Concatenate> dataset_;
  Start how_;
  bool second_ = false;
  IteratorPointer input_;
};

// ---- zip

class ZipIterator;
class Zip final : public Stage<Zip, ZipIterator> {
 public:
  explicit Zip(std::vector<DatasetPointer> inputs) : Stage("zip", std::move(inputs)) {}
  std::int64_t cardinality() const override {
    std::int64_t least = infinite_cardinality;
    for (const DatasetPointer& each : inputs_) {
      const std::int64_t own = each->cardinality();
      if (own == unknown_cardinality) return unknown_cardinality;
      if (own >= 0) least = least < 0 ? own : std::min(least, own);
    }
    return least;
  }
  const std::vector<DatasetPointer>& inputs() const { return inputs_; }
};

class ZipIterator final : public Iterator {
 public:
  ZipIterator(const std::shared_ptr<const Zip>& dataset, const Start& how) : dataset_(dataset) {
    for (const DatasetPointer& input : dataset->inputs()) inputs_.push_back(input->start(how));
  }
  bool next(Element& element) override {
    element.clear();
    Element part;
    for (const IteratorPointer& input : inputs_) {
      if (ended_ || !input->next(part)) {
        ended_ = true;
        return false;
      }
      for (Component& component : part) element.push_back(std::move(component));
    }
    return true;
  }
  void save(StateWriter& writer) override {
    writer.begin("zip");
    writer.number(ended_);
    for (const IteratorPointer& input : inputs_) input->save(writer);
  }
  void restore(StateReader& reader) override {
    reader.begin("zip");
    ended_ = reader.number(1) == 1;
    for (const IteratorPointer& input : inputs_) input->restore(reader);
  }

 private:
  std::shared_ptr<const Zip> dataset_;
  std::vector<IteratorPointer> inputs_;
  bool ended_ = false;
};

// ---- choose

class ChooseIterator;
class Choose final : public Stage<Choose, ChooseIterator> {
 public:
  Choose(std::vector<DatasetPointer> inputs, bool stop)
      : Stage("choose_from_datasets", std::move(inputs)), stop_(stop) {}
  const std::vector<DatasetPointer>& inputs() const { return inputs_; }
  bool stop_on_empty() const { return stop_; }

 private:
  bool stop_;
};

class ChooseIterator final : public Iterator {
 public:
  ChooseIterator(const std::shared_ptr<const Choose>& dataset, const Start& how)
      : dataset_(dataset), place_(*dataset, how), ended_(dataset->inputs().size(), false) {
    for (const DatasetPointer& input : dataset->inputs()) inputs_.push_back(input->start(how));
  }
  bool next(Element& element) override {
    while (!stopped_ && std::count(ended_.begin() + 1, ended_.end(), true) < std::ssize(ended_) - 1) {
      check_cancelled();
      if (!inputs_[0]->next(element)) break;
      const std::int64_t choice = place_.at(drawn_, [&] { return chosen(element); });
      ++drawn_;
      const auto which = static_cast<std::size_t>(choice + 1);
      if (ended_[which]) continue;
      if (inputs_[which]->next(element)) return true;
      ended_[which] = true;
      if (dataset_->stop_on_empty()) break;
    }
    stopped_ = true;
    return false;
  }
  void save(StateWriter& writer) override {
    writer.begin("choose");
    writer.number(stopped_);
    writer.number(drawn_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      writer.number(ended_[i]);
      inputs_[i]->save(writer);
    }
  }
  void restore(StateReader& reader) override {
    reader.begin("choose");
    stopped_ = reader.number(1) == 1;
    drawn_ = reader.number(INT64_MAX);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      ended_[i] = reader.number(1) == 1;
      inputs_[i]->restore(reader);
    }
  }

 private:
  std::int64_t chosen(const Element& choice) const {
    const std::int64_t number = scalar_of(choice, "the data set of choices");
    if (number < 0 || number >= std::ssize(inputs_) - 1)
      fail<InvalidArgumentError>("the choice is ", number, "; there are ", inputs_.size() - 1, " data sets");
    return number;
  }
  std::shared_ptr<const Choose> dataset_;
  Place place_;
  std::vector<IteratorPointer> inputs_;  // the first input gives the choices
  std::vector<bool> ended_;
  std::int64_t drawn_ = 0;
  bool stopped_ = false;
};

// ---- ignore_errors

class IgnoreIterator;
class IgnoreErrors final : public Stage<IgnoreErrors, IgnoreIterator> {
 public:
  explicit IgnoreErrors(DatasetPointer input) : Stage("ignore_errors", {std::move(input)}) {}
};

class IgnoreIterator final : public OneInput<IgnoreErrors> {
 public:
  using OneInput::OneInput;
  bool next(Element& element) override {
    for (;;) {
      check_cancelled();
      try {
        return input_->next(element);
      } catch (const StageFailure&) {
      }
    }
  }
};

// ---- unbatch

class UnbatchIterator;
class Unbatch final : public Stage<Unbatch, UnbatchIterator> {
 public:
  explicit Unbatch(DatasetPointer input) : Stage("unbatch", {std::move(input)}) {}
};

class UnbatchIterator final : public OneInput<Unbatch> {
 public:
  using OneInput::OneInput;
  bool next(Element& element) override {
    while (row_ >= rows_) {
      check_cancelled();
      if (!input_->next(batch_)) {
        batch_.clear();
        rows_ = row_ = 0;
        return false;
      }
      row_ = 0;
      rows_ = place_.at(taken_++, [&] { return rows_of_batch(); });
    }
    element.clear();
    for (const Component& component : batch_) element.emplace_back(row_of(component.tensor, row_));
    ++row_;
    return true;
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(taken_);
    writer.number(rows_);
    writer.number(row_);
    writer.element(batch_);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    taken_ = reader.number(INT64_MAX);
    rows_ = reader.number(INT64_MAX);
    row_ = reader.number(rows_);
    batch_ = reader.element();
    if (rows_ > 0 && rows_of_batch() != rows_)
      fail<InvalidArgumentError>("unbatch: the saved state has another batch");
  }

 private:
  std::int64_t rows_of_batch() const {
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      if (!batch_[i].tensor || batch_[i].tensor.rank() == 0)
        fail<InvalidArgumentError>("component ", i, " has no rows");
      if (batch_[i].tensor.dim(0) != batch_[0].tensor.dim(0))
        fail<InvalidArgumentError>("component 0 has ", batch_[0].tensor.dim(0), " rows and component ", i,
                                   " has ", batch_[i].tensor.dim(0));
    }
    return batch_.empty() ? 0 : batch_[0].tensor.dim(0);
  }
  Element batch_;
  std::int64_t taken_ = 0, rows_ = 0, row_ = 0;
};

}  // namespace

DatasetPointer concatenate(DatasetPointer first, DatasetPointer second) {
  return std::make_shared<Concatenate>(std::move(first), std::move(second));
}
DatasetPointer zip(std::vector<DatasetPointer> inputs) {
  return std::make_shared<Zip>(std::move(inputs));
}
DatasetPointer choose(DatasetPointer choice, std::vector<DatasetPointer> inputs, bool stop_on_empty) {
  inputs.insert(inputs.begin(), std::move(choice));
  return std::make_shared<Choose>(std::move(inputs), stop_on_empty);
}
DatasetPointer ignore_errors(DatasetPointer input) {
  return std::make_shared<IgnoreErrors>(std::move(input));
}
DatasetPointer unbatch(DatasetPointer input) {
  return std::make_shared<Unbatch>(std::move(input));
}

}  // namespace tapedeck::data
