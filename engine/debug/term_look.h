// Evaluates one term of a condition on a record of the trace: some nanoseconds each, without tensor
// values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/protocol/conditions/condition.h"
#include "engine/protocol/messages.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// What a term says of texts that many records share, by the number that they go by; each is looked at once.
class Verdicts {
 public:
  template <class Look>
  bool of(std::uint32_t number, Look&& look) {
    if (number >= known_.size()) known_.resize(number + 64, unknown);
    std::uint8_t& verdict = known_[number];
    if (verdict == unknown) verdict = look();
    return verdict != 0;
  }

 private:
  static constexpr std::uint8_t unknown = 2;
  std::vector<std::uint8_t> known_;
};

class TermLook {
 public:
  /// `bookmarked`: numbers of records, ascending; a filter's.
  TermLook(protocol::Term term, const Recorder& recorder, const std::vector<protocol::CellLabel>& labels,
           std::span<const std::uint64_t> bookmarked = {})
      : term_(std::move(term)), recorder_(recorder), labels_(labels), bookmarked_(bookmarked) {}

  protocol::Verdict verdict(const RecordGlance& record) {
    return std::visit([&](const auto& term) { return look(term, record); }, term_);
  }

 private:
  /// What a term says of a cell's name, which is that of the execution that made a record.
  struct CellVerdicts {
    std::vector<std::pair<std::uint32_t, bool>> runs;  ///< each from its first record on
    bool before = false;                               ///< of records before them
    bool of(std::uint32_t record) const {
      if (runs.empty() || record < runs.front().first) return before;
      if (record >= runs.back().first) return runs.back().second;
      const auto after = std::ranges::upper_bound(runs, record, {}, &std::pair<std::uint32_t, bool>::first);
      return std::prev(after)->second;
    }
  };

  protocol::Verdict look(const protocol::TextTerm& term, const RecordGlance& record);
  protocol::Verdict look(protocol::Flag flag, const RecordGlance& record);
  protocol::Verdict look(const protocol::ShapeTerm& term, const RecordGlance& record);
  protocol::Verdict look(const protocol::NumberTerm& term, const RecordGlance& record);
  protocol::Verdict look(const protocol::ValueTerm& term, const RecordGlance& record);
  protocol::Verdict look(const protocol::SeriesTerm&, const RecordGlance&);
  protocol::Verdict look(const protocol::NameTerm&, const RecordGlance&);
  bool op(const protocol::TextTerm& term, const RecordHead& head);
  bool kind(const protocol::TextTerm& term, const RecordHead& head);
  bool scope(const protocol::TextTerm& term, std::uint32_t number);
  bool call(const protocol::TextTerm& term, const RecordHead& head);
  bool location(const protocol::TextTerm& term, const RecordGlance& record);
  const CellVerdicts& cell(const protocol::TextTerm& term, std::uint32_t location);
  bool dtypes(const protocol::TextTerm& term, std::span<const std::uint64_t> tensors);
  bool named(const protocol::TextTerm& term, protocol::FilterPart role,
             std::span<const std::uint64_t> tensors);
  double number(protocol::Number number, const RecordGlance& record);
  /// 0: nothing is known of the tensor.
  std::uint32_t spec_number(std::uint64_t id) const;

  const protocol::Term term_;
  const Recorder& recorder_;
  const std::vector<protocol::CellLabel>& labels_;
  const std::span<const std::uint64_t> bookmarked_;
  const OpDef* last_op_ = nullptr;
  bool last_op_verdict_ = false;
  std::unordered_map<const OpDef*, bool> ops_;
  std::unordered_map<std::string, CellVerdicts> cells_;  ///< by id; they stay where they are
  std::vector<const CellVerdicts*> cells_of_locations_;
  Verdicts names_, kinds_, scopes_, locations_, calls_, names_of_tensors_, specs_;
};

}  // namespace tapedeck::debug
