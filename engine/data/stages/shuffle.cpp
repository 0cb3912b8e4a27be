// Shuffling as TensorFlow defines it: each element is drawn from a buffer and replaced by the next of the
// input.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

class ShuffleIterator;
class Shuffle final : public Stage<Shuffle, ShuffleIterator> {
 public:
  Shuffle(DatasetPointer input, std::int64_t buffer_size, std::uint64_t seed, bool reshuffle)
      : Stage("shuffle", {std::move(input)}), buffer_size_(buffer_size), seed_(seed), reshuffle_(reshuffle) {}
  std::int64_t cardinality() const override { return input()->cardinality(); }
  std::size_t buffer_size() const { return static_cast<std::size_t>(buffer_size_); }
  /// The seed of the next iterator: advances in the sequence of seeds unless all shuffle alike.
  RandomStream stream() const {
    const std::uint64_t number = reshuffle_ ? started_.fetch_add(1, std::memory_order_relaxed) : 0;
    RandomStream mixed(seed_ ^ (number * 0xD1342543DE82EF95U));
    return RandomStream(mixed.next());
  }
  std::uint64_t started() const { return started_.load(std::memory_order_relaxed); }
  void set_started(std::uint64_t count) const { started_.store(count, std::memory_order_relaxed); }

 private:
  std::int64_t buffer_size_;
  std::uint64_t seed_;
  bool reshuffle_;
  mutable std::atomic<std::uint64_t> started_{0};
};

/// Over a table of rows the buffer holds only their numbers.
class ShuffleIterator final : public OneInput<Shuffle> {
 public:
  ShuffleIterator(const std::shared_ptr<const Shuffle>& dataset, const Start& how)
      : OneInput(dataset, how), random_(dataset->stream()) {}
  bool next(Element& element) override {
    if (table()) {
      std::int64_t row = 0;
      element.clear();
      if (next_rows({&row, 1}) == 0) return false;
      for (const Tensor& tensor : *table()) element.emplace_back(row_of(tensor, row));
      return true;
    }
    fill_elements();
    if (elements_.empty()) return false;
    Element& drawn = elements_[random_.below(elements_.size())];
    element = std::move(drawn);
    // The next element takes its place; at the end the last one does.
    Element replacing;
    if (!ended_ && input_->next(replacing)) {
      drawn = std::move(replacing);
    } else {
      ended_ = true;
      if (&drawn != &elements_.back()) drawn = std::move(elements_.back());
      elements_.pop_back();
    }
    return true;
  }
  const Tensors* table() const override { return input_->table(); }
  std::int64_t next_rows(std::span<std::int64_t> rows) override {
    fill_rows();
    std::int64_t count = 0;
    for (std::int64_t& out : rows) {
      if (rows_.empty()) break;
      std::int64_t& drawn = rows_[random_.below(rows_.size())];
      out = drawn;
      ++count;
      if (next_input_row(drawn)) continue;
      drawn = rows_.back();
      rows_.pop_back();
    }
    return count;
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    random_.save(writer);
    writer.number(static_cast<std::int64_t>(dataset_->started()));
    writer.number(filled_);
    writer.number(ended_);
    writer.elements(elements_);
    const std::span<const std::int64_t> ahead = std::span(ahead_).subspan(ahead_at_);
    writer.number(std::ssize(rows_));
    writer.number(std::ssize(ahead));
    for (const std::int64_t row : rows_) writer.number(row);
    for (const std::int64_t row : ahead) writer.number(row);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    random_.restore(reader);
    dataset_->set_started(static_cast<std::uint64_t>(reader.number(INT64_MAX)));
    filled_ = reader.number(1) == 1;
    ended_ = reader.number(1) == 1;
    elements_ = reader.elements();
    rows_.clear();
    ahead_.clear();
    ahead_at_ = 0;
    const std::int64_t most = table() ? (*table())[0].dim(0) - 1 : 0;
    const std::int64_t buffered = reader.number(INT64_MAX), ahead = reader.number(INT64_MAX);
    for (std::int64_t i = 0; i < buffered; ++i) rows_.push_back(reader.number(most));
    for (std::int64_t i = 0; i < ahead; ++i) ahead_.push_back(reader.number(most));
  }

 private:
  void fill_elements() {
    Element element;
    while (!filled_ && !ended_ && elements_.size() < dataset_->buffer_size()) {
      check_cancelled();
      if (input_->next(element))
        elements_.push_back(std::move(element));
      else
        ended_ = true;
    }
    filled_ = true;
  }
  void fill_rows() {
    std::int64_t row = 0;
    while (!filled_ && rows_.size() < dataset_->buffer_size() && next_input_row(row)) rows_.push_back(row);
    filled_ = true;
  }
  /// Requests many rows of the input at once.
  bool next_input_row(std::int64_t& row) {
    constexpr std::size_t at_once = 256;
    if (ahead_at_ == ahead_.size()) {
      if (ended_) return false;
      ahead_.resize(at_once);
      ahead_.resize(static_cast<std::size_t>(input_->next_rows(ahead_)));
      ahead_at_ = 0;
      ended_ = ahead_.empty();
      if (ended_) return false;
    }
    row = ahead_[ahead_at_++];
    return true;
  }

  RandomStream random_;
  bool filled_ = false, ended_ = false;
  std::vector<Element> elements_;
  std::vector<std::int64_t> rows_;   // the buffer, over a table
  std::vector<std::int64_t> ahead_;  // the next rows of the input
  std::size_t ahead_at_ = 0;
};

}  // namespace

DatasetPointer shuffle(DatasetPointer input, std::int64_t buffer_size, std::uint64_t seed, bool reshuffle) {
  return std::make_shared<Shuffle>(std::move(input), buffer_size, seed, reshuffle);
}

}  // namespace tapedeck::data
