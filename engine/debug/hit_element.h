// Parts of a search in the past beyond a record's own facts: assignments, and single elements.
#pragma once

#include <optional>
#include <vector>

#include "engine/debug/vjp/vjp_call.h"
#include "engine/protocol/conditions/condition.h"
#include "engine/protocol/messages.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// What terms say of a variable that was assigned to, without its values; called with a term's condition.
class AssignmentLook {
 public:
  AssignmentLook(const Recorder& recorder, const Assignment& assignment,
                 const std::vector<protocol::CellLabel>& labels);
  protocol::Verdict operator()(const protocol::Condition& leaf) const;

 private:
  protocol::Verdict look(const protocol::TextTerm& term) const;
  protocol::Verdict look(protocol::Flag flag) const;
  protocol::Verdict look(const protocol::ShapeTerm& term) const;
  protocol::Verdict look(const protocol::NumberTerm& term) const;
  protocol::Verdict look(const protocol::ValueTerm& term) const;
  protocol::Verdict look(const protocol::SeriesTerm&) const { return protocol::Verdict::unknown; }
  protocol::Verdict look(const protocol::NameTerm&) const { return protocol::Verdict::unknown; }

  const Recorder& recorder_;
  const Assignment& assignment_;
  const std::vector<protocol::CellLabel>& labels_;
  std::string name_;
};

class HitElement {
 public:
  /// Throws BadRequest for an unknown comparison.
  HitElement(const Recorder& recorder, const FindTensor& find,
             const std::optional<protocol::ElementTest>& test);
  /// No where the tensor has no such element; unknown where its value is lost.
  protocol::Verdict verdict(std::uint64_t tensor);
  const std::optional<double>& value() const { return value_; }

 private:
  const Recorder& recorder_;
  const FindTensor& find_;
  const std::optional<protocol::ElementTest>& test_;
  protocol::Comparison comparison_ = protocol::Comparison::equal;
  std::optional<double> value_;
};

}  // namespace tapedeck::debug
