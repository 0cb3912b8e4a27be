#include "engine/debug/profile/index.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t records_between_looks = 1024;

/// Of one call; `children`: how much of its time records inside took.
ClassSums sums_of(const ProfileEvent& event, std::int64_t children) {
  const std::int64_t own = event.own();
  const bool known = event.work == WorkTime::host || event.work == WorkTime::known;
  return {1,
          own,
          own - children,
          own,
          event.number,
          known ? event.flops : 0,
          known ? event.bytes : 0,
          event.work == WorkTime::pending ? std::uint64_t{1} : 0,
          event.work == WorkTime::lost ? std::uint64_t{1} : 0};
}

DeviceSums device_sums_of(const ProfileEvent& event, ProfileRole role) {
  DeviceSums sums;
  sums.by_role[static_cast<std::size_t>(role)] = event.own();
  sums.calls = 1;
  sums.pending = event.work == WorkTime::pending ? 1 : 0;
  sums.lost = event.work == WorkTime::lost ? 1 : 0;
  return sums;
}

LaneBox device_box(const ProfileEvent& event) {
  return {event.work_start,    event.work_start + event.work_duration,
          event.work_duration, event.number,
          event.work_duration, 1};
}

}  // namespace

std::vector<GapPiece> gap_pieces(const ProfileEvent& before, const ProfileEvent* after,
                                 const ProfileClasses& classes, const Pauses& pauses) {
  const Intervals& gate = pauses.at_gate(before.thread);
  const std::int64_t begin = gate.end_of(before.start, before.duration);
  const std::uint32_t from = classes.at(before.kind).location;
  const std::uint32_t to = after ? classes.at(after->kind).location : 0;
  std::vector<GapPiece> pieces;
  const auto add = [&](std::uint32_t one, std::uint32_t other, std::int64_t first, std::int64_t last,
                       bool at_end) {
    const std::int64_t length = last - first - gate.within(first, last);
    if (length > 0) pieces.push_back({{before.thread, one, other}, length, at_end});
  };
  const std::int64_t end = after ? after->start : INT64_MAX;
  auto idle = pauses.cells.from(begin);
  const auto& cells = pauses.cells.all();
  if (idle == cells.end() || idle->from >= end) {
    if (after) add(from, to, begin, end, false);
    return pieces;
  }
  add(from, 0, begin, std::max(begin, idle->from), true);
  if (!after) return pieces;
  while (idle + 1 != cells.end() && (idle + 1)->from < end) ++idle;  // cells without ops
  add(0, to, std::min(idle->to, end), end, false);
  return pieces;
}

ProfileIndex::Block* ProfileIndex::block_of(std::uint32_t number) {
  const std::uint32_t index = number / block_size;
  if (blocks_.empty()) first_block_ = index;
  if (index < first_block_) return nullptr;
  while (index - first_block_ >= blocks_.size()) blocks_.emplace_back();
  return &blocks_[index - first_block_];
}

ProfileIndex::Inner* ProfileIndex::inner_of(std::uint32_t number) {
  const auto found =
      std::lower_bound(inner_.begin(), inner_.end(), number,
                       [](const Inner& one, std::uint32_t wanted) { return one.number < wanted; });
  return found == inner_.end() || found->number != number ? nullptr : &*found;
}

void ProfileIndex::advance(std::chrono::steady_clock::time_point until, std::uint32_t newest) {
  forget();
  look_again(std::nullopt, 0);
  next_ = std::max(next_, events_.oldest());
  while (next_ <= newest) {
    const std::uint32_t last = std::min(newest, next_ + records_between_looks - 1);
    std::vector<ProfileEvent> seen;  // the trace is not to be asked while it shows records
    seen.reserve(records_between_looks);
    const std::uint32_t after =
        events_.visit(next_, last, [&](const ProfileEvent& event) { seen.push_back(event); });
    for (const ProfileEvent& event : seen) take(event);
    if (after <= next_) break;  // its thread writes it just now
    next_ = after;
    if (std::chrono::steady_clock::now() >= until) break;
  }
  look_at_late();
}

