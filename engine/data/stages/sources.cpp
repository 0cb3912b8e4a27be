// Data sets from data in memory.
#include <algorithm>
#include <atomic>

#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

// ---- elements

class ElementsIterator;
class Elements final : public Stage<Elements, ElementsIterator> {
 public:
  Elements(std::string name, std::vector<Element> elements)
      : Stage(std::move(name), {}), elements_(std::move(elements)) {}
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(elements_.size()); }
  bool save_elements(StateWriter& writer) const override {
    writer.elements(elements_);
    return true;
  }
  const std::vector<Element>& elements() const { return elements_; }

 private:
  std::vector<Element> elements_;
};

class ElementsIterator final : public Iterator {
 public:
  ElementsIterator(std::shared_ptr<const Elements> dataset, const Start&) : dataset_(std::move(dataset)) {}
  bool next(Element& element) override {
    if (at_ >= dataset_->elements().size()) return false;
    element = dataset_->elements()[at_++];
    return true;
  }
  void save(StateWriter& writer) override {
    writer.begin("elements");
    writer.number(static_cast<std::int64_t>(at_));
  }
  void restore(StateReader& reader) override {
    reader.begin("elements");
    at_ = static_cast<std::size_t>(reader.number(dataset_->cardinality()));
  }

 private:
  std::shared_ptr<const Elements> dataset_;
  std::size_t at_ = 0;
};

// ---- slices

class SlicesIterator;
class Slices final : public Stage<Slices, SlicesIterator> {
 public:
  explicit Slices(Tensors tensors)
      : Stage("from_tensor_slices", {}), tensors_(std::move(tensors)), rows_(tensors_[0].dim(0)) {}
  std::int64_t cardinality() const override { return rows_; }
  const Tensors& tensors() const { return tensors_; }

 private:
  Tensors tensors_;
  std::int64_t rows_;
};

class SlicesIterator final : public Iterator {
 public:
  SlicesIterator(std::shared_ptr<const Slices> dataset, const Start&) : dataset_(std::move(dataset)) {}
  bool next(Element& element) override {
    element.clear();
    if (at_ >= dataset_->cardinality()) return false;
    for (const Tensor& tensor : dataset_->tensors()) element.emplace_back(row_of(tensor, at_));
    ++at_;
    return true;
  }
  void save(StateWriter& writer) override {
    writer.begin("slices");
    writer.number(at_);
  }
  void restore(StateReader& reader) override {
    reader.begin("slices");
    at_ = reader.number(dataset_->cardinality());
  }
  const Tensors* table() const override { return &dataset_->tensors(); }
  std::int64_t next_rows(std::span<std::int64_t> rows) override {
    const std::int64_t count =
        std::min(static_cast<std::int64_t>(rows.size()), dataset_->cardinality() - at_);
    for (std::int64_t i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = at_ + i;
    at_ += count;
    return count;
  }

 private:
  std::shared_ptr<const Slices> dataset_;
  std::int64_t at_ = 0;
};

// ---- range

class RangeIterator;
class Range final : public Stage<Range, RangeIterator> {
 public:
  Range(std::int64_t first, std::int64_t end, std::int64_t step, DType dtype)
      : Stage("range", {}), first_(first), step_(step), dtype_(dtype) {
    __extension__ using Wide = __int128;
    const Wide distance = Wide{end} - first, toward = step > 0 ? Wide{step} - 1 : Wide{step} + 1;
    const Wide count = std::max<Wide>(0, (distance + toward) / step);
    count_ = static_cast<std::int64_t>(std::min<Wide>(count, INT64_MAX));
  }
  std::int64_t cardinality() const override { return count_; }
  Tensor value(std::int64_t index) const {
    const std::int64_t value = first_ + index * step_;
    if (dtype_ == DType::int64) return Tensor::from_values<std::int64_t>({&value, 1}, {});
    return Tensor::scalar(static_cast<double>(value), dtype_);
  }

 private:
  std::int64_t first_, step_, count_ = 0;
  DType dtype_;
};

class RangeIterator final : public Iterator {
 public:
  RangeIterator(std::shared_ptr<const Range> dataset, const Start&) : dataset_(std::move(dataset)) {}
  bool next(Element& element) override {
    element.clear();
    if (at_ >= dataset_->cardinality()) return false;
    element.emplace_back(dataset_->value(at_++));
    return true;
  }
  void save(StateWriter& writer) override {
    writer.begin("range");
    writer.number(at_);
  }
  void restore(StateReader& reader) override {
    reader.begin("range");
    at_ = reader.number(dataset_->cardinality());
  }

 private:
  std::shared_ptr<const Range> dataset_;
  std::int64_t at_ = 0;
};

// ---- random numbers

class RandomIterator;
class RandomNumbers final : public Stage<RandomNumbers, RandomIterator> {
 public:
  RandomNumbers(std::uint64_t seed, bool same) : Stage("random", {}), seed_(seed), same_(same) {}
  std::int64_t cardinality() const override { return infinite_cardinality; }
  RandomStream stream() const {
    RandomStream seeds(seed_);
    const std::uint64_t earlier = same_ ? 0 : started_.fetch_add(1, std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < earlier; ++i) seeds.next();
    return RandomStream(seeds.next());
  }

 private:
  std::uint64_t seed_;
  bool same_;
  mutable std::atomic<std::uint64_t> started_{0};
};

class RandomIterator final : public Iterator {
 public:
  RandomIterator(const std::shared_ptr<const RandomNumbers>& dataset, const Start&)
      : stream_(dataset->stream()) {}
  bool next(Element& element) override {
    const auto value = static_cast<std::int64_t>(stream_.next() >> 32);
    element.clear();
    element.emplace_back(Tensor::from_values<std::int64_t>({&value, 1}, {}));
    return true;
  }
  void save(StateWriter& writer) override {
    writer.begin("random");
    stream_.save(writer);
  }
  void restore(StateReader& reader) override {
    reader.begin("random");
    stream_.restore(reader);
  }

 private:
  RandomStream stream_;
};

}  // namespace

DatasetPointer from_element(Element element) {
  std::vector<Element> elements;
  elements.push_back(std::move(element));
  return std::make_shared<Elements>("from_tensors", std::move(elements));
}

DatasetPointer from_elements(std::vector<Element> elements) {
  return std::make_shared<Elements>("window", std::move(elements));
}

DatasetPointer from_slices(Tensors tensors) {
  if (tensors.empty()) fail<InvalidArgumentError>("from_tensor_slices: tensors has no component");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].rank() == 0)
      fail<InvalidArgumentError>("from_tensor_slices: component ", i, " is a scalar, which has no slices");
    if (tensors[i].dim(0) != tensors[0].dim(0))
      fail<InvalidArgumentError>("from_tensor_slices: component 0 has ", tensors[0].dim(0),
                                 " slices and component ", i, " has ", tensors[i].dim(0));
  }
  return std::make_shared<Slices>(std::move(tensors));
}

DatasetPointer range(std::int64_t first, std::int64_t end, std::int64_t step, DType dtype) {
  if (step == 0) fail<InvalidArgumentError>("range: step is 0");
  return std::make_shared<Range>(first, end, step, dtype);
}

DatasetPointer random_numbers(std::uint64_t seed, bool same_each_time) {
  return std::make_shared<RandomNumbers>(seed, same_each_time);
}

}  // namespace tapedeck::data
