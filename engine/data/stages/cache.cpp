// Caches elements in memory or in a file.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>

#include "engine/data/data_error.h"
#include "engine/data/element_bytes.h"
#include "engine/data/record_file.h"
#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

using Elements = std::vector<Element>;

// ---- in memory

class CacheIterator;
class Cache final : public Stage<Cache, CacheIterator> {
 public:
  explicit Cache(DatasetPointer input) : Stage("cache", {std::move(input)}) {}
  std::int64_t cardinality() const override { return input()->cardinality(); }
  std::shared_ptr<const Elements> elements() const {
    const std::lock_guard lock(mutex_);
    return elements_;
  }
  void publish(Elements elements) const {
    const std::lock_guard lock(mutex_);
    if (!elements_) elements_ = std::make_shared<const Elements>(std::move(elements));
  }

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Elements> elements_;  ///< when an iterator has reached the end
};

class CacheIterator final : public Iterator {
 public:
  CacheIterator(std::shared_ptr<const Cache> dataset, const Start& how)
      : dataset_(std::move(dataset)), how_(how), elements_(dataset_->elements()) {}
  bool next(Element& element) override {
    if (elements_) {
      if (at_ >= elements_->size()) return false;
      element = (*elements_)[at_++];
      return true;
    }
    if (!input_) input_ = dataset_->input()->start(how_);
    if (input_->next(element)) {
      own_.push_back(element);
      return true;
    }
    at_ = own_.size();
    elements_ = std::make_shared<const Elements>(std::move(own_));
    dataset_->publish(*elements_);
    return false;
  }
  void save(StateWriter& writer) override {
    writer.begin("cache");
    writer.number(elements_ != nullptr);
    writer.number(static_cast<std::int64_t>(at_));
    writer.elements(elements_ ? *elements_ : own_);
    if (elements_) return;
    writer.number(input_ != nullptr);
    if (input_) input_->save(writer);
  }
  void restore(StateReader& reader) override {
    reader.begin("cache");
    const bool complete = reader.number(1) == 1;
    at_ = static_cast<std::size_t>(reader.number(INT64_MAX));
    own_ = reader.elements();
    elements_.reset();
    input_.reset();
    if (complete) {
      elements_ = std::make_shared<const Elements>(std::move(own_));
      dataset_->publish(*elements_);
    } else if (reader.number(1) == 1) {
      input_ = dataset_->input()->start(how_);
      input_->restore(reader);
    }
  }

 private:
  std::shared_ptr<const Cache> dataset_;
  Start how_;
  std::shared_ptr<const Elements> elements_;
  Elements own_;  // until the end is reached
  IteratorPointer input_;
  std::size_t at_ = 0;
};

// ---- in a file

class FileCacheIterator;
class FileCache final : public Stage<FileCache, FileCacheIterator> {
 public:
  FileCache(DatasetPointer input, std::string path)
      : Stage("cache", {std::move(input)}), path_(std::move(path)) {}
  std::int64_t cardinality() const override { return input()->cardinality(); }
  std::string file() const { return path_ + ".tapedeck-cache"; }

 private:
  std::string path_;
};

/// Reads the file if it is complete; else reads the input and writes a temporary file, renamed at the end.
class FileCacheIterator final : public Iterator {
 public:
  FileCacheIterator(std::shared_ptr<const FileCache> dataset, const Start& how)
      : dataset_(std::move(dataset)), how_(how), place_(*dataset_, how) {}
  ~FileCacheIterator() override { give_up(); }
  bool next(Element& element) override {
    if (ended_) return false;
    if (!reader_ && !input_) begin();
    const bool more = reader_ ? read(element) : make(element);
    ended_ = !more;
    taken_ += more;
    return more;
  }
  void save(StateWriter& writer) override {
    writer.begin("cache");
    writer.number(taken_);
    writer.number(ended_);
  }
  /// Skips the consumed elements: in the file, or by producing them again.
  void restore(StateReader& reader) override {
    reader.begin("cache");
    const std::int64_t taken = reader.number(INT64_MAX);
    const bool ended = reader.number(1) == 1;
    give_up();
    reader_.reset();
    input_.reset();
    taken_ = 0;
    ended_ = false;
    Element passed;
    while (taken_ < taken && next(passed)) check_cancelled();
    ended_ = ended;
  }

 private:
  void begin() {
    if (std::filesystem::exists(dataset_->file())) {
      reader_.emplace(dataset_->file());
      return;
    }
    input_ = dataset_->input()->start(how_);
    aside_ = dataset_->file() + "." + std::to_string(::getpid());
    place_.at(taken_, [&] { writer_.emplace(aside_); });
  }
  bool read(Element& element) {
    return place_.at(taken_, [&] {
      if (!reader_->read(record_)) return false;
      element = element_from_bytes(record_, dataset_->file());
      return true;
    });
  }
  bool make(Element& element) {
    if (!input_->next(element)) {
      place_.at(taken_, [&] {
        writer_->close();
        std::filesystem::rename(aside_, dataset_->file());
      });
      aside_.clear();
      return false;
    }
    place_.at(taken_, [&] { writer_->write(bytes_of_element(element)); });
    return true;
  }
  void give_up() {
    writer_.reset();
    if (!aside_.empty()) std::remove(aside_.c_str());
    aside_.clear();
  }

  std::shared_ptr<const FileCache> dataset_;
  Start how_;
  Place place_;
  std::optional<RecordReader> reader_;
  std::optional<RecordWriter> writer_;
  IteratorPointer input_;
  std::string aside_, record_;
  std::int64_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace

DatasetPointer cache(DatasetPointer input) {
  return std::make_shared<Cache>(std::move(input));
}
DatasetPointer cache_in_file(DatasetPointer input, std::string path) {
  return std::make_shared<FileCache>(std::move(input), std::move(path));
}

}  // namespace tapedeck::data