/// A stream tells in the order of its work: behind what is not known yet nothing is known.
void ProfileIndex::look_at_late() {
  std::vector<std::uint32_t> still;
  std::set<DeviceLaneKey> behind;
  for (const std::uint32_t number : std::exchange(late_, {})) {
    std::optional<ProfileEvent> found;
    events_.visit(number, number, [&](const ProfileEvent& event) { found = event; });
    if (!found) continue;
    const DeviceLaneKey key{found->gpu, found->thread};
    if (found->work == WorkTime::pending || behind.contains(key)) {
      behind.insert(key);
      still.push_back(number);
      continue;
    }
    if (found->work == WorkTime::known) {
      const LaneBox box = device_box(*found);
      last_ = std::max(last_, box.to);
      device_lanes_[key].add(box);
    }
    Block* block = block_of(number);
    if (!block) continue;
    ClassSums now = sums_of(*found, 0);
    DeviceSums device = device_sums_of(*found, events_.classes().at(found->kind).role);
    now.calls = device.calls = 0;  // counted already
    block->sums.of(found->kind).add(now);
    --block->sums.of(found->kind).pending;
    block->sums.devices[found->gpu].add(device);
    --block->sums.devices[found->gpu].pending;
  }
  late_ = std::move(still);
}

void ProfileIndex::take(const ProfileEvent& event) {
  if (lanes_.empty() && open_.empty()) first_ = event.start;
  look_again(event.thread, event.depth);
  last_ = std::max(last_, event.start);
  Block& block = *block_of(event.number);
  block.least = std::min(block.least, event.start);
  block.most = std::max(block.most, event.start);
  Thread& thread = threads_[event.thread];
  const Parent parent =
      event.depth > 0 && event.depth <= thread.path.size() ? thread.path[event.depth - 1u] : Parent{};
  thread.path.resize(event.depth);
  thread.path.push_back({event.number, event.kind});
  if (event.inner) inner_.push_back({event.number, 0});
  if (event.depth == 0) {
    if (thread.top) add_gap(*thread.top, &event);
    if (!thread.top) {  // from the cell's start
      const auto& cells = pauses_.cells.all();
      const auto after = pauses_.cells.from(event.start);
      if (after != cells.begin()) {
        ProfileEvent begin = event;
        begin.start = (after - 1)->from;
        begin.duration = 0;
        add_gap(begin, &event);
      }
    }
    thread.top = event;
  }
  if (event.ended)
    end(event, parent);
  else
    open_.push_back({event, parent});
}

void ProfileIndex::end(const ProfileEvent& event, const Parent& parent) {
  const LaneBox box = boxed(event);
  last_ = std::max(last_, box.to);
  lanes_[{event.thread, event.depth}].add(box);
  if (Block* block = block_of(event.number)) {
    ProfileEvent passed = event;
    if (event.gpu != 0) {  // its time comes later, in the order of all
      passed.work = WorkTime::pending;
      block->sums.devices[event.gpu].add(device_sums_of(passed, ProfileRole::forward));
      late_.push_back(event.number);
    }
    block->sums.of(event.kind).add(sums_of(passed, 0));
    if (event.depth == 0) {
      ThreadSums& thread = block->sums.threads[event.thread];
      const auto role = static_cast<std::size_t>(events_.classes().at(event.kind).role);
      thread.by_role[role] += event.duration;
    }
    if (!event.inner) ++block->sums.threads[event.thread].calls;
  }
  if (parent.number != 0) {
    if (Inner* inner = inner_of(parent.number)) inner->children += event.duration;
    if (Block* block = block_of(parent.number)) block->sums.of(parent.kind).self -= event.duration;
  }
  Thread& thread = threads_[event.thread];
  if (event.depth == 0 && thread.top && thread.top->number == event.number) thread.top = event;
  steps_.add(event, pauses_);
}

void ProfileIndex::look_again(std::optional<std::uint16_t> thread, std::uint16_t depth) {
  if (open_.empty()) return;
  std::vector<Open> still;
  // Inner ones come behind those that they run in, and end first.
  std::vector<Open> looked = std::move(open_);
  open_.clear();
  std::vector<Open> over;
  for (Open& one : looked) {
    bool ended = false, shown = false;
    if (!thread || (one.event.thread == *thread && one.event.depth >= depth))
      events_.visit(one.event.number, one.event.number, [&](const ProfileEvent& event) {
        shown = true;
        if (event.ended) {
          one.event = event;
          ended = true;
        }
      });
    const bool gone = one.event.number < events_.oldest() && !shown;
    if (ended)
      over.push_back(one);
    else if (!gone)
      still.push_back(one);
  }
  open_ = std::move(still);
  for (auto one = over.rbegin(); one != over.rend(); ++one) end(one->event, one->parent);
}

