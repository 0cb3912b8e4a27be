// Combines elements: their components are stacked, row by row, into the memory of the batch.
#include <algorithm>
#include <cstring>

#include "engine/cpu/parallel.h"
#include "engine/data/stages/rows.h"
#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

std::int64_t batches_of(std::int64_t elements, std::int64_t size, bool drop) {
  return elements / size + (!drop && elements % size != 0 ? 1 : 0);
}

// ---- batch

class BatchIterator;
class Batch final : public Stage<Batch, BatchIterator> {
 public:
  Batch(DatasetPointer input, std::int64_t size, bool drop)
      : Stage("batch", {std::move(input)}), size_(size), drop_(drop) {}
  std::int64_t cardinality() const override {
    return scaled(input()->cardinality(), [&](std::int64_t n) { return batches_of(n, size_, drop_); });
  }
  std::int64_t size() const { return size_; }
  bool drop_remainder() const { return drop_; }

 private:
  std::int64_t size_;
  bool drop_;
};

class BatchIterator final : public OneInput<Batch> {
 public:
  BatchIterator(const std::shared_ptr<const Batch>& dataset, const Start& how) : OneInput(dataset, how) {
    expected_ = dataset->input()->cardinality();
  }
  bool next(Element& element) override {
    element.clear();
    return input_->table() ? gather(element) : stack(element);
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(taken_);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    taken_ = reader.number(INT64_MAX);
  }

 private:
  bool gather(Element& element) {
    rows_.resize(static_cast<std::size_t>(std::min<std::int64_t>(dataset_->size(), 65536)));
    std::int64_t count = 0;
    for (;;) {
      const auto wanted = static_cast<std::size_t>(dataset_->size() - count);
      if (rows_.size() < static_cast<std::size_t>(count) + std::min<std::size_t>(wanted, 65536))
        rows_.resize(static_cast<std::size_t>(count) + std::min<std::size_t>(wanted, 65536));
      const auto part = std::span(rows_).subspan(static_cast<std::size_t>(count));
      const std::int64_t got = input_->next_rows(part.first(std::min(part.size(), wanted)));
      count += got;
      if (got == 0 || count == dataset_->size()) break;
    }
    if (count == 0 || (dataset_->drop_remainder() && count < dataset_->size())) return false;
    taken_ += count;
    rows_.resize(static_cast<std::size_t>(count));
    for (const Tensor& tensor : *input_->table()) element.emplace_back(gather_rows(tensor, rows_));
    return true;
  }
  bool stack(Element& element) {
    std::vector<StackedRows> stacks;
    std::int64_t count = 0;
    Element part;
    for (; count < dataset_->size() && input_->next(part); ++count, ++taken_)
      place_.at(taken_, [&] {
        if (count == 0) stacks = begin_stacks(part);
        if (part.size() != stacks.size())
          fail<InvalidArgumentError>(part.size(), " components where the batch has ", stacks.size());
        for (std::size_t i = 0; i < part.size(); ++i) stacks[i].add(part[i], i);
      });
    if (count == 0 || (dataset_->drop_remainder() && count < dataset_->size())) return false;
    for (StackedRows& stack : stacks) element.emplace_back(stack.finish());
    return true;
  }
  std::vector<StackedRows> begin_stacks(const Element& first) const {
    // No more room than there can be elements; if the number is unknown, it grows.
    std::int64_t room = dataset_->size();
    if (expected_ >= 0) room = std::clamp<std::int64_t>(expected_ - taken_, 1, room);
    if (expected_ == unknown_cardinality) room = std::min<std::int64_t>(room, 1024);
    std::vector<StackedRows> stacks;
    for (std::size_t i = 0; i < first.size(); ++i) stacks.emplace_back(first[i], room, i);
    return stacks;
  }

  std::int64_t expected_ = unknown_cardinality, taken_ = 0;
  std::vector<std::int64_t> rows_;
};

// ---- padded batch

class PaddedIterator;
class PaddedBatch final : public Stage<PaddedBatch, PaddedIterator> {
 public:
  PaddedBatch(DatasetPointer input, std::int64_t size, Padding padding, bool drop)
      : Stage("padded_batch", {std::move(input)}), size_(size), padding_(std::move(padding)), drop_(drop) {}
  std::int64_t cardinality() const override {
    return scaled(input()->cardinality(), [&](std::int64_t n) { return batches_of(n, size_, drop_); });
  }
  std::int64_t size() const { return size_; }
  const Padding& padding() const { return padding_; }
  bool drop_remainder() const { return drop_; }

 private:
  std::int64_t size_;
  Padding padding_;
  bool drop_;
};

class PaddedIterator final : public OneInput<PaddedBatch> {
 public:
  using OneInput::OneInput;
  bool next(Element& element) override {
    std::vector<Element> parts;
    Element part;
    while (std::ssize(parts) < dataset_->size() && input_->next(part)) parts.push_back(std::move(part));
    element.clear();
    if (parts.empty() || (dataset_->drop_remainder() && std::ssize(parts) < dataset_->size())) return false;
    place_.at(taken_, [&] {
      for (std::size_t i = 0; i < parts[0].size(); ++i) element.emplace_back(pad(parts, i));
    });
    taken_ += std::ssize(parts);
    return true;
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(taken_);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    taken_ = reader.number(INT64_MAX);
  }

 private:
  Tensor pad(const std::vector<Element>& parts, std::size_t component) const {
    std::vector<Tensor> values;
    for (const Element& part : parts) {
      if (part.size() != parts[0].size())
        fail<InvalidArgumentError>(part.size(), " components where the batch has ", parts[0].size());
      if (!part[component].tensor) fail<TypeMismatchError>("component ", component, " is a data set");
      values.push_back(part[component].tensor);
    }
    const Padding& padding = dataset_->padding();
    const std::optional<std::vector<std::int64_t>> any;
    const auto& shape = component < padding.shapes.size() ? padding.shapes[component] : any;
    const Tensor value = component < padding.values.size() ? padding.values[component] : Tensor();
    return padded_stack(values, shape, value, component);
  }
  std::int64_t taken_ = 0;
};

}  // namespace

DatasetPointer batch(DatasetPointer input, std::int64_t size, bool drop_remainder) {
  return std::make_shared<Batch>(std::move(input), size, drop_remainder);
}
DatasetPointer padded_batch(DatasetPointer input, std::int64_t size, Padding padding, bool drop_remainder) {
  return std::make_shared<PaddedBatch>(std::move(input), size, std::move(padding), drop_remainder);
}

}  // namespace tapedeck::data
