#include "engine/record/trace/pictures.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace tapedeck {
namespace {

constexpr std::uint64_t gone = ~std::uint64_t{0};
constexpr std::uint64_t name_bytes = 128;  ///< of a name in the map, beside its letters

std::uint64_t bytes_of(const protocol::Picture& picture) {
  std::uint64_t bytes = picture.name.size() + picture.cell.size() +
                        sizeof(double) * (picture.limits.size() + picture.counts.size());
  for (const std::string& png : picture.pngs) bytes += sizeof png + png.size();
  return bytes;
}

/// The remaining pictures of a name, by position, while others are dropped.
struct Row {
  std::vector<std::size_t> places;
  std::uint64_t bytes = 0;
};

}  // namespace

std::uint64_t PictureStore::Entry::bytes() const {
  return sizeof(Entry) + bytes_of(picture);
}

void PictureStore::begin_run(const std::string& cell, std::uint64_t execution) {
  const std::lock_guard lock(mutex_);
  cell_ = cell;
  execution_ = execution;
}

bool PictureStore::add(protocol::Picture picture) {
  {
    const std::lock_guard lock(mutex_);
    picture.cell = cell_;
    picture.execution = execution_;
  }
  return keep(std::move(picture), false);
}

bool PictureStore::restore(protocol::Picture picture) {
  return keep(std::move(picture), true);
}

bool PictureStore::keep(protocol::Picture picture, bool keeps_number) {
  const std::lock_guard lock(mutex_);
  Entry entry{0, false, std::move(picture)};
  const std::uint64_t size = entry.bytes();
  if (size > most_picture_bytes()) return false;
  const auto [known, is_new] = names_.try_emplace(entry.key());
  if (is_new) bytes_ += name_bytes + known->first.size();
  Name& name = known->second;
  const double step = entry.picture.step;
  if (std::exchange(name.reopened, false) && name.pictures > 0 && !(step > name.last_step))
    make_void(entry.picture.name, entry.picture.cell);
  entry.position = next_++;
  name.last_step = name.pictures > 0 ? std::max(name.last_step, step) : step;
  if (keeps_number) name.pictures = entry.picture.number;
  entry.picture.number = name.pictures++;
  bytes_ += size;
  entries_.push_back(std::move(entry));
  if (bytes_ > most_bytes_) thin_out();
  return true;
}

void PictureStore::restart(const std::string& name) {
  const std::lock_guard lock(mutex_);
  make_void(name, cell_);
}

void PictureStore::reopen(const std::string& name, bool again) {
  const std::lock_guard lock(mutex_);
  if (const auto known = names_.find(protocol::drawn_key(name, cell_)); known != names_.end())
    known->second.reopened = again;
}

void PictureStore::make_void(const std::string& name, const std::string& cell) {
  const auto removed = std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.picture.name != name || entry.picture.cell != cell) return false;
    bytes_ -= entry.bytes();
    return true;
  });
  if (const auto known = names_.find(protocol::drawn_key(name, cell)); known != names_.end())
    known->second = {};
  if (!removed && !names_lost_) return;
  Entry entry{next_++, true, {}};
  entry.picture.name = name;
  entry.picture.cell = cell;
  bytes_ += entry.bytes();
  entries_.push_back(std::move(entry));
}

void PictureStore::thin_out() {
  const std::uint64_t enough = most_bytes_ - most_bytes_ / 8;
  std::unordered_map<std::string, Row> rows;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].restart) continue;
    Row& row = rows[entries_[i].key()];
    row.places.push_back(i);
    row.bytes += entries_[i].bytes();
  }
  while (bytes_ > enough) {
    auto largest = rows.end();
    for (auto row = rows.begin(); row != rows.end(); ++row)
      if (row->second.places.size() > 2 &&
          (largest == rows.end() || row->second.bytes > largest->second.bytes))
        largest = row;
    if (largest == rows.end()) break;  // the first and the newest of each remain
    Row& row = largest->second;
    Name& name = names_[largest->first];
    // First thins out newer ones to the spacing of the others; widens the spacing only if that frees nothing.
    const std::size_t newest = row.places.back();
    const auto freed = std::erase_if(row.places, [&](std::size_t place) {
      Entry& entry = entries_[place];
      if (place == newest || entry.picture.number % name.spacing == 0) return false;
      bytes_ -= entry.bytes();
      row.bytes -= entry.bytes();
      entry.position = gone;
      return true;
    });
    if (!freed) name.spacing *= 2;
  }
  std::erase_if(entries_, [](const Entry& entry) { return entry.position == gone; });
  if (bytes_ > enough) drop_oldest();
}

/// For so many names that two pictures of each are too much.
void PictureStore::drop_oldest() {
  std::size_t dropped = 0;
  for (; bytes_ > most_bytes_ - most_bytes_ / 8 && dropped + 1 < entries_.size(); ++dropped)
    bytes_ -= entries_[dropped].bytes();
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(dropped));
  std::unordered_set<std::string> left;
  for (const Entry& entry : entries_) left.insert(entry.key());
  std::erase_if(names_, [&](const auto& name) {
    if (left.contains(name.first)) return false;
    bytes_ -= name_bytes + name.first.size();
    return true;
  });
  names_lost_ = true;
}

std::uint64_t PictureStore::size() const {
  const std::lock_guard lock(mutex_);
  return next_;
}
std::uint64_t PictureStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

protocol::Pictures PictureStore::read(std::uint64_t first, std::uint64_t most_bytes) const {
  const std::lock_guard lock(mutex_);
  protocol::Pictures answer;
  std::uint64_t taken = 0;
  auto at = std::ranges::lower_bound(entries_, first, {}, &Entry::position);
  for (; at != entries_.end() && (taken == 0 || taken + at->bytes() <= most_bytes); ++at) {
    taken += at->bytes();
    if (at->restart)
      answer.restarted.push_back(at->key());
    else
      answer.pictures.push_back(at->picture);
  }
  answer.next = at == entries_.end() ? next_ : at->position;
  return answer;
}

}  // namespace tapedeck
