// Stages that select the elements of one data set.
#include <algorithm>

#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

// ---- take

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
  /// An input without elements in a whole round counts as empty: otherwise this would loop forever.
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

}  // namespace tapedeck::data
