// A small hash map from ids to positions.
#pragma once

#include <bit>
#include <boost/container/small_vector.hpp>
#include <cstdint>

namespace tapedeck::detail {

/// Open addressing; ids are never 0. Entries cannot be erased one by one.
class IdMap {
 public:
  /// -1 if the id is absent.
  std::int32_t find(std::uint64_t id) const {
    if (size_ == 0) return -1;
    for (std::size_t i = start(id);; i = (i + 1) & mask()) {
      if (cells_[i].id == id) return cells_[i].value;
      if (cells_[i].id == 0) return -1;
    }
  }

  /// Sets the id's value; replaces an existing one.
  void set(std::uint64_t id, std::int32_t value) {
    if ((size_ + 1) * 4 > cells_.size() * 3) grow();
    place(id, value);
  }

  void clear() {
    cells_.clear();
    size_ = 0;
  }

 private:
  struct Cell {
    std::uint64_t id = 0;
    std::int32_t value = -1;
  };

  std::size_t mask() const { return cells_.size() - 1; }
  // Ids are assigned consecutively: multiplying by 2⁶⁴/φ spreads them.
  std::size_t start(std::uint64_t id) const {
    return static_cast<std::size_t>(id * 0x9E3779B97F4A7C15u >> 32) & mask();
  }

  void place(std::uint64_t id, std::int32_t value) {
    std::size_t i = start(id);
    while (cells_[i].id != 0 && cells_[i].id != id) i = (i + 1) & mask();
    if (cells_[i].id == 0) ++size_;
    cells_[i] = {id, value};
  }

  void grow() {
    if (cells_.empty()) return cells_.resize(16);
    Cells old(cells_.size() * 2);
    old.swap(cells_);
    size_ = 0;
    for (const Cell& cell : old)
      if (cell.id != 0) place(cell.id, cell.value);
  }

  using Cells = boost::container::small_vector<Cell, 16>;
  Cells cells_;
  std::size_t size_ = 0;
};

}  // namespace tapedeck::detail
