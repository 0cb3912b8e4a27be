// Stages that pass elements on one at a time.
#include <algorithm>

#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

// ---- take
// ----------------------------------------------------------------------------------------------------------------

class TakeIterator;
class Take final : public Stage<Take, TakeIterator> {
 public:
  Take(DatasetPointer input, std::int64_t count) : Stage("take", {std::move(input)}), count_(count) {}
  std::int64_t cardinality() const override {
    const std::int64_t all = input()->cardinality();
    if (count_ < 0 || all == unknown_cardinality) return all;
    return all == infinite_cardinality ? count_ : std::min(all, count_);
  }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t count_;
};

class TakeIterator final : public OneInput<Take> {
 public:
  TakeIterator(const std::shared_ptr<const Take>& dataset, const Start& how)
      : OneInput(dataset, how), left_(dataset->count() < 0 ? INT64_MAX : dataset->count()) {}
  bool next(Element& element) override {
    if (left_ <= 0 || !input_->next(element)) return end();
    --left_;
    return true;
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(left_);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    left_ = reader.number(INT64_MAX);
  }
  const Tensors* table() const override { return input_->table(); }
  std::int64_t next_rows(std::span<std::int64_t> rows) override {
    const auto wanted = std::min(static_cast<std::uint64_t>(left_), std::uint64_t{rows.size()});
    const std::int64_t got = input_->next_rows(rows.first(static_cast<std::size_t>(wanted)));
    left_ -= got;
    return got;
  }

 private:
  bool end() {
    left_ = 0;
    return false;
  }
  std::int64_t left_;
};

// ---- skip
// ----------------------------------------------------------------------------------------------------------------

class SkipIterator;
class Skip final : public Stage<Skip, SkipIterator> {
 public:
  Skip(DatasetPointer input, std::int64_t count) : Stage("skip", {std::move(input)}), count_(count) {}
  std::int64_t cardinality() const override {
    const std::int64_t all = input()->cardinality();
    if (count_ < 0) return 0;
    return scaled(all, [&](std::int64_t n) { return std::max<std::int64_t>(0, n - count_); });
  }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t count_;
};

class SkipIterator final : public OneInput<Skip> {
 public:
  SkipIterator(const std::shared_ptr<const Skip>& dataset, const Start& how)
      : OneInput(dataset, how), left_(dataset->count() < 0 ? INT64_MAX : dataset->count()) {}
  bool next(Element& element) override { return pass() && input_->next(element); }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(left_);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    left_ = reader.number(INT64_MAX);
  }
  const Tensors* table() const override { return input_->table(); }
  std::int64_t next_rows(std::span<std::int64_t> rows) override {
    return pass() ? input_->next_rows(rows) : 0;
  }

 private:
  bool pass() {
    if (dataset_->count() < 0) return false;
    Element passed;
    for (; left_ > 0; --left_) {
      check_cancelled();
      if (!input_->next(passed)) {
        left_ = 0;
        return false;
      }
    }
    return true;
  }
  std::int64_t left_;
};

// ---- repeat
// ----------------------------------------------------------------------------------------------------------------

class RepeatIterator;
class Repeat final : public Stage<Repeat, RepeatIterator> {
 public:
  Repeat(DatasetPointer input, std::int64_t count) : Stage("repeat", {std::move(input)}), count_(count) {}
  std::int64_t cardinality() const override {
    const std::int64_t once = input()->cardinality();
    if (count_ == 0 || once == 0) return 0;
    if (count_ < 0) return infinite_cardinality;
    return scaled(once, [&](std::int64_t n) {
      std::int64_t product = 0;
      return __builtin_mul_overflow(n, count_, &product) ? INT64_MAX : product;
    });
  }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t count_;
};

class RepeatIterator final : public OneInput<Repeat> {
 public:
  RepeatIterator(const std::shared_ptr<const Repeat>& dataset, const Start& how)
      : OneInput(dataset, how), how_(how), ended_(dataset->count() == 0) {}
  bool next(Element& element) override {
    while (!ended_) {
      if (input_->next(element)) {
        any_ = true;
        return true;
      }
      begin_again();
    }
    return false;
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(round_);
    writer.number(any_);
    writer.number(ended_);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    round_ = reader.number(INT64_MAX);
    any_ = reader.number(1) == 1;
    ended_ = reader.number(1) == 1;
  }
  const Tensors* table() const override { return input_->table(); }
  std::int64_t next_rows(std::span<std::int64_t> rows) override {
    std::size_t filled = 0;
    while (filled < rows.size() && !ended_) {
      const std::int64_t got = input_->next_rows(rows.subspan(filled));
      filled += static_cast<std::size_t>(got);
      any_ = any_ || got > 0;
      if (filled < rows.size()) begin_again();
    }
    return static_cast<std::int64_t>(filled);
  }

 private:
  /// What gave nothing in a whole round is taken to be empty: it would be asked for ever.
  void begin_again() {
    check_cancelled();
    ++round_;
    ended_ = dataset_->count() < 0 ? !any_ : round_ >= dataset_->count();
    any_ = false;
    if (!ended_) input_ = dataset_->input()->start(how_);
  }
  Start how_;
  std::int64_t round_ = 0;
  bool any_ = false, ended_;
};

// ---- shard
// -----------------------------------------------------------------------------------------------------------------

class ShardIterator;
class Shard final : public Stage<Shard, ShardIterator> {
 public:
  Shard(DatasetPointer input, std::int64_t shards, std::int64_t index)
      : Stage("shard", {std::move(input)}), shards_(shards), index_(index) {}
  std::int64_t cardinality() const override {
    return scaled(input()->cardinality(),
                  [&](std::int64_t n) { return n / shards_ + (index_ < n % shards_ ? 1 : 0); });
  }
  std::int64_t shards() const { return shards_; }
  std::int64_t index() const { return index_; }

 private:
  std::int64_t shards_, index_;
};

class ShardIterator final : public OneInput<Shard> {
 public:
  using OneInput::OneInput;
  bool next(Element& element) override {
    while (input_->next(element)) {
      const bool own = at_ == dataset_->index();
      at_ = (at_ + 1) % dataset_->shards();
      if (own) return true;
    }
    return false;
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(at_);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    at_ = reader.number(dataset_->shards() - 1);
  }

 private:
  std::int64_t at_ = 0;
};

// ---- concatenate
// -------------------------------------------------------------------------------------------------------------

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
// -----------------------------------------------------------------------------------------------------------------------

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
// --------------------------------------------------------------------------------------------------------------------

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
  std::vector<IteratorPointer> inputs_;  // the first gives the choices
  std::vector<bool> ended_;
  std::int64_t drawn_ = 0;
  bool stopped_ = false;
};

// ---- ignore_errors
// ---------------------------------------------------------------------------------------------------------------

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
// ---------------------------------------------------------------------------------------------------------------------

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

DatasetPointer take(DatasetPointer input, std::int64_t count) {
  return std::make_shared<Take>(std::move(input), count);
}
DatasetPointer skip(DatasetPointer input, std::int64_t count) {
  return std::make_shared<Skip>(std::move(input), count);
}
DatasetPointer repeat(DatasetPointer input, std::int64_t count) {
  return std::make_shared<Repeat>(std::move(input), count);
}
DatasetPointer shard(DatasetPointer input, std::int64_t shards, std::int64_t index) {
  return std::make_shared<Shard>(std::move(input), shards, index);
}
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
