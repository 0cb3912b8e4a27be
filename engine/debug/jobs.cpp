#include "engine/debug/jobs.h"

#include <algorithm>
#include <utility>

#include "engine/tensor/observer_memory.h"

namespace tapedeck::debug {

Jobs::Jobs(int workers, std::function<void()> ready) : ready_(std::move(ready)) {
  for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { run(); });
}

Jobs::~Jobs() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
    for (const auto& job : running_) job->cancel = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Jobs::submit(std::string client, std::uint64_t request, Work work) {
  auto job = std::make_shared<Job>();
  job->client = std::move(client);
  job->request = request;
  job->work = std::move(work);
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void Jobs::cancel(const std::string& client, std::uint64_t request) {
  const auto is_it = [&](const auto& job) { return job->client == client && job->request == request; };
  const std::lock_guard lock(mutex_);
  for (const auto& job : running_)
    if (is_it(job)) job->cancel = true;
  // One that waits is answered in its turn, at once: the work sees the flag first.
  for (const auto& job : queue_)
    if (is_it(job)) job->cancel = true;
}

void Jobs::forget(const std::string& client) {
  const std::lock_guard lock(mutex_);
  std::erase_if(queue_, [&](const auto& job) { return job->client == client; });
  for (const auto& job : running_) {
    if (job->client != client) continue;
    job->cancel = true;
    job->forgotten = true;
  }
}

std::vector<Outgoing> Jobs::take_answers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

void Jobs::report(const Job& job, const protocol::Progress& progress) {
  {
    const std::lock_guard lock(mutex_);
    if (job.forgotten || stopping_) return;
    answers_.push_back({job.client, job.request, progress});
  }
  ready_();
}

void Jobs::run() {
  const ObserverMemory work;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    running_.push_back(job);
    lock.unlock();
    protocol::Reply reply =
        job->work(job->cancel, [&](const protocol::Progress& progress) { report(*job, progress); });
    lock.lock();
    std::erase(running_, job);
    if (stopping_) return;
    if (job->forgotten) continue;
    answers_.push_back({job->client, job->request, std::move(reply)});
    lock.unlock();
    ready_();
    lock.lock();
  }
}

}  // namespace tapedeck::debug