void ProfileIndex::add_update(std::uint32_t step, std::uint32_t record) {
  const auto is_it = [record](const Open& one) { return one.event.number == record; };
  if (record >= next_ || std::any_of(open_.begin(), open_.end(), is_it))
    return steps_.expect_update(step, record);
  std::optional<ProfileEvent> update;
  events_.visit(record, record, [&](const ProfileEvent& event) { update = event; });
  if (update) steps_.add_update(step, *update, pauses_);
}

void ProfileIndex::cut_steps(std::uint32_t playback) {
  if (playback >= next_) return steps_.expect_cut(playback);
  events_.visit(playback, playback, [this](const ProfileEvent& event) { steps_.cut(event); });
}

void ProfileIndex::add_gap(const ProfileEvent& before, const ProfileEvent* after) {
  for (const GapPiece& piece : gap_pieces(before, after, events_.classes(), pauses_)) {
    const std::uint32_t record = piece.before_cell_end ? before.number : after->number;
    if (Block* block = block_of(record)) {
      block->sums.gaps[piece.key].add({1, piece.length, piece.length, record});
      block->sums.threads[piece.key.thread].gaps += piece.length;
    }
    if (!piece.before_cell_end) steps_.add_python(piece.key.thread, piece.length, piece.key.from == 0);
  }
}

void ProfileIndex::forget() {
  const std::uint32_t oldest = events_.oldest();
  if (oldest / block_size <= first_block_ || blocks_.empty()) return;
  while (!blocks_.empty() && first_block_ < oldest / block_size) {
    blocks_.pop_front();
    ++first_block_;
  }
  for (auto& [key, lane] : lanes_) lane.forget(oldest);
  for (auto& [key, lane] : device_lanes_) lane.forget(oldest);
  while (!inner_.empty() && inner_.front().number < oldest) inner_.pop_front();
  steps_.forget(oldest);
  if (!blocks_.empty() && blocks_.front().least != INT64_MAX) first_ = blocks_.front().least;
}

LaneBox ProfileIndex::boxed(const ProfileEvent& event) const {
  const Intervals& gate = pauses_.at_gate(event.thread);
  std::int64_t from = event.start;
  // It waited before it ran.
  const auto wait = gate.from(event.start);
  if (event.duration > 0 && wait != gate.all().end() && wait->from < event.start + event.duration &&
      !event.inner)
    from = std::max(from, wait->to);
  const std::int64_t to = gate.end_of(event.start, event.duration);
  return {std::min(from, to), to, event.duration, event.number, event.duration, 1};
}

LaneBox ProfileIndex::box_of(std::uint32_t record) {
  LaneBox box;
  events_.visit(record, record, [&](const ProfileEvent& event) {
    if (event.ended) box = boxed(event);
  });
  return box;
}

std::vector<LaneBox> ProfileIndex::boxes(const LaneKey& lane, std::int64_t from, std::int64_t to,
                                         double pixel) {
  std::vector<LaneBox> found;
  if (const auto at = lanes_.find(lane); at != lanes_.end())
    at->second.boxes(
        from, to, pixel, [this](std::uint32_t record) { return box_of(record); }, found);
  return found;
}

LaneBox ProfileIndex::device_box_of(std::uint32_t record) {
  LaneBox box;
  events_.visit(record, record, [&](const ProfileEvent& event) {
    if (event.work == WorkTime::known) box = device_box(event);
  });
  return box;
}

std::vector<LaneBox> ProfileIndex::device_boxes(const DeviceLaneKey& lane, std::int64_t from, std::int64_t to,
                                                double pixel) {
  std::vector<LaneBox> found;
  if (const auto at = device_lanes_.find(lane); at != device_lanes_.end())
    at->second.boxes(
        from, to, pixel, [this](std::uint32_t record) { return device_box_of(record); }, found);
  return found;
}

std::vector<std::pair<ProfileIndex::LaneKey, LaneBox>> ProfileIndex::open(std::int64_t now) const {
  std::vector<std::pair<LaneKey, LaneBox>> found;
  for (const Open& one : open_) {
    const std::int64_t start = one.event.start;
    const std::int64_t to = std::max(pauses_.reached(one.event.thread, now), start);
    const std::int64_t busy = to - start - pauses_.at_gate(one.event.thread).within(start, to);
    found.push_back({{one.event.thread, one.event.depth}, {start, to, busy, one.event.number, busy, 1}});
  }
  return found;
}

