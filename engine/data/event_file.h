// An event file of TensorBoard's, written by a thread of its own.
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
  std::size_t most_waiting = 10;  ///< more events than that wait for nobody: add() hands them over itself
  std::chrono::milliseconds flush_interval{2 * 60 * 1000};
  std::string suffix;        ///< of the file's name
  bool make_parents = true;  ///< folders above `directory` too, not that alone
};

/// Safe from several threads. The name is `events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER` and the suffix;
/// no two writers have the same. An error of the thread is thrown by the next call. Events that nobody
/// flushed are written when it is closed or destroyed.
class EventFile {
 public:
  /// Makes the directory where there is none. NotFoundError, FailedPreconditionError with the path.
  explicit EventFile(const std::string& directory, const EventFileOptions& options = {});
  /// Closes it where close() was not called; then errors are lost.
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// The bytes of an Event. FailedPreconditionError after close().
  void add(std::string event);
  /// Returns when all events are in the file, so that another process can read them.
  void flush();
  void close();
  bool closed() const;
  const std::string& path() const { return path_; }

 private:
  void work();
  void hand_over(std::unique_lock<std::mutex>& lock);  ///< waits until what waits now is in the file
  void throw_error();
  bool of_this_process() const;

  const std::string path_;
  const std::size_t most_waiting_;
  const std::chrono::milliseconds flush_interval_;
  const int process_;
  RecordWriter writer_;  ///< the thread's alone while that runs
  mutable std::mutex mutex_;
  std::condition_variable work_to_do_, done_;
  std::deque<std::string> waiting_;
  std::uint64_t added_ = 0, flushed_ = 0, wanted_ = 0;  ///< events; `wanted_`: as many are to be flushed
  bool closing_ = false, closed_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace tapedeck::data
