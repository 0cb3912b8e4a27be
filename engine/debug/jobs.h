// Worker threads for answers that may take long (recomputing a value), so that the server stays responsive.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"

namespace tapedeck::debug {

/// A reply on its way to a client.
struct Outgoing {
  std::string client;  ///< ZeroMQ's routing id
  std::uint64_t request = 0;
  protocol::Reply reply;
};

class Jobs {
 public:
  /// Reports the progress of the work to the client; from the thread that does it.
  using Report = std::function<void(const protocol::Progress&)>;
  using Work = std::function<protocol::Reply(const CancelFlag& cancel, const Report& report)>;
  /// `ready` is called on a worker thread when an answer is available.
  Jobs(int workers, std::function<void()> ready);
  ~Jobs();  ///< cancels all, and waits
  Jobs(const Jobs&) = delete;

  void submit(std::string client, std::uint64_t request, Work work);
  /// The request is answered with a Failure "cancelled", unless it is answered already.
  void cancel(const std::string& client, std::uint64_t request);
  /// The client has gone: its answers are dropped.
  void forget(const std::string& client);
  std::vector<Outgoing> take_answers();

 private:
  struct Job {
    std::string client;
    std::uint64_t request = 0;
    Work work;
    CancelFlag cancel{false};
    bool forgotten = false;
  };
  void run();
  void report(const Job& job, const protocol::Progress& progress);

  std::function<void()> ready_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<std::shared_ptr<Job>> queue_;
  std::vector<std::shared_ptr<Job>> running_;
  std::vector<Outgoing> answers_;
  std::vector<std::thread> threads_;
};

}  // namespace tapedeck::debug
