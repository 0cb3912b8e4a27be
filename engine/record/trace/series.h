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

/// Thread-safe. Points and restarts share one sequence of positions, so that a reader that continues from an
/// answer's `next` gets each exactly once.
///
/// Each cell has its own curves, even under the same name: a name means the curve of the cell of the last
/// begin_run(). Outside, protocol::drawn_key() identifies a curve.
///
/// Limited to `most_points`. At the limit, the curves are thinned out evenly to at most seven eighths: of two
/// neighbours the one farther from the previous point stays, so that spikes are kept.
class SeriesStore {
 public:
  explicit SeriesStore(std::size_t most_points = std::size_t{1} << 20, std::size_t most_curves = 4096)
      : most_points_(most_points), most_curves_(most_curves) {}

  /// Points added from now on, even after the run ends, belong to that execution of the cell, until another
  /// one begins.
  void begin_run(const std::string& cell, std::uint64_t execution);
  /// `x`: what the steps are; a curve with another kind of steps restarts. Beyond `most_curves` curves,
  /// points of new ones go to one named "(names full)".
  void add(const std::string& name, double step, double value, std::uint64_t record,
           std::string_view x = "step");
  /// Adds a point of a trace file or, with `restart`, the position where its curve restarted.
  void restore(const protocol::CurveInfo& curve, const protocol::SeriesPoint& point, bool restart);
  /// The curve with that key; nullopt if there is none.
  std::optional<protocol::CurveInfo> info(const std::string& series) const;
  /// After the points of another store were added: how many that store had thinned out.
  void restore_thinned(std::uint64_t count);
  /// Invalidates the points so far: the code that draws the series starts again.
  void restart(const std::string& name);
  /// The code that draws the series runs again. If the next point's step is after the others, it continues
  /// them; otherwise it invalidates them. `again` false: undoes this.
  void reopen(const std::string& name, bool again = true);
  std::uint64_t size() const;     ///< positions used
  std::uint64_t thinned() const;  ///< points dropped by thinning, without void ones
  std::uint64_t bytes() const;
  /// A curve's newest point and the one before it.
  struct Trend {
    std::uint64_t position = 0;  ///< of the newest point, from 1; 0: fewer than two points
    double before = 0, newest = 0;
  };
  /// Of the curve of that name in the running cell; else of the newest one in any cell.
  Trend trend(const std::string& name) const;
  /// At most `limit` points from position `first` on, without those that a later restart invalidated.
  protocol::Series read(std::uint64_t first, std::size_t limit = 10000) const;
  /// The points that were added while the newest record was one of [first, last], in order: including those
  /// that a later restart invalidated, as far as they are still kept.
  std::vector<protocol::SeriesPoint> between(std::uint64_t first, std::uint64_t last) const;

  /// The content of one position.
  struct Kept {
    protocol::SeriesPoint point;  ///< of a restart only the name
    bool restart = false;
  };
  /// At most `limit` entries of the positions [first, end), including void points; moves `first` past them.
  /// Another store to which they are added in this order gives the same answers.
  std::vector<Kept> kept(std::uint64_t& first, std::uint64_t end, std::size_t limit = 10000) const;

 private:
  struct Entry {
    std::uint64_t position = 0;
    std::uint64_t place = 0;  ///< number of earlier points of the curve, including void ones
    double step = 0, value = 0;
    std::uint64_t record = 0;
    std::uint32_t series = 0;
    bool restart = false;
  };
  struct Curve {
    protocol::CurveInfo info;
    std::uint64_t valid_from = 0;  ///< a position
    std::uint64_t points = 0;      ///< all, including void ones
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
