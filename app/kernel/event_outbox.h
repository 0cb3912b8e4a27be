// Gathers what goes to the UI thread, so that a cell that floods its output can't flood the UI.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/kernel/jupyter/jupyter_events.h"
#include "app/kernel/socket_thread.h"

namespace tapedeck::app {

/// Text of one stream that waits for its delivery. It keeps tens of megabytes whole. Where the receiver
/// stalls and more comes, it drops the middle and puts a line there that says how much is missing.
class StreamText {
 public:
  void append(const std::string& text);
  /// The next piece, of at most `limit` bytes unless a character is longer.
  std::string take(std::size_t limit);
  bool empty() const { return head_.empty() && tail_.empty() && leftOut_ == 0; }

 private:
  void refill();
  std::string head_, tail_;
  std::size_t leftOut_ = 0;
};

/// Used on the socket thread. Delivers at most 30 times a second, and only while the UI has taken what it got
/// before. Neighbouring stream texts of a cell are joined; a delivery has at most 2 MiB of text, so that none
/// holds up the window, and the rest waits for the next; outputs that a clear_output takes away again are not
/// sent at all. Of outputs that are no streams a cell gets as many as it keeps (see
/// protocol::max_cell_outputs), one error more, and the number of those that were left out.
class EventOutbox {
 public:
  using Deliver = std::function<void(std::vector<events::Event>)>;
  explicit EventOutbox(Deliver deliver) : deliver_(std::move(deliver)) {}

  void push(events::Event event);
  /// A cell is run (again): it has no outputs.
  void begin(const std::string& cell);
  void pushOutput(const std::string& cell, nlohmann::json output);
  void pushCleared(const std::string& cell, bool wait);
  void pushUpdate(events::DisplayUpdated update);

  /// The UI thread has handled a delivery.
  void taken();
  /// Delivers if it is time. Returns when to call again.
  Clock::time_point flush(Clock::time_point now);

 private:
  struct Item {
    events::Event event;
    StreamText text;  ///< of a stream output, kept apart from the event until it is sent
    bool stream = false;
  };
  /// What a cell has got since it was begun or cleared last.
  struct Room {
    std::size_t outputs = 0, bytes = 0;
    bool errorBeyond = false;
    bool clearsOnNext = false;  ///< whenever that comes: else as clearsOnNextOutput_
  };
  bool hasRoom(const std::string& cell, const nlohmann::json& output);
  void leaveOut(const std::string& cell);
  void eraseOutputsBeforeClear(const std::string& cell);
  Item* joinableStream(const std::string& cell, const std::string& name);

  Deliver deliver_;
  std::deque<Item> items_;
  std::set<std::string> clearsOnNextOutput_;  ///< cells with a clear_output(wait=True) among the items
  std::map<std::string, Room> rooms_;
  int underway_ = 0;
  Clock::time_point last_{};
};

}  // namespace tapedeck::app
