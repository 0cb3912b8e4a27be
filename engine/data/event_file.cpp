#include "engine/data/event_file.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "engine/data/event_message.h"
#include "engine/tensor/error.h"

namespace tapedeck::data {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void make_directory(const std::string& directory, bool parents) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(directory, error)) return;
  if (fs::exists(directory, error))
    fail<FailedPreconditionError>("create_file_writer: ", directory, " is not a folder");
  if (parents)
    fs::create_directories(directory, error);
  else
    fs::create_directory(directory, error);
  if (!error) return;
  if (error == std::errc::no_such_file_or_directory)
    fail<NotFoundError>("create_file_writer: ", directory, ": ", error.message());
  fail<FailedPreconditionError>("create_file_writer: ", directory, ": ", error.message());
}

std::string new_path(const std::string& directory, const EventFileOptions& options) {
  make_directory(directory, options.make_parents);
  static std::atomic<int> files{0};
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'l', 'o', 'c', 'a', 'l'};
  char seconds[24];
  std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(now()));
  return (std::filesystem::path(directory) /
          ("events.out.tfevents." + std::string(seconds) + "." + host.data() + "." +
           std::to_string(getpid()) + "." + std::to_string(files++) + options.suffix))
      .string();
}

}  // namespace

EventFile::EventFile(const std::string& directory, const EventFileOptions& options)
    : path_(new_path(directory, options)),
      most_waiting_(options.most_waiting),
      flush_interval_(options.flush_interval),
      process_(getpid()),
      writer_(path_) {
  writer_.write(version_event(now()));
  writer_.flush();
  thread_ = std::thread([this] { work(); });
}

EventFile::~EventFile() {
  try {
    close();
  } catch (const std::exception&) {  // a destructor cannot report it
  }
  if (thread_.joinable()) thread_.detach();  // a forked process lacks the thread
}

bool EventFile::of_this_process() const {
  return process_ == getpid();
}

void EventFile::throw_error() {
  if (error_) std::rethrow_exception(error_);
}

void EventFile::add(std::string event) {
  std::unique_lock lock(mutex_);
  if (!of_this_process()) return;
  throw_error();
  if (closing_ || closed_) fail<FailedPreconditionError>("summary: ", path_, " is closed");
  waiting_.push_back(std::move(event));
  ++added_;
  if (added_ - flushed_ > most_waiting_)
    hand_over(lock);
  else if (waiting_.size() == 1)
    work_to_do_.notify_one();
}

void EventFile::hand_over(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t upto = wanted_ = added_;
  work_to_do_.notify_one();
  done_.wait(lock, [&] { return flushed_ >= upto || error_ || closed_; });
  throw_error();
}

void EventFile::flush() {
  std::unique_lock lock(mutex_);
  if (closed_ || !of_this_process()) return;
  throw_error();
  if (flushed_ < added_) hand_over(lock);
}

void EventFile::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || closing_ || !of_this_process()) return;
    closing_ = true;
    work_to_do_.notify_one();
  }
  thread_.join();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  done_.notify_all();
  throw_error();
  writer_.close();
}

bool EventFile::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_ || closing_;
}

void EventFile::work() {
  std::unique_lock lock(mutex_);
  auto last_flush = std::chrono::steady_clock::now();
  while (!closing_ || !waiting_.empty()) {
    const auto has_work = [this] { return closing_ || !waiting_.empty() || wanted_ > flushed_; };
    if (flushed_ < added_)  // events must not wait forever
      work_to_do_.wait_until(lock, last_flush + flush_interval_, has_work);
    else
      work_to_do_.wait(lock, has_work);
    std::deque<std::string> events = std::exchange(waiting_, {});
    const std::uint64_t upto = added_;
    const bool due =
        closing_ || wanted_ > flushed_ || std::chrono::steady_clock::now() - last_flush >= flush_interval_;
    lock.unlock();
    std::exception_ptr error;
    try {
      for (const std::string& event : events) writer_.write(event);
      if (due) writer_.flush();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      error_ = error;
      done_.notify_all();
      return;
    }
    if (due) {
      flushed_ = upto;
      last_flush = std::chrono::steady_clock::now();
      done_.notify_all();
    }
  }
}

}  // namespace tapedeck::data
