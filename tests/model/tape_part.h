// The part of a tape that a session answers with, for the sources of the tests.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::test {

/// `all`: the records of the tape up to the last one that was asked for, in order.
inline protocol::TapeRecords tapePart(const std::vector<protocol::Record>& all,
                                      const protocol::GetTape& get) {
  using protocol::Record;
  using protocol::RecordKind;
  protocol::TapeRecords answer;
  answer.tape = get.tape;
  std::vector<std::uint64_t> ops;
  std::map<std::uint64_t, std::uint64_t> op_of;  // 0: of none
  std::uint64_t middle = 0, newest = 0;
  for (const Record& record : all) {
    std::uint64_t op = newest;
    if (record.kind == RecordKind::playback)
      op = 0;
    else if (record.kind == RecordKind::vjp)
      op = record.forward;
    else if (record.tape == get.tape)
      ops.push_back(op = record.number);
    else if (const auto parent = op_of.find(record.parent); parent != op_of.end() && parent->second)
      op = parent->second;
    op_of[record.number] = newest = op;
    answer.vjps += record.kind == RecordKind::vjp;
    if (get.around && record.number <= *get.around && (op || record.number == *get.around)) middle = op;
  }
  answer.ops = ops.size();
  std::size_t first = 0, end = ops.size();
  if (get.around && ops.size() > get.limit) {
    const std::size_t half = get.limit / 2;
    const auto at =
        middle ? static_cast<std::size_t>(std::lower_bound(ops.begin(), ops.end(), middle) - ops.begin())
               : ops.size();
    first = at < half ? 0 : at - half;
    end = std::min(ops.size(), at + half);
  }
  answer.before = first;
  answer.after = ops.size() - end;
  for (const Record& record : all) {
    const std::uint64_t op = op_of[record.number];
    if (op == 0 || (first < end && op >= ops[first] && op <= ops[end - 1])) answer.records.push_back(record);
  }
  return answer;
}

}  // namespace tapedeck::test
