// The records that are here: by page, the least recently used pages go first. No Qt objects, no requests.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

class RecordCache {
 public:
  static constexpr std::uint64_t page_size = 256;
  static std::uint64_t page_of(std::uint64_t number) { return (number - 1) / page_size; }

  void clear();
  /// At least one page is always kept.
  void set_limit(std::size_t records);
  std::size_t size() const { return size_; }

  /// Replaces older states of the same records.
  void insert(std::vector<protocol::Record> records);
  const protocol::Record* find(std::uint64_t number) const;
  /// As find, and marks the page as used.
  const protocol::Record* touch(std::uint64_t number);
  /// From the records that are here; its name and preview wherever one of them had it.
  const protocol::TensorInfo* tensor(std::uint64_t id) const;

  /// Records here that were pending or running when they came, or whose GPU had not reported its time.
  const std::set<std::uint64_t>& open() const { return open_; }
  /// First and last (inclusive) of each run of numbers of the page, up to `newest`, that are not here or are
  /// in `stale`; runs that lie close together are joined.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> missing(std::uint64_t page, std::uint64_t newest,
                                                               const std::set<std::uint64_t>& stale) const;

 private:
  struct Page {
    std::vector<std::optional<protocol::Record>> entries =
        std::vector<std::optional<protocol::Record>>(page_size);
    std::size_t filled = 0;
    std::uint64_t used = 0;
  };
  struct Mention {
    protocol::TensorInfo info;
    int count = 0;
  };
  void mention(const protocol::Record& record);
  void forget(const protocol::Record& record);
  void evict();

  std::unordered_map<std::uint64_t, Page> pages_;
  std::unordered_map<std::uint64_t, Mention> tensors_;
  std::set<std::uint64_t> open_;
  std::size_t size_ = 0;
  std::size_t limit_ = 100'000;
  std::uint64_t clock_ = 0;
};

}  // namespace tapedeck::inspector