Sums ProfileIndex::sums(std::int64_t from, std::int64_t to) {
  Sums all;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.least > block.most || block.most < from || block.least >= to) continue;
    if (block.least >= from && block.most < to) {
      all.add(block.sums);
      continue;
    }
    const std::uint32_t number = (first_block_ + static_cast<std::uint32_t>(i)) * block_size;
    pass(std::max(number, 1u), std::min(number + block_size - 1, indexed()), from, to, all);
  }
  add_open_tails(from, to, all);
  for (ClassSums& one : all.sums) one.self = std::max<std::int64_t>(0, one.self);
  return all;
}

void ProfileIndex::pass(std::uint32_t first, std::uint32_t last, std::int64_t from, std::int64_t to,
                        Sums& into) {
  events_.visit(first, last, [&](const ProfileEvent& event) {
    if (event.start < from || event.start >= to) return;
    // Records that ended since the index passed them are counted when it looks again.
    const bool is_open = std::any_of(open_.begin(), open_.end(),
                                     [&](const Open& one) { return one.event.number == event.number; });
    const Inner* inner = event.inner ? inner_of(event.number) : nullptr;
    const std::int64_t children = inner ? inner->children : 0;
    if (!event.ended || is_open) {
      if (children > 0) into.of(event.kind).self -= children;
      return;
    }
    into.of(event.kind).add(sums_of(event, children));
    if (event.gpu != 0)
      into.devices[event.gpu].add(device_sums_of(event, events_.classes().at(event.kind).role));
    ThreadSums& thread = into.threads[event.thread];
    if (event.depth == 0)
      thread.by_role[static_cast<std::size_t>(events_.classes().at(event.kind).role)] += event.duration;
    if (!event.inner) ++thread.calls;
  });
  pass_gaps(first, last, from, to, into);
}

// The pieces that add_gap gave to records of [first, last], of those that begin in [from, to).
void ProfileIndex::pass_gaps(std::uint32_t first, std::uint32_t last, std::int64_t from, std::int64_t to,
                             Sums& into) {
  const auto event_of = [this](std::uint32_t number) {
    std::optional<ProfileEvent> found;
    events_.visit(number, number, [&](const ProfileEvent& event) { found = event; });
    return found;
  };
  const auto mine = [&](const ProfileEvent& event) {
    return event.number >= first && event.number <= last && event.start >= from && event.start < to;
  };
  for (auto& [key, lane] : lanes_) {
    if (key.second != 0) continue;
    const std::size_t begin = lane.position(first), end = lane.position(last + 1);
    std::optional<ProfileEvent> before = begin > 0 ? event_of(lane.number(begin - 1)) : std::nullopt;
    const Thread& thread = threads_[key.first];
    for (std::size_t i = begin; i <= end; ++i) {
      // Behind the lane's last one there may be one that still runs.
      std::optional<ProfileEvent> after;
      if (i < lane.size())
        after = event_of(lane.number(i));
      else if (thread.top && before && thread.top->number > before->number)
        after = thread.top;
      if (!after) break;
      ProfileEvent earlier = before ? *before : *after;
      bool known = before.has_value();
      if (!before && begin == 0) {
        const auto idle = pauses_.cells.from(after->start);
        if (idle != pauses_.cells.all().begin()) {
          earlier.start = (idle - 1)->from;
          earlier.duration = 0;
          known = true;
        }
      }
      if (known)
        for (const GapPiece& piece : gap_pieces(earlier, &*after, events_.classes(), pauses_)) {
          const ProfileEvent& owner = piece.before_cell_end ? earlier : *after;
          if (!mine(owner)) continue;
          into.gaps[piece.key].add({1, piece.length, piece.length, owner.number});
          into.threads[piece.key.thread].gaps += piece.length;
        }
      before = after;
    }
  }
}

// After the last record of a thread its cell went on, and ended.
void ProfileIndex::add_open_tails(std::int64_t from, std::int64_t to, Sums& into) {
  for (auto& [index, thread] : threads_) {
    if (!thread.top || !thread.top->ended || thread.top->start < from || thread.top->start >= to) continue;
    for (const GapPiece& piece : gap_pieces(*thread.top, nullptr, events_.classes(), pauses_)) {
      into.gaps[piece.key].add({1, piece.length, piece.length, thread.top->number});
      into.threads[piece.key.thread].gaps += piece.length;
    }
  }
}

}  // namespace tapedeck::debug
