#include "engine/debug/compare/comparison.h"

#include <algorithm>

#include "engine/debug/why/elements.h"

namespace tapedeck::debug {
namespace {

using protocol::RowKind;

constexpr std::uint32_t no_row = UINT32_MAX;

/// Reports at most ten times a second.
class CompareTeller {
 public:
  CompareTeller(const Jobs::Report& report, std::uint64_t total) : report_(report), total_(total) {}
  void tell(std::uint64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (!report_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    report_(protocol::Progress{done, total_});
  }

 private:
  const Jobs::Report& report_;
  const std::uint64_t total_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

std::uint64_t length_of(const Side& side) {
  return side.last >= side.first ? side.last - side.first + 1 : 0;
}

RowKind row_kind(const OpKey& left, const OpKey& right) {
  // What a record does not have is not different.
  if (left.shapes == OpKey::unknown || right.shapes == OpKey::unknown) return RowKind::same;
  return left.shapes != right.shapes           ? RowKind::other_shapes
         : left.attributes != right.attributes ? RowKind::other_attributes
                                               : RowKind::same;
}

/// What ops on one side alone may come from where one side ran graph functions and the other did not.
std::string graph_note(bool on_the_right) {
  const char *graph = on_the_right ? "right" : "left", *eager = on_the_right ? "left" : "right";
  return std::string(" The ") + graph +
         " ran graph functions: ops that their graphs folded, merged or removed are on the " + eager +
         " only, and what decides their branches and loops may be on the " + graph + " only.";
}

}  // namespace

Comparison::Comparison(Side left, Side right, const CancelFlag* cancel, const Jobs::Report& report)
    : left_(std::move(left)), right_(std::move(right)) {
  // Each record is read once and aligned once.
  const std::uint64_t lefts = length_of(left_), rights = length_of(right_);
  CompareTeller teller(report, 2 * (lefts + rights));
  const Sequence first = sequence_of(left_, cancel, [&](std::uint64_t done) { teller.tell(done); });
  if (left_.same_records(right_)) {  // a branch and its original
    pair_with_itself(first);
    left_calls_ = right_calls_ = first.calls;
  } else {
    const Sequence second =
        sequence_of(right_, cancel, [&](std::uint64_t done) { teller.tell(lefts + done); });
    pair(first, second, align(first.keys, second.keys, cancel, [&](std::uint64_t done) {
           teller.tell(lefts + rights + done);
         }));
    left_calls_ = first.calls;
    right_calls_ = second.calls;
  }
  index();
}

void Comparison::pair(const Sequence& left, const Sequence& right, const std::vector<Alignment>& alignment) {
  rows_.reserve(alignment.size());
  for (const Alignment& one : alignment) {
    if (one.right == no_op)
      rows_.push_back({left.records[one.left], 0, RowKind::only_left, false});
    else if (one.left == no_op)
      rows_.push_back({0, right.records[one.right], RowKind::only_right, false});
    else
      rows_.push_back({left.records[one.left], right.records[one.right],
                       row_kind(left.keys[one.left], right.keys[one.right]),
                       left.computes[one.left] && right.computes[one.right]});
  }
}

void Comparison::pair_with_itself(const Sequence& both) {
  rows_.reserve(both.records.size());
  for (std::size_t i = 0; i < both.records.size(); ++i)
    rows_.push_back({both.records[i], both.records[i], RowKind::same, both.computes[i]});
}

void Comparison::index() {
  left_rows_.assign(length_of(left_), no_row);
  right_rows_.assign(length_of(right_), no_row);
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    ++counts_[static_cast<std::size_t>(row.kind)];
    if (row.left) left_rows_[row.left - left_.first] = i;
    if (row.right) right_rows_[row.right - right_.first] = i;
  }
}

std::int64_t Comparison::row_of(const Side& side, const Rows& rows, std::uint64_t record) {
  if (record < side.first || record - side.first >= rows.size()) return -1;
  const std::uint32_t row = rows[record - side.first];
  return row == no_row ? -1 : std::int64_t{row};
}

std::int64_t Comparison::next_difference(std::int64_t from, bool backward) const {
  const auto count = static_cast<std::int64_t>(rows_.size());
  const auto differs = [&](std::int64_t row) {
    return rows_[static_cast<std::size_t>(row)].kind != RowKind::same;
  };
  if (backward) {
    std::int64_t at = (from < 0 || from > count ? count : from) - 1;
    while (at >= 0 && !differs(at)) --at;
    while (at > 0 && differs(at - 1)) --at;
    return at;
  }
  std::int64_t at = std::max<std::int64_t>(from, -1);
  while (at >= 0 && at < count && differs(at)) ++at;  // out of the run that it is in
  for (at = std::max<std::int64_t>(at, 0); at < count; ++at)
    if (differs(at)) return at;
  return -1;
}

std::vector<protocol::ComparisonPart> Comparison::parts(std::size_t most) const {
  std::vector<protocol::ComparisonPart> parts(std::min(most, rows_.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    protocol::ComparisonPart& part = parts[i];
    const std::size_t end = (i + 1) * rows_.size() / parts.size();
    for (std::size_t row = i * rows_.size() / parts.size(); row < end; ++row) switch (rows_[row].kind) {
        case RowKind::same:
          ++part.same;
          break;
        case RowKind::only_left:
          ++part.left;
          break;
        case RowKind::only_right:
          ++part.right;
          break;
        default:
          ++part.changed;
      }
  }
  return parts;
}

std::string Comparison::sentence() const {
  if (rows_.empty()) return "No op was recorded on either side.";
  std::string text;
  const auto add = [&](RowKind kind, const char* what) {
    if (count(kind) == 0) return;
    text += (text.empty() ? "" : ", ") + counted(count(kind), "op") + " " + what;
  };
  const bool all = count(RowKind::same) == rows_.size();
  if (all) {
    text = rows_.size() == 1 ? "The one op is the same on both sides"
                             : "All " + counted(rows_.size(), "op") + " are the same on both sides";
  } else {
    add(RowKind::same, "alike");
    add(RowKind::other_attributes, "with other attributes");
    add(RowKind::other_shapes, "with other shapes or dtypes");
    add(RowKind::only_left, "on the left only");
    add(RowKind::only_right, "on the right only");
  }
  text += ".";
  if (!all && (left_calls_ == 0) != (right_calls_ == 0)) text += graph_note(right_calls_ != 0);
  for (const Side* side : {&left_, &right_})
    if (side->forgotten)
      text += " " + counted(side->forgotten, "record") + " at the start of the " +
              (side == &left_ ? "left" : "right") + " side " + (side->forgotten == 1 ? "was" : "were") +
              " dropped: the recording keeps a limited number of records.";
  return text;
}

void Comparison::set_tolerance(const Tolerance& tolerance) const {
  const std::lock_guard lock(known_mutex_);
  if (tolerance == tolerance_) return;
  tolerance_ = tolerance;
  known_.clear();
}

bool Comparison::exact() const {
  const std::lock_guard lock(known_mutex_);
  return tolerance_ == Tolerance();
}

void Comparison::note(std::size_t row, protocol::Agreement results) const {
  const std::lock_guard lock(known_mutex_);
  known_[row] = results;
}

protocol::Agreement Comparison::results(std::size_t row) const {
  const std::lock_guard lock(known_mutex_);
  const auto found = known_.find(row);
  return found == known_.end() ? protocol::Agreement::unknown : found->second;
}

}  // namespace tapedeck::debug
