// A TensorBoard event file, written by a background thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "engine/data/record_file.h"

namespace tapedeck::data {

struct EventFileOptions {
  std::size_t most_waiting = 10;  ///< queue limit; beyond it add() writes them itself
  std::chrono::milliseconds flush_interval{2 * 60 * 1000};
  std::string suffix;        ///< of the file's name
  bool make_parents = true;  ///< also creates parents of `directory`
};

/// Thread-safe. The name is `events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER` and the suffix; it is unique
/// per writer. The next call throws an error of the background thread. Unflushed events are written on close
/// or destruction.
class EventFile {
 public:
  /// Creates the directory if it does not exist. NotFoundError, FailedPreconditionError with the path.
  explicit EventFile(const std::string& directory, const EventFileOptions& options = {});
  /// Closes the file if close() was not called; errors are then lost.
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Adds the bytes of an Event. FailedPreconditionError after close().
  void add(std::string event);
  /// Returns when all events are in the file, so that another process can read them.
  void flush();
  void close();
  bool closed() const;
  const std::string& path() const { return path_; }

 private:
  void work();
  void hand_over(std::unique_lock<std::mutex>& lock);  ///< waits until the current queue is in the file
  void throw_error();
  bool of_this_process() const;

  const std::string path_;
  const std::size_t most_waiting_;
  const std::chrono::milliseconds flush_interval_;
  const int process_;
  RecordWriter writer_;  ///< used only by the thread while that runs
  mutable std::mutex mutex_;
  std::condition_variable work_to_do_, done_;
  std::deque<std::string> waiting_;
  std::uint64_t added_ = 0, flushed_ = 0, wanted_ = 0;  ///< events; `wanted_`: as many are to be flushed
  bool closing_ = false, closed_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace tapedeck::data
