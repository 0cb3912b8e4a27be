// The runs of cells that a session saw: which records belong to which. A cell that runs again leaves the
// records of its last run where they are.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tapedeck {

struct CellRun {
  enum class State : std::uint8_t { running, done, failed };
  std::uint64_t number = 0;           ///< from 1, in the order in which they began
  std::string cell;                   ///< its id
  std::uint32_t first = 1, last = 0;  ///< records; of a run that goes on `last` is 0
  std::int64_t start = 0, end = 0;    ///< nanoseconds since the recorder began; `end` 0 while it runs
  State state = State::running;
  std::uint32_t execution = 0;      ///< Jupyter's number of it, "[3]" beside the cell; 0: not known
  std::uint64_t newest_tensor = 0;  ///< id, when it began; 0: not known (files do not say)
};

/// The newest ones; older ones are forgotten. Any thread may call.
class CellRuns {
 public:
  explicit CellRuns(std::size_t limit = 10'000) : limit_(limit) {}

  /// A run that has not ended yet fails: its end was never told. `first`: the next record's number.
  void begin(const std::string& cell, std::uint32_t first, std::int64_t now, std::uint32_t execution = 0,
             std::uint64_t newest_tensor = 0);
  /// Of the run that began last; `last`: the newest record. Does nothing where none runs.
  void end(std::uint32_t last, std::int64_t now, bool failed);
  /// As another process recorded it: numbers go on from the newest.
  void add(CellRun run);

  std::uint64_t total() const;  ///< that there were, forgotten ones among them
  /// The newest `count`, the oldest of them first.
  std::vector<CellRun> newest(std::size_t count) const;

  /// The execution of the cell whose code the record ran: the newest of the cell's that began before it. A
  /// function belongs to the execution that defined it, whichever cell calls it. 0: not known.
  std::uint32_t execution_of(const std::string& cell, std::uint32_t record) const;
  /// First record and execution of each of the cell's runs, in order.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> executions(const std::string& cell) const;

 private:
  void append(CellRun run);  ///< the mutex is held

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::deque<CellRun> runs_;
  /// By cell; also of runs that are forgotten, as long as their records may be there.
  std::unordered_map<std::string, std::deque<std::pair<std::uint32_t, std::uint32_t>>> executions_;
  std::uint64_t total_ = 0;
};

}  // namespace tapedeck
