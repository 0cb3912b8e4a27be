// The curves that a session draws: points in the order in which they were added.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck {

/// Safe from several threads. Points and restarts share one row of positions, so that a reader that goes on
/// from an answer's `next` misses none and gets none twice.
///
/// Each cell draws curves of its own, also where they have one name: a name means the curve of the cell that
/// begin_run() told of last. Outwards a curve is known by its protocol::drawn_key().
///
/// There is room for `most_points`. When it is used up, the curves are thinned out to seven eighths of that
/// or less, evenly: of neighbours the one stays that is farther from what came before, so that spikes do.
class SeriesStore {
 public:
  explicit SeriesStore(std::size_t most_points = std::size_t{1} << 20, std::size_t most_curves = 4096)
      : most_points_(most_points), most_curves_(most_curves) {}

  /// What is added from now on is of that execution of the cell, also after its end until another one begins.
  void begin_run(const std::string& cell, std::uint64_t execution);
  /// `x`: what the steps are; a curve whose points were of another kind starts anew. The points of a new
  /// curve beside `most_curves` others go to one named "(names full)".
  void add(const std::string& name, double step, double value, std::uint64_t record,
           std::string_view x = "step");
  /// A point of a trace file, or with `restart` the place where its curve started anew.
  void restore(const protocol::CurveInfo& curve, const protocol::SeriesPoint& point, bool restart);
  /// The curve of that key. nullopt: there is none.
  std::optional<protocol::CurveInfo> info(const std::string& series) const;
  /// After the points of another store were added again: how many that one had thinned out.
  void restore_thinned(std::uint64_t count);
  /// The points so far are void: what draws the series starts anew.
  void restart(const std::string& name);
  /// What draws the series runs again. Its next point decides: behind the others it goes on with them, else
  /// they are void. `again` false: no longer.
  void reopen(const std::string& name, bool again = true);
  std::uint64_t size() const;     ///< positions used
  std::uint64_t thinned() const;  ///< points that had to go, void ones apart
  std::uint64_t bytes() const;
  /// How a curve's newest point stands to the one before it.
  struct Trend {
    std::uint64_t position = 0;  ///< of the newest point, from 1; 0: there are no two points
    double before = 0, newest = 0;
  };
  /// Of the curve of that name in the cell that runs; where there is none, of the newest one in some cell.
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
    protocol::CurveInfo info;
    std::uint64_t valid_from = 0;  ///< a position
    std::uint64_t points = 0;      ///< all that there were, void ones among them
    std::uint64_t valid = 0;       ///< points since the last restart
    double last_step = 0;          ///< the largest of these
    bool reopened = false;
    Trend trend = {};
  };
  std::uint32_t curve(const std::string& name, const std::string& cell);
  void add_to(std::uint32_t number, double step, double value, std::uint64_t record);
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
  std::unordered_map<std::string, std::uint32_t> numbers_;  ///< by key
  std::string cell_;
  std::uint64_t execution_ = 0;
};

}  // namespace tapedeck
