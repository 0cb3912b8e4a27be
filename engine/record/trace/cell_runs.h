// The runs of a session's cells, with the records of each. Records of a cell's earlier runs stay.
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
  std::uint32_t first = 1, last = 0;  ///< records; `last` is 0 while it runs
  std::int64_t start = 0, end = 0;    ///< nanoseconds since the recorder began; `end` 0 while it runs
  State state = State::running;
  std::uint32_t execution = 0;      ///< Jupyter's number, "[3]" beside the cell; 0: unknown
  std::uint64_t newest_tensor = 0;  ///< id, when it began; 0: unknown (not stored in files)
  /// How many of the records are calls of graph functions or parts of them; while it runs, how many there had
  /// been before it (not stored in files).
  std::uint64_t calls = 0;
};

/// Keeps the newest runs. Thread-safe.
class CellRuns {
 public:
  explicit CellRuns(std::size_t limit = 10'000) : limit_(limit) {}

  /// A run that has not ended counts as failed, because its end was not reported. `first`: the next record's
  /// number; `calls`: records of graph functions' calls so far.
  void begin(const std::string& cell, std::uint32_t first, std::int64_t now, std::uint32_t execution = 0,
             std::uint64_t newest_tensor = 0, std::uint64_t calls = 0);
  /// Ends the run that began last; `last`: the newest record. Does nothing if none runs.
  void end(std::uint32_t last, std::int64_t now, bool failed, std::uint64_t calls = 0);
  /// Adds a run that another process recorded: numbers continue from the newest.
  void add(CellRun run);

  std::uint64_t total() const;  ///< including forgotten ones
  /// The newest `count`, oldest first.
  std::vector<CellRun> newest(std::size_t count) const;

  /// The execution of the cell whose code the record ran: the cell's newest that began before it. A function
  /// belongs to the execution that defined it, whichever cell calls it. 0: unknown.
  std::uint32_t execution_of(const std::string& cell, std::uint32_t record) const;
  /// First record and execution of each of the cell's runs, in order.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> executions(const std::string& cell) const;

 private:
  void append(CellRun run);  ///< the mutex is held

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::deque<CellRun> runs_;
  /// By cell; also for forgotten runs while their records may still exist.
  std::unordered_map<std::string, std::deque<std::pair<std::uint32_t, std::uint32_t>>> executions_;
  std::uint64_t total_ = 0;
};

}  // namespace tapedeck
