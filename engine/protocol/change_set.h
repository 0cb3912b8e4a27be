// Which ops a change of many is about: the language of conditions (conditions/condition.h), strictly, with
// one name more.
#pragma once

#include <string_view>

#include "engine/protocol/conditions/condition.h"

namespace tapedeck::protocol {

/// The condition that the text says, where `step` is the number of the training step that a record belongs
/// to, from 1: "op:gradient_descent and step >= 60". Throws ConditionError: the text is empty or no
/// condition, or asks for another Python name or a curve, which are not recorded.
Condition parse_set(std::string_view text);

/// A term about the training step.
bool is_step_term(const Condition& leaf);
bool asks_for_step(const Condition& condition);
/// Of a step term.
Verdict step_verdict(const Condition& leaf, double step);

/// "at character 12", counted from 1 as an editor does.
std::string place_text(std::string_view text, std::size_t position);

}  // namespace tapedeck::protocol
