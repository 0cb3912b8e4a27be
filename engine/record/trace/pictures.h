// Histograms and images of a session's summaries, by name and step.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck {

/// Thread-safe. Pictures and restarts share one sequence of positions, as points of curves do.
///
/// Limited to `most_bytes`. At the limit, the largest names are thinned out evenly to at most seven eighths:
/// one of 2, of 4, … stays, and the first and the newest of each name. If two of each are too much, the
/// oldest of all are dropped.
class PictureStore {
 public:
  explicit PictureStore(std::uint64_t most_bytes = std::uint64_t{64} << 20) : most_bytes_(most_bytes) {}

  /// Pictures added from now on, even after the run ends, belong to that execution of the cell, until another
  /// one begins. Pictures of the same name in different cells are separate.
  void begin_run(const std::string& cell, std::uint64_t execution);
  /// Sets its number, cell and execution. Returns false, without keeping it, if it alone exceeds
  /// most_picture_bytes().
  bool add(protocol::Picture picture);
  /// Adds a picture read from another store; it keeps its number.
  bool restore(protocol::Picture picture);
  /// Invalidates the cell's pictures of that name.
  void restart(const std::string& name);
  /// Their code runs again. If the next picture's step is after the others, it continues them; otherwise it
  /// invalidates them. `again` false: undoes this.
  void reopen(const std::string& name, bool again = true);
  std::uint64_t size() const;  ///< positions used
  std::uint64_t bytes() const;
  std::uint64_t most_picture_bytes() const { return most_bytes_ / 16; }
  /// Pictures from position `first` on, until they take `most_bytes`; at least one.
  protocol::Pictures read(std::uint64_t first, std::uint64_t most_bytes = std::uint64_t{1} << 20) const;

 private:
  struct Entry {
    std::uint64_t position = 0;
    bool restart = false;  ///< then only the picture's name is set
    protocol::Picture picture;
    std::uint64_t bytes() const;
    std::string key() const { return protocol::drawn_key(picture.name, picture.cell); }
  };
  struct Name {
    std::uint64_t pictures = 0;  ///< all since the last restart
    std::uint64_t spacing = 1;   ///< one of this many stays at the limit
    double last_step = 0;        ///< the largest since the last restart
    bool reopened = false;
  };
  bool keep(protocol::Picture picture, bool keeps_number);
  void make_void(const std::string& name, const std::string& cell);
  void thin_out();
  void drop_oldest();

  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;                   ///< positions rise
  std::unordered_map<std::string, Name> names_;  ///< by key
  std::string cell_;
  std::uint64_t execution_ = 0;
  std::uint64_t next_ = 0, bytes_ = 0;
  bool names_lost_ = false;  ///< a name has no pictures left here, but a reader may have some
};

}  // namespace tapedeck
