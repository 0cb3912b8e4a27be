// The events that the Jupyter client's thread sends to the UI thread, in order.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

namespace tapedeck::app::events {

struct Ready {
  nlohmann::json info;
};
struct Started {
  std::string cell;
  int count = 0;
};
struct Timed {
  std::string cell;
  nlohmann::json times;
};
struct Output {
  std::string cell;
  nlohmann::json output;
};
struct LeftOut {  ///< outputs beyond the most that a cell keeps
  std::string cell;
  std::uint64_t count = 0;
};
struct Cleared {
  std::string cell;
  bool wait = false;
};
struct DisplayUpdated {
  std::string display;
  nlohmann::json data, metadata;
};
struct Finished {
  std::string cell;
  std::string status;
  int count = 0;
};
struct ExitAsked {};  ///< a cell called exit(): the process is about to end
struct InputRequested {
  std::string cell, prompt;
  bool password = false;
};
struct Completed {
  std::uint64_t request = 0;
  std::vector<std::string> matches;
  int start = 0, end = 0;  ///< code points
};
struct Inspected {
  std::uint64_t request = 0;
  std::string text;
};
struct BusyForOthers {  ///< with a cell of another program that is connected to the process
  bool busy = false;
};
struct Answering {  ///< the heartbeat: lost, or there again
  bool answers = true;
};
struct Broken {  ///< the sockets can't be used
  std::string what;
};
struct Closed {  ///< all that the process sent has been delivered
  std::uint64_t connection = 0;
};

using Event =
    std::variant<Ready, Started, Timed, Output, LeftOut, Cleared, DisplayUpdated, Finished, ExitAsked,
                 InputRequested, Completed, Inspected, BusyForOthers, Answering, Broken, Closed>;

}  // namespace tapedeck::app::events
