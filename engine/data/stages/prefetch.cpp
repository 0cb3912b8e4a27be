// Produces elements ahead in a background thread.
#include <deque>

#include "engine/data/stages/stage.h"

namespace tapedeck::data {

IteratorPointer prefetching(IteratorPointer input, std::int64_t buffer_size, const Start& how);

namespace {

class PrefetchIterator final : public Iterator {
 public:
  PrefetchIterator(IteratorPointer input, std::int64_t buffer_size)
      : shared_(std::make_unique<Shared>(std::move(input), buffer_size)) {}
  ~PrefetchIterator() override {
    if (!shared_->threads.forked()) shared_->threads.stop();
    destroy_unless_forked(shared_);
  }

  bool next(Element& element) override {
    StageThreads& threads = shared_->threads;
    threads.check_process();
    if (!threads.started()) threads.start(1, [shared = shared_.get()] { shared->produce(); });
    std::unique_lock lock(threads.mutex);
    threads.wait(lock, [&] { return !shared_->buffer.empty() || shared_->ended; });
    if (shared_->buffer.empty()) return false;
    Made made = std::move(shared_->buffer.front());
    shared_->buffer.pop_front();
    threads.changed.notify_all();
    lock.unlock();
    if (made.error) std::rethrow_exception(made.error);
    element = std::move(made.element);
    return true;
  }
  void save(StateWriter& writer) override {
    const Pause pause(*shared_);
    writer.begin("prefetch");
    shared_->input->save(writer);
    writer.number(shared_->ended);
    std::vector<Element> kept;
    for (const Made& made : shared_->buffer)
      if (!made.error) kept.push_back(made.element);
    writer.elements(kept);
  }
  void restore(StateReader& reader) override {
    const Pause pause(*shared_);
    reader.begin("prefetch");
    shared_->input->restore(reader);
    shared_->ended = reader.number(1) == 1;
    shared_->buffer.clear();
    for (Element& element : reader.elements()) shared_->buffer.push_back({std::move(element), nullptr});
  }

 private:
  struct Made {
    Element element;
    std::exception_ptr error;
  };
  struct Shared {
    Shared(IteratorPointer from, std::int64_t most)
        : input(std::move(from)), size(static_cast<std::size_t>(most)) {}
    void produce() {
      std::unique_lock lock(threads.mutex);
      for (;;) {
        threads.changed.wait(lock,
                             [&] { return threads.stopping || (!paused && !ended && buffer.size() < size); });
        if (threads.stopping) return;
        working = true;
        lock.unlock();
        Made made;
        bool more = true;
        try {
          more = input->next(made.element);
        } catch (const std::exception&) {
          made.error = std::current_exception();
        }
        lock.lock();
        working = false;
        ended = !more;
        if (more) buffer.push_back(std::move(made));
        threads.changed.notify_all();
      }
    }
    IteratorPointer input;
    std::size_t size;
    std::deque<Made> buffer;
    bool ended = false, working = false, paused = false;
    StageThreads threads;  // last: they end before the members that they use
  };

  std::unique_ptr<Shared> shared_;
};

/// The same without a thread; first returns elements that another iterator produced ahead.
class InlineIterator final : public Iterator {
 public:
  explicit InlineIterator(IteratorPointer input) : input_(std::move(input)) {}
  bool next(Element& element) override {
    if (made_.empty()) return !ended_ && input_->next(element);
    element = std::move(made_.front());
    made_.pop_front();
    return true;
  }
  void save(StateWriter& writer) override {
    writer.begin("prefetch");
    input_->save(writer);
    writer.number(ended_);
    writer.elements(made_);
  }
  void restore(StateReader& reader) override {
    reader.begin("prefetch");
    input_->restore(reader);
    ended_ = reader.number(1) == 1;
    made_.clear();
    for (Element& element : reader.elements()) made_.push_back(std::move(element));
  }

 private:
  IteratorPointer input_;
  std::deque<Element> made_;
  bool ended_ = false;
};

class Prefetch final : public Dataset {
 public:
  Prefetch(DatasetPointer input, std::int64_t buffer_size)
      : Dataset("prefetch", {std::move(input)}), buffer_size_(buffer_size) {}
  std::int64_t cardinality() const override { return inputs_[0]->cardinality(); }
  IteratorPointer start(const Start& how) const override {
    return prefetching(inputs_[0]->start(how), buffer_size_, how);
  }

 private:
  std::int64_t buffer_size_;
};

}  // namespace

IteratorPointer prefetching(IteratorPointer input, std::int64_t buffer_size, const Start& how) {
  if (!how.own_threads) return std::make_unique<InlineIterator>(std::move(input));
  return std::make_unique<PrefetchIterator>(std::move(input), buffer_size);
}

DatasetPointer prefetch(DatasetPointer input, std::int64_t buffer_size) {
  return std::make_shared<Prefetch>(std::move(input), buffer_size);
}

}  // namespace tapedeck::data
