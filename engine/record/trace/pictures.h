// What a session's summaries show beside curves: histograms and images, by name and step.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck {

/// Safe from several threads. Pictures and restarts share one row of positions, as points of curves do.
///
/// There is room for `most_bytes`. When it is used up, the names that take most are thinned out until seven
/// eighths are left or less, evenly: one of 2, of 4, … stays, and the first and the newest of each name.
/// Where two of each are too much, the oldest of all go.
class PictureStore {
 public:
  explicit PictureStore(std::uint64_t most_bytes = std::uint64_t{64} << 20) : most_bytes_(most_bytes) {}

  /// What is added from now on is of that execution of the cell, also after its end until another one begins:
  /// each cell has pictures of its own, also where they have one name.
  void begin_run(const std::string& cell, std::uint64_t execution);
  /// Gives it its number, cell and execution. False, and it is not kept, where it alone would take more than
  /// most_picture_bytes().
  bool add(protocol::Picture picture);
  /// One that another store gave out: it keeps its number.
  bool restore(protocol::Picture picture);
  /// The cell's pictures of that name so far are void.
  void restart(const std::string& name);
  /// What makes them runs again. The next one decides: behind the others it goes on with them, else they are
  /// void. `again` false: no longer.
  void reopen(const std::string& name, bool again = true);
  std::uint64_t size() const;  ///< positions used
  std::uint64_t bytes() const;
  std::uint64_t most_picture_bytes() const { return most_bytes_ / 16; }
  /// Pictures from position `first` on, until they take `most_bytes`; at least one.
  protocol::Pictures read(std::uint64_t first, std::uint64_t most_bytes = std::uint64_t{1} << 20) const;

 private:
  struct Entry {
    std::uint64_t position = 0;
    bool restart = false;  ///< then of the picture the name alone
    protocol::Picture picture;
    std::uint64_t bytes() const;
    std::string key() const { return protocol::drawn_key(picture.name, picture.cell); }
  };
  struct Name {
    std::uint64_t pictures = 0;  ///< all that there were since the last restart
    std::uint64_t spacing = 1;   ///< one of so many stays when there is no room
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
  bool names_lost_ = false;  ///< a name has no picture any more here, but a reader may have some
};

}  // namespace tapedeck
