// A map whose function runs for several elements concurrently; results keep the input's order.
#include <deque>

#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

class ParallelMap;

/// An element in progress.
struct Job {
  Element argument, results;
  std::int64_t number = 0;
  std::exception_ptr error;
  bool done = false;
};

/// The state shared by the consumer and the threads.
struct Shared {
  Shared(std::shared_ptr<const ParallelMap> made_for, const Start& how);
  void work();
  /// Reads one element of the input, without the lock; `reading` says whose turn it is.
  void read_one(std::unique_lock<std::mutex>& lock);
  void run(const std::shared_ptr<Job>& job) const;

  std::shared_ptr<const ParallelMap> dataset;
  Place place;
  IteratorPointer input;
  std::size_t most_jobs;
  std::deque<std::shared_ptr<Job>> jobs;  ///< in the input's order
  std::int64_t taken = 0;
  int working = 0;
  bool ended = false, reading = false, paused = false;
  StageThreads threads;  // last: they end before the members that they use
};

class ParallelMapIterator final : public Iterator {
 public:
  ParallelMapIterator(const std::shared_ptr<const ParallelMap>& dataset, const Start& how)
      : shared_(std::make_unique<Shared>(dataset, how)) {}
  ~ParallelMapIterator() override {
    if (!shared_->threads.forked()) shared_->threads.stop();
    destroy_unless_forked(shared_);
  }
  bool next(Element& element) override;
  void save(StateWriter& writer) override;
  void restore(StateReader& reader) override;

 private:
  std::unique_ptr<Shared> shared_;
};

/// The same on the consumer's thread; first returns elements that another iterator produced ahead.
class InlineMapIterator final : public Iterator {
 public:
  InlineMapIterator(std::shared_ptr<const ParallelMap> dataset, const Start& how);
  bool next(Element& element) override;
  void save(StateWriter& writer) override {
    writer.begin("parallel_map");
    input_->save(writer);
    writer.number(ended_);
    writer.number(taken_);
    writer.elements(made_);
  }
  void restore(StateReader& reader) override {
    reader.begin("parallel_map");
    input_->restore(reader);
    ended_ = reader.number(1) == 1;
    taken_ = reader.number(INT64_MAX);
    made_.clear();
    for (Element& element : reader.elements()) made_.push_back(std::move(element));
  }

 private:
  std::shared_ptr<const ParallelMap> dataset_;
  Place place_;
  IteratorPointer input_;
  std::deque<Element> made_;
  std::int64_t taken_ = 0;
  bool ended_ = false;
};

class ParallelMap final : public Dataset {
 public:
  ParallelMap(DatasetPointer input, FunctionPointer function, int threads)
      : Dataset("map", {std::move(input)}), function_(std::move(function)), threads_(threads) {}
  std::int64_t cardinality() const override { return inputs_[0]->cardinality(); }
  IteratorPointer start(const Start& how) const override {
    auto self = std::static_pointer_cast<const ParallelMap>(shared_from_this());
    if (!how.own_threads) return std::make_unique<InlineMapIterator>(std::move(self), how);
    return std::make_unique<ParallelMapIterator>(self, how);
  }
  const DatasetPointer& input() const { return inputs_[0]; }
  const Function& function() const { return *function_; }
  int threads() const { return threads_; }

 private:
  FunctionPointer function_;
  int threads_;
};

InlineMapIterator::InlineMapIterator(std::shared_ptr<const ParallelMap> dataset, const Start& how)
    : dataset_(std::move(dataset)), place_(*dataset_, how), input_(dataset_->input()->start(how)) {}

bool InlineMapIterator::next(Element& element) {
  if (!made_.empty()) {
    element = std::move(made_.front());
    made_.pop_front();
    return true;
  }
  Element argument;
  if (ended_ || !input_->next(argument)) return false;
  element.clear();
  place_.at(taken_++, [&] { dataset_->function().call(argument, element); });
  return true;
}

Shared::Shared(std::shared_ptr<const ParallelMap> made_for, const Start& how)
    : dataset(std::move(made_for)),
      place(*dataset, how),
      input(dataset->input()->start(how)),
      most_jobs(2 * static_cast<std::size_t>(dataset->threads())) {}

void Shared::run(const std::shared_ptr<Job>& job) const {
  if (job->error) return;  // the input's own
  try {
    place.at(job->number, [&] { dataset->function().call(job->argument, job->results); });
  } catch (const std::exception&) {
    job->error = std::current_exception();
  }
}

void Shared::read_one(std::unique_lock<std::mutex>& lock) {
  reading = true;
  lock.unlock();
  auto job = std::make_shared<Job>();
  bool more = true;
  try {
    more = input->next(job->argument);
  } catch (const std::exception&) {
    job->error = std::current_exception();
  }
  lock.lock();
  reading = false;
  ended = !more;
  if (more) {
    job->number = taken++;
    jobs.push_back(job);
  }
  threads.changed.notify_all();
  if (!more) return;
  lock.unlock();
  run(job);
  lock.lock();
  job->done = true;
}

void Shared::work() {
  std::unique_lock lock(threads.mutex);
  for (;;) {
    threads.changed.wait(
        lock, [&] { return threads.stopping || (!paused && !ended && !reading && jobs.size() < most_jobs); });
    if (threads.stopping) return;
    ++working;
    read_one(lock);
    --working;
    threads.changed.notify_all();
  }
}

bool ParallelMapIterator::next(Element& element) {
  StageThreads& threads = shared_->threads;
  threads.check_process();
  if (!threads.started())
    threads.start(shared_->dataset->threads(), [shared = shared_.get()] { shared->work(); });
  std::unique_lock lock(threads.mutex);
  threads.wait(lock, [&] { return shared_->jobs.empty() ? shared_->ended : shared_->jobs.front()->done; });
  if (shared_->jobs.empty()) return false;
  const std::shared_ptr<Job> job = std::move(shared_->jobs.front());
  shared_->jobs.pop_front();
  threads.changed.notify_all();
  lock.unlock();
  if (job->error) std::rethrow_exception(job->error);
  element = std::move(job->results);
  return true;
}

void ParallelMapIterator::save(StateWriter& writer) {
  const Pause pause(*shared_);
  writer.begin("parallel_map");
  shared_->input->save(writer);
  writer.number(shared_->ended);
  writer.number(shared_->taken);
  std::vector<Element> kept;
  for (const std::shared_ptr<Job>& job : shared_->jobs)
    if (!job->error) kept.push_back(job->results);
  writer.elements(kept);
}

void ParallelMapIterator::restore(StateReader& reader) {
  const Pause pause(*shared_);
  reader.begin("parallel_map");
  shared_->input->restore(reader);
  shared_->ended = reader.number(1) == 1;
  shared_->taken = reader.number(INT64_MAX);
  shared_->jobs.clear();
  for (Element& element : reader.elements()) {
    auto job = std::make_shared<Job>();
    job->results = std::move(element);
    job->done = true;
    shared_->jobs.push_back(std::move(job));
  }
}

}  // namespace

DatasetPointer parallel_map(DatasetPointer input, FunctionPointer function, int threads) {
  return std::make_shared<ParallelMap>(std::move(input), std::move(function), threads);
}

}  // namespace tapedeck::data
