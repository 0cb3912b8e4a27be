#include "engine/debug/find_records.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <variant>

#include "engine/debug/describe.h"
#include "engine/debug/term_look.h"
#include "engine/debug/value_look.h"
#include "engine/protocol/record_filter.h"

namespace tapedeck::debug {
namespace {

using protocol::Condition;
using protocol::Verdict;

constexpr std::chrono::milliseconds most_time(50);
constexpr std::uint32_t records_at_once = 2048;
constexpr std::uint32_t records_at_once_with_values = 256;
constexpr std::size_t most_runs = 16384;
constexpr std::size_t most_open = 1000;

class Search {
 public:
  Search(const Recorder& recorder, const protocol::FindRecords& request, const FindTensor& find)
      : recorder_(recorder), request_(request), filter_(protocol::parse_filter(request.filter)) {
    for_each_term(filter_, [&](const Condition& leaf) {
      terms_.emplace_back(leaf.term, recorder, request.labels, request.bookmarked);
      const auto* number = std::get_if<protocol::NumberTerm>(&leaf.term);
      asks_for_times_ |= number && number->number == protocol::Number::duration;
    });
    if (asks_for_times_) recorder.collect_device_times();
    if (find && protocol::asks_for_values(filter_)) values_.emplace(recorder, find);
  }

  protocol::FoundRecords run(const CancelFlag* cancel) {
    give_up_ = std::chrono::steady_clock::now() + most_time;
    const Trace& trace = recorder_.trace();
    const std::uint32_t at_once = values_ ? records_at_once_with_values : records_at_once;
    answer_.total = trace.newest();
    look_again(cancel);
    std::uint64_t next = std::clamp<std::uint64_t>(request_.first, 1, answer_.total + 1);
    while (next <= answer_.total && !full() && !late()) {
      check_cancelled(cancel);
      if (const std::uint64_t kept = trace.oldest_kept(); next < kept) {
        forgotten(next, kept - 1);
        next = kept;
        continue;
      }
      const std::uint64_t last = std::min<std::uint64_t>(next + at_once - 1, answer_.total);
      const std::uint32_t after =
          trace.glance(static_cast<std::uint32_t>(next), static_cast<std::uint32_t>(last),
                       [this](const RecordGlance& record) { take(record); });
      if (after <= next) break;  // its thread writes it just now
      const std::uint64_t decided = decide_seen(after, cancel);
      next = decided;
      if (decided < after) break;
    }
    answer_.scanned = next - 1;
    return std::move(answer_);
  }

 private:
  /// What was glanced at: values are looked for later, for replay reads records itself.
  struct Seen {
    std::uint32_t number = 0;
    bool open = false;
    bool matches = false;
    std::optional<Undecided> values;
  };

  bool full() const { return answer_.runs.size() >= 2 * most_runs || answer_.open.size() >= most_open; }
  bool late() const { return std::chrono::steady_clock::now() >= give_up_; }
  bool direction(bool backward) const { return request_.backward.value_or(backward) == backward; }

  Verdict verdict(const RecordGlance& record) {
    if (!direction(record.head.backward)) return Verdict::no;
    return evaluate(filter_, [&](const Condition& leaf) { return terms_[leaf.number].verdict(record); });
  }

  bool is_open(const RecordGlance& record) const {
    return record.state == RecordState::pending || record.state == RecordState::running ||
           (asks_for_times_ && record.device.state == WorkTime::pending);
  }

  Seen look(const RecordGlance& record) {
    const Verdict known = verdict(record);
    Seen seen{record.number, is_open(record), known == Verdict::yes, {}};
    // What failed or still runs made nothing, and breakpoints take no value of it either.
    if (values_ && known == Verdict::unknown && record.state == RecordState::done)
      seen.values = undecided(record);
    return seen;
  }

  Undecided undecided(const RecordGlance& record) {
    Undecided all;
    all.number = record.number;
    all.inputs.assign(record.inputs.begin(), record.inputs.end());
    all.outputs.assign(record.outputs.begin(), record.outputs.end());
    all.gives_gradients = gives_gradients(record.head.kind);
    for (TermLook& term : terms_) all.terms.push_back(term.verdict(record));
    return all;
  }

  void take(const RecordGlance& record) {
    Seen seen = look(record);
    if (values_) {
      seen_.push_back(std::move(seen));
      return;
    }
    if (seen.open) answer_.open.push_back(record.number);
    if (seen.matches) add(record.number);
  }

  bool decided(const Seen& seen) {
    if (!seen.values) return seen.matches;
    const Verdict found = decide(filter_, *seen.values, *values_);
    answer_.lost += found == Verdict::unknown && values_->lost();
    return found == Verdict::yes;
  }

  /// Returns the first number that it did not come to; `after` where it came to all.
  std::uint64_t decide_seen(std::uint64_t after, const CancelFlag* cancel) {
    bool first = true;  // each answer gets on by one record at least
    for (const Seen& seen : seen_) {
      if (seen.values) {
        check_cancelled(cancel);
        if (!std::exchange(first, false) && late()) {
          after = seen.number;
          break;
        }
      }
      if (seen.open) answer_.open.push_back(seen.number);
      if (decided(seen)) add(seen.number);
    }
    seen_.clear();
    return after;
  }

  void add(std::uint64_t number) {
    if (!answer_.runs.empty() && answer_.runs.back() + 1 == number) {
      answer_.runs.back() = number;
    } else {
      answer_.runs.insert(answer_.runs.end(), {number, number});
    }
  }

  void look_again(const CancelFlag* cancel) {
    const std::uint64_t newest = answer_.total;
    for (std::size_t i = 0; i < std::min(request_.again.size(), most_open); ++i) {
      const std::uint64_t number = request_.again[i];
      if (number == 0 || number > newest) continue;
      const auto record = static_cast<std::uint32_t>(number);
      std::optional<Seen> seen;
      recorder_.trace().glance(record, record, [&](const RecordGlance& glance) {
        if (glance.number == record) seen = look(glance);
      });
      if (!seen) continue;
      check_cancelled(cancel);
      const bool later = seen->values && late();  // the next answer has time for it
      if (seen->open || later) answer_.open.push_back(number);
      if (!later && decided(*seen)) answer_.again.push_back(number);
    }
  }

  /// All of them look the same, and none has a bookmark any longer.
  void forgotten(std::uint64_t first, std::uint64_t last) {
    const auto record = describe(recorder_, static_cast<std::uint32_t>(first), false);
    if (record && direction(record->backward) && protocol::matches(filter_, *record, request_.labels))
      answer_.runs.insert(answer_.runs.end(), {first, last});
  }

  const Recorder& recorder_;
  const protocol::FindRecords& request_;
  const Condition filter_;
  std::vector<TermLook> terms_;
  std::optional<ValueLook> values_;  ///< where the filter asks for some, and they can be had
  std::vector<Seen> seen_;
  std::chrono::steady_clock::time_point give_up_;
  bool asks_for_times_ = false;
  protocol::FoundRecords answer_;
};

}  // namespace

protocol::FoundRecords find_records(const Recorder& recorder, const protocol::FindRecords& request,
                                    const CancelFlag* cancel, const FindTensor& find) {
  return Search(recorder, request, find).run(cancel);
}

}  // namespace tapedeck::debug
