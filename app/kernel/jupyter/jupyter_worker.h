// The Jupyter client on its socket thread: queue of cells, requests and their replies.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "app/kernel/event_outbox.h"
#include "app/kernel/jupyter/connection.h"
#include "app/kernel/jupyter/jupyter_message.h"
#include "app/kernel/socket_thread.h"

namespace tapedeck::app {

/// Talks to one session process at a time; outlives it. Cells are sent one by one, so that those behind a
/// failed one are certain not to run. All functions are called on the socket thread.
class JupyterWorker : public SocketDriver {
 public:
  explicit JupyterWorker(EventOutbox::Deliver deliver) : outbox_(std::move(deliver)) {}

  struct Limits {
    Clock::duration silence{};
    std::int64_t message = 0;  ///< bytes
  };
  /// Connects; `number` comes back in Closed.
  void open(const Connection& connection, std::uint64_t number, const Limits& limits);
  /// The process is gone: what it sent is still read, then Closed is sent, and the cells that did not finish
  /// are aborted; with `keepQueue` those that had not begun wait for the next process.
  void close(bool keepQueue);

  void execute(std::string cell, std::string code);
  void abortQueue();  ///< the cells that wait
  void interruptByMessage();
  void requestShutdown(bool restart);
  void input(std::string text);
  /// `cursor` in code points. Held while a cell runs (the process could not answer); only the newest is sent.
  void complete(std::uint64_t request, std::string code, int cursor);
  void inspect(std::uint64_t request, std::string code, int cursor);
  void taken() { outbox_.taken(); }

  std::vector<zmq::socket_ref> sockets() override;
  void readable(std::size_t index) override;
  Clock::time_point tick(Clock::time_point now) override;
  void broken(const std::string& what) override;
  void stop() override;

 private:
  /// For the reply of a cell that has ended, where it may be lost.
  static constexpr auto replyPatience = std::chrono::milliseconds(1000);

  struct Waiting {
    std::string cell, code;
  };
  struct Running {
    std::string message, cell;
    std::string status;  ///< of the reply; empty: none yet
    int count = 0;
    bool idle = false;            ///< iopub reported that all outputs are out
    bool replyMayBeLost = false;  ///< the connection was made again meanwhile
    /// It has ended in the process, and the reply that says how need not come.
    bool endsWithoutReply() const { return replyMayBeLost && idle && status.empty(); }
    Clock::time_point giveUp{};
    nlohmann::json times = nlohmann::json::object();  ///< of its messages, by JupyterLab's names
    void note(const char* name, const JupyterMessage& message) {
      if (std::string time = stringAt(message.header, "date"); !time.empty()) times[name] = std::move(time);
    }
  };
  struct Question {  ///< complete or inspect
    std::uint64_t request = 0;
    std::string code;
    int cursor = 0;
  };

  void connect();
  void watch(zmq::socket_t& socket);
  void closeSockets();
  void readMonitor(std::size_t index);
  void connectAgain(std::size_t index);
  void reconnected(Channel channel);
  /// False: no message was waiting.
  bool receiveOne(std::size_t index);
  /// False: the message exceeds the size limit and was not sent.
  bool send(Channel channel, const JupyterMessage& message);
  void startNext();
  void finishIfDone();
  void finish(std::string status);
  void askHeld();
  void sendInfoRequest(Clock::time_point now);
  void becomeReady();
  /// Sends a heartbeat if one is due; returns when to check again.
  Clock::time_point heartbeat(Clock::time_point now);
  Clock::duration beatInterval() const;
  void finishClosing();

  void handle(Channel channel, const JupyterMessage& message);
  void handleReply(const JupyterMessage& message);
  void handleExecuteReply(const JupyterMessage& message);
  void handlePublished(const JupyterMessage& message);
  void handleStatus(const JupyterMessage& message);
  void handleInputRequest(const JupyterMessage& message);
  void remember(const std::string& message, const std::string& cell);
  const std::string* cellOf(const JupyterMessage& message) const;

  EventOutbox outbox_;
  JupyterPacker packer_;
  Connection connection_;
  std::uint64_t number_ = 0;
  std::unique_ptr<zmq::context_t> context_;
  std::vector<zmq::socket_t> sockets_;                       ///< by Channel
  std::vector<zmq::socket_t> monitors_;                      ///< of each of them
  std::array<int, 5> connections_{};                         ///< how often each was made
  std::array<std::optional<Clock::time_point>, 5> again_{};  ///< when those that ended are made again

  bool open_ = false;
  nlohmann::json info_;     ///< kernel_info_reply's content; null: not here yet
  bool published_ = false;  ///< something came over iopub: the subscription is active
  bool ready_ = false;
  bool exiting_ = false;  ///< a cell called exit()
  std::optional<Clock::time_point> closing_;
  bool keepQueue_ = false;
  Clock::time_point closingLimit_{}, infoSent_{}, beatSent_{}, now_{};
  Limits limits_;
  bool beatUnderway_ = false, answering_ = true;

  std::deque<Waiting> queue_;
  std::optional<Running> running_;
  std::map<std::string, std::string> cells_;  ///< cell ids by message id, of the newest messages
  std::deque<std::string> cellOrder_;
  std::optional<nlohmann::json> inputParent_;
  std::optional<Question> heldCompletion_, heldInspection_;
  std::pair<std::string, std::uint64_t> completion_, inspection_;  ///< newest sent: message id, request
  int warnings_ = 0;
};

}  // namespace tapedeck::app
