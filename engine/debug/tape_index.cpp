#include "engine/debug/tape_index.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t most_records = 10000;

/// True where the ops inside are shown as part of the tape that the record belongs to.
bool opens(const RecordHead& head) {
  return head.kind != EventKind::vjp || head.custom_gradient;
}

}  // namespace

void TapeIndex::add(const RecordView& view) {
  boost::container::small_vector<std::uint64_t, 4> tapes;
  const auto put = [&](std::uint64_t tape) {
    if (tape != 0 && std::find(tapes.begin(), tapes.end(), tape) == tapes.end()) tapes.push_back(tape);
  };
  put(view.head.tape);
  RecordView ancestor;
  for (std::uint32_t parent = view.head.parent; parent != 0; parent = ancestor.head.parent) {
    if (!recorder_.trace().read(parent, ancestor) || !opens(ancestor.head)) break;
    put(ancestor.head.tape);
  }
  for (const std::uint64_t tape : tapes) {
    Entries& entries = tapes_[tape];
    entries.push_back({view.number, op_of(view, tape, entries), view.head.kind == EventKind::vjp});
  }
}

std::uint32_t TapeIndex::op_of(const RecordView& view, std::uint64_t tape, const Entries& earlier) {
  if (view.head.kind == EventKind::playback) return 0;
  if (view.head.kind == EventKind::vjp) return static_cast<std::uint32_t>(view.head.forward);
  if (view.head.tape == tape) return view.number;
  // Inside of a custom gradient: where its parent belongs. A sum in a playback: where the VJP before it does.
  for (auto entry = earlier.rbegin(); entry != earlier.rend(); ++entry)
    if (entry->number <= view.head.parent || entry->op != entry->number) return entry->op;
  return 0;
}

/// The numbers of the newest `limit` records.
std::vector<std::uint32_t> TapeIndex::newest(const Entries& all, std::size_t there, std::uint32_t limit,
                                             protocol::TapeRecords& answer) {
  const std::size_t wanted = std::min<std::size_t>({there, limit, most_records});
  answer.dropped = there - wanted;
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = there - wanted; i < there; ++i) numbers.push_back(all[i].number);
  return numbers;
}

std::vector<std::uint32_t> TapeIndex::around(const Entries& all, std::size_t there, std::uint64_t record,
                                             std::uint32_t limit, protocol::TapeRecords& answer) {
  std::vector<std::uint32_t> ops;
  std::uint32_t middle = 0;
  for (std::size_t i = 0; i < there; ++i) {
    if (all[i].op == all[i].number) ops.push_back(all[i].number);
    if (all[i].number <= record && (all[i].op || all[i].number == record)) middle = all[i].op;
  }
  const auto count = ops.size();
  // Of a playback: the end of the tape, where it begins.
  const auto at =
      middle == 0 ? count
                  : static_cast<std::size_t>(std::lower_bound(ops.begin(), ops.end(), middle) - ops.begin());
  const std::size_t half = std::min<std::size_t>(limit, most_records) / 2;
  const std::size_t first = count <= 2 * half || at < half ? 0 : at - half;
  const std::size_t end = count <= 2 * half ? count : std::min(count, at + half);
  answer.before = first;
  answer.after = count - end;
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < there; ++i)
    if (all[i].op == 0 || (first < end && all[i].op >= ops[first] && all[i].op <= ops[end - 1]))
      numbers.push_back(all[i].number);
  return numbers;
}

void TapeIndex::catch_up(const CancelFlag* cancel) {
  const std::uint32_t newest = recorder_.trace().newest();
  next_ = std::max(next_, recorder_.trace().oldest_kept());
  RecordView view;
  for (; next_ <= newest; ++next_) {
    if (next_ % 4096 == 0) check_cancelled(cancel);
    if (recorder_.trace().read(next_, view)) add(view);
  }
}

protocol::TapeRecords TapeIndex::read(const protocol::GetTape& request, const CancelFlag* cancel) {
  protocol::TapeRecords answer;
  answer.tape = request.tape;
  std::vector<std::uint32_t> numbers;
  {
    const std::lock_guard lock(mutex_);
    catch_up(cancel);
    const auto found = tapes_.find(request.tape);
    if (found == tapes_.end()) return answer;
    const Entries& all = found->second;
    const std::uint64_t last = request.last.value_or(recorder_.trace().newest());
    const auto end =
        std::upper_bound(all.begin(), all.end(), last,
                         [](std::uint64_t number, const Entry& entry) { return number < entry.number; });
    for (auto entry = all.begin(); entry != end; ++entry) {
      answer.ops += entry->op == entry->number;
      answer.vjps += entry->vjp;
    }
    const auto there = static_cast<std::size_t>(end - all.begin());
    numbers = request.around ? around(all, there, *request.around, request.limit, answer)
                             : newest(all, there, request.limit, answer);
  }
  for (const std::uint32_t number : numbers) {
    check_cancelled(cancel);
    if (auto record = describe(recorder_, number, true)) answer.records.push_back(std::move(*record));
  }
  return answer;
}

}  // namespace tapedeck::debug
