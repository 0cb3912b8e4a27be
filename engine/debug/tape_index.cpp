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
  for (const std::uint64_t tape : tapes) tapes_[tape].push_back(view.number);
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
    const auto& all = found->second;
    const std::uint64_t last = request.last == 0 ? recorder_.trace().newest() : request.last;
    const auto end =
        std::upper_bound(all.begin(), all.end(), last,
                         [](std::uint64_t number, std::uint32_t record) { return number < record; });
    const auto there = static_cast<std::uint64_t>(end - all.begin());
    const std::uint64_t wanted = std::min<std::uint64_t>({there, request.limit, most_records});
    answer.dropped = there - wanted;
    numbers.assign(end - static_cast<std::ptrdiff_t>(wanted), end);
  }
  for (const std::uint32_t number : numbers) {
    check_cancelled(cancel);
    if (auto record = describe(recorder_, number, true)) answer.records.push_back(std::move(*record));
  }
  return answer;
}

}  // namespace tapedeck::debug
