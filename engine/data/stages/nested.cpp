// Stages whose elements are data sets, or come from data sets that a function returns.
#include <deque>

#include "engine/data/stages/stage.h"

namespace tapedeck::data {

IteratorPointer prefetching(IteratorPointer input, std::int64_t buffer_size,
                            const Start& how);  // prefetch.cpp

namespace {

// ---- window

class WindowIterator;
class Window final : public Stage<Window, WindowIterator> {
 public:
  Window(DatasetPointer input, std::int64_t size, std::int64_t shift, std::int64_t stride, bool drop)
      : Stage("window", {std::move(input)}), size_(size), shift_(shift), stride_(stride), drop_(drop) {}
  std::int64_t cardinality() const override {
    return scaled(input()->cardinality(), [&](std::int64_t n) {
      if (!drop_) return n / shift_ + (n % shift_ != 0 ? 1 : 0);
      return n < span() ? 0 : (n - span()) / shift_ + 1;
    });
  }
  /// Elements from a window's first to its last.
  std::int64_t span() const { return (size_ - 1) * stride_ + 1; }
  std::int64_t shift() const { return shift_; }
  std::int64_t stride() const { return stride_; }
  bool drop_remainder() const { return drop_; }

 private:
  std::int64_t size_, shift_, stride_;
  bool drop_;
};

class WindowIterator final : public OneInput<Window> {
 public:
  using OneInput::OneInput;
  bool next(Element& element) override {
    element.clear();
    if (!fill()) return false;
    std::vector<Element> chosen;
    for (std::int64_t i = 0; i < std::ssize(buffer_); i += dataset_->stride())
      chosen.push_back(buffer_[static_cast<std::size_t>(i)]);
    for (std::size_t component = 0; component < chosen[0].size(); ++component) {
      std::vector<Element> single;
      for (const Element& each : chosen) single.push_back({each[component]});
      element.emplace_back(from_elements(std::move(single)));
    }
    const std::int64_t gone = std::min<std::int64_t>(dataset_->shift(), std::ssize(buffer_));
    buffer_.erase(buffer_.begin(), buffer_.begin() + gone);
    to_skip_ = dataset_->shift() - gone;
    return true;
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(to_skip_);
    writer.number(ended_);
    writer.elements(buffer_);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    to_skip_ = reader.number(INT64_MAX);
    ended_ = reader.number(1) == 1;
    std::vector<Element> kept = reader.elements();
    buffer_.assign(std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
  }

 private:
  bool fill() {
    Element element;
    for (; to_skip_ > 0 && !ended_; --to_skip_) {
      check_cancelled();
      ended_ = !input_->next(element);
    }
    while (!ended_ && std::ssize(buffer_) < dataset_->span()) {
      check_cancelled();
      ended_ = !input_->next(element);
      if (!ended_) buffer_.push_back(std::move(element));
    }
    if (buffer_.empty() || (dataset_->drop_remainder() && std::ssize(buffer_) < dataset_->span())) {
      buffer_.clear();
      return false;
    }
    return true;
  }
  std::deque<Element> buffer_;
  std::int64_t to_skip_ = 0;
  bool ended_ = false;
};

// ---- interleave, flat_map

class InterleaveIterator;
class Interleave final : public Stage<Interleave, InterleaveIterator> {
 public:
  Interleave(std::string name, DatasetPointer input, FunctionPointer function, std::int64_t cycle,
             std::int64_t block, bool prefetched)
      : Stage(std::move(name), {std::move(input)}),
        function_(std::move(function)),
        cycle_(cycle),
        block_(block),
        prefetched_(prefetched) {}
  const Function& function() const { return *function_; }
  std::int64_t cycle() const { return cycle_; }
  std::int64_t block() const { return block_; }
  bool prefetched() const { return prefetched_; }

 private:
  FunctionPointer function_;
  std::int64_t cycle_, block_;
  bool prefetched_;
};

class InterleaveIterator final : public OneInput<Interleave> {
 public:
  InterleaveIterator(const std::shared_ptr<const Interleave>& dataset, const Start& how)
      : OneInput(dataset, how), how_(how), cycle_(static_cast<std::size_t>(dataset->cycle())) {}
  bool next(Element& element) override {
    for (;;) {
      check_cancelled();
      Open& open = cycle_[at_];
      if (!open.iterator) {
        if (!ended_) open_next(open);
        if (!open.iterator) {
          if (!any_open()) return false;
          move_on();
          continue;
        }
      }
      if (open.iterator->next(element)) {
        if (++in_block_ == dataset_->block()) move_on();
        return true;
      }
      open = Open();
      move_on();
    }
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(ended_);
    writer.number(static_cast<std::int64_t>(at_));
    writer.number(in_block_);
    writer.number(taken_);
    for (const Open& open : cycle_) {
      writer.number(open.iterator != nullptr);
      if (!open.iterator) continue;
      writer.element(open.argument);
      open.iterator->save(writer);
    }
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    ended_ = reader.number(1) == 1;
    at_ = static_cast<std::size_t>(reader.number(dataset_->cycle() - 1));
    in_block_ = reader.number(dataset_->block());
    taken_ = reader.number(INT64_MAX);
    for (Open& open : cycle_) {
      open = Open();
      if (reader.number(1) == 0) continue;
      open.argument = reader.element();
      begin(open);
      open.iterator->restore(reader);
    }
  }

 private:
  struct Open {
    Element argument;
    DatasetPointer dataset;
    IteratorPointer iterator;
  };
  void open_next(Open& open) {
    ended_ = !input_->next(open.argument);
    if (ended_) return;
    ++taken_;
    begin(open);
  }
  void begin(Open& open) {
    place_.at(taken_ - 1, [&] {
      Element results;
      dataset_->function().call(open.argument, results);
      open.dataset = dataset_of(results, "the function");
      const Start inner{.stages = open.dataset->depth(), .own_threads = how_.own_threads};
      open.iterator = open.dataset->start(inner);
      if (dataset_->prefetched())
        open.iterator = prefetching(std::move(open.iterator), 2 * dataset_->block(), inner);
    });
  }
  bool any_open() const {
    for (const Open& open : cycle_)
      if (open.iterator) return true;
    return false;
  }
  void move_on() {
    at_ = (at_ + 1) % cycle_.size();
    in_block_ = 0;
  }

  Start how_;
  std::vector<Open> cycle_;
  std::size_t at_ = 0;
  std::int64_t in_block_ = 0, taken_ = 0;
  bool ended_ = false;
};

}  // namespace

DatasetPointer window(DatasetPointer input, std::int64_t size, std::int64_t shift, std::int64_t stride,
                      bool drop_remainder) {
  return std::make_shared<Window>(std::move(input), size, shift, stride, drop_remainder);
}
DatasetPointer interleave(DatasetPointer input, FunctionPointer function, std::int64_t cycle,
                          std::int64_t block, bool prefetched, std::string name) {
  return std::make_shared<Interleave>(std::move(name), std::move(input), std::move(function), cycle, block,
                                      prefetched);
}

}  // namespace tapedeck::data
