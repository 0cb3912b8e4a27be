// Elements sorted into windows by a key.
#include <deque>
#include <map>

#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

class GroupIterator;
class Group final : public Stage<Group, GroupIterator> {
 public:
  Group(DatasetPointer input, Grouping grouping)
      : Stage("group_by_window", {std::move(input)}), grouping_(std::move(grouping)) {}
  const Grouping& grouping() const { return grouping_; }

 private:
  Grouping grouping_;
};

class GroupIterator final : public OneInput<Group> {
 public:
  GroupIterator(const std::shared_ptr<const Group>& dataset, const Start& how)
      : OneInput(dataset, how), how_(how) {}
  bool next(Element& element) override {
    for (;;) {
      check_cancelled();
      if (inner_) {
        if (inner_->next(element)) return true;
        inner_.reset();
      }
      if (!ended_) {
        read_one();
      } else if (!groups_.empty()) {  // the remaining windows, in order of keys
        const auto first = groups_.begin();
        place_.at(taken_, [&] { reduce(first->first, std::move(first->second)); });
        groups_.erase(groups_.begin());
      } else {
        return false;
      }
    }
  }
  void save(StateWriter& writer) override {
    OneInput::save(writer);
    writer.number(ended_);
    writer.number(taken_);
    writer.number(std::ssize(groups_));
    for (const auto& [key, elements] : groups_) {
      writer.number(key);
      writer.elements(elements);
    }
    writer.number(inner_ != nullptr);
    if (!inner_) return;
    writer.number(key_);
    writer.elements(reduced_);
    inner_->save(writer);
  }
  void restore(StateReader& reader) override {
    OneInput::restore(reader);
    ended_ = reader.number(1) == 1;
    taken_ = reader.number(INT64_MAX);
    groups_.clear();
    for (std::int64_t left = reader.number(INT64_MAX); left > 0; --left) {
      const std::int64_t key = reader.number();
      groups_[key] = reader.elements();
    }
    inner_.reset();
    if (reader.number(1) == 0) return;
    const std::int64_t key = reader.number();
    reduce(key, reader.elements());
    inner_->restore(reader);
  }

 private:
  void read_one() {
    Element element;
    ended_ = !input_->next(element);
    if (ended_) return;
    place_.at(taken_++, [&] {
      const Grouping& grouping = dataset_->grouping();
      Element results;
      grouping.key->call(element, results);
      const std::int64_t key = scalar_of(results, "key_func");
      std::vector<Element>& group = groups_[key];
      group.push_back(std::move(element));
      if (std::ssize(group) < size_of(key)) return;
      std::vector<Element> full = std::move(group);
      groups_.erase(key);
      reduce(key, std::move(full));
    });
  }
  static Tensor number(std::int64_t value) { return Tensor::from_values<std::int64_t>({&value, 1}, {}); }
  std::int64_t size_of(std::int64_t key) const {
    const Grouping& grouping = dataset_->grouping();
    if (!grouping.size) return grouping.fixed_size;
    Element results;
    grouping.size->call({Component(number(key))}, results);
    const std::int64_t size = scalar_of(results, "window_size_func");
    if (size < 1)
      fail<InvalidArgumentError>("window_size_func returned ", size, "; a window holds one element at least");
    return size;
  }
  void reduce(std::int64_t key, std::vector<Element> elements) {
    key_ = key;
    reduced_ = std::move(elements);
    Element results;
    dataset_->grouping().reduce->call({Component(number(key)), Component(from_elements(reduced_))}, results);
    made_ = dataset_of(results, "reduce_func");
    inner_ = made_->start({.stages = made_->depth(), .own_threads = how_.own_threads});
  }

  Start how_;
  std::map<std::int64_t, std::vector<Element>> groups_;
  std::int64_t key_ = 0, taken_ = 0;
  std::vector<Element> reduced_;  // the elements of the open data set
  DatasetPointer made_;
  IteratorPointer inner_;
  bool ended_ = false;
};

}  // namespace

DatasetPointer group_by_window(DatasetPointer input, Grouping grouping) {
  return std::make_shared<Group>(std::move(input), std::move(grouping));
}

}  // namespace tapedeck::data
