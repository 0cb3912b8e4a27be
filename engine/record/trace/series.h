// The curves that a session draws: points in the order in which they were added.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck {

/// Safe from several threads. Points and restarts share one row of positions, so that a reader that goes on
/// from an answer's `next` misses none and gets none twice.
///
/// There is room for `most_points`. When it is used up, the curves are thinned out to seven eighths of that
/// or less, evenly: of neighbours the one stays that is farther from what came before, so that spikes do.
class SeriesStore {
 public:
  explicit SeriesStore(std::size_t most_points = std::size_t{1} << 20, std::size_t most_curves = 4096)
      : most_points_(most_points), most_curves_(most_curves) {}

  /// The points of a new series beside `most_curves` others go to one named "(names full)".
  void add(const std::string& series, double step, double value, std::uint64_t record);
  /// After the points of another store were added again: how many that one had thinned out.
  void restore_thinned(std::uint64_t count);
  /// The points so far are void: what draws the series starts anew.
  void restart(const std::string& series);
  /// What draws the series runs again. Its next point decides: behind the others it goes on with them, else
  /// they are void. `again` false: no longer.
  void reopen(const std::string& series, bool again = true);
  std::uint64_t size() const;     ///< positions used
  std::uint64_t thinned() const;  ///< points that had to go, void ones apart
  std::uint64_t bytes() const;
  /// How a curve's newest point stands to the one before it.
  struct Trend {
    std::uint64_t position = 0;  ///< of the newest point, from 1; 0: there are no two points
    double before = 0, newest = 0;
  };
  /// Of the curve of that name; where there is none, of the newest one called so in some cell
  /// ("cell 3: loss").
  Trend trend(const std::string& name) const;
  /// At most `limit` points from position `first` on, without those that a later restart made void.
  protocol::Series read(std::uint64_t first, std::size_t limit = 10000) const;
  /// The points that were added while the newest record was one of [first, last], in order: also those that a
  /// later restart made void, as long as there is room for them.
  std::vector<protocol::SeriesPoint> between(std::uint64_t first, std::uint64_t last) const;

  /// What stands at one position.
  struct Kept {
    protocol::SeriesPoint point;  ///< of a restart the name alone
    bool restart = false;
  };
  /// All that is kept of the positions [first, end), void points among it, at most `limit`; `first` is moved
  /// behind it. Added to another store in this order, it makes that one answer as this one does.
  std::vector<Kept> kept(std::uint64_t& first, std::uint64_t end, std::size_t limit = 10000) const;

 private:
  struct Entry {
    std::uint64_t position = 0;
    std::uint64_t place = 0;  ///< how many points of the curve came before, void ones among them
    double step = 0, value = 0;
    std::uint64_t record = 0;
    std::uint32_t series = 0;
    bool restart = false;
  };
  struct Curve {
    std::string name;
    std::uint64_t valid_from = 0;  ///< a position
    std::uint64_t points = 0;      ///< all that there were, void ones among them
    std::uint64_t valid = 0;       ///< points since the last restart
    double last_step = 0;          ///< the largest of these
    bool reopened = false;
    Trend trend = {};
  };
  std::uint32_t curve(const std::string& name);
  void append(Entry entry);
  void make_void(std::uint32_t number);
  void drop_void();
  void thin_out();

  const std::size_t most_points_, most_curves_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  ///< positions rise
  std::uint64_t next_ = 0, thinned_ = 0;
  int spacing_bits_ = 0;  ///< one point stays of 2^this
  std::vector<Curve> curves_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace tapedeck
