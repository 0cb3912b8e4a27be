#include "engine/protocol/change_set.h"

#include <algorithm>

namespace tapedeck::protocol {
namespace {

constexpr std::string_view step_name = "step";

void refuse_unrecorded(const Condition& leaf) {
  const auto refuse_name = [&](const std::string& name) {
    throw ConditionError(leaf.position, "“" + name +
                                            "” is read as a Python name, and the values of Python names are "
                                            "not recorded. Only “step” is known here.");
  };
  if (const auto* named = std::get_if<NameTerm>(&leaf.term)) {
    if (named->name != step_name) refuse_name(named->name);
    if (const auto* right = std::get_if<PythonName>(&named->right)) refuse_name(right->name);
    if (!std::holds_alternative<double>(named->right))
      throw ConditionError(leaf.position, "“step” is compared with a number.");
  } else if (const auto* value = std::get_if<ValueTerm>(&leaf.term)) {
    if (const auto* right = std::get_if<PythonName>(&value->right)) refuse_name(right->name);
  } else if (std::holds_alternative<SeriesTerm>(leaf.term)) {
    throw ConditionError(leaf.position, "Curves can be used in breakpoints only: they select no ops.");
  }
}

}  // namespace

Condition parse_set(std::string_view text) {
  Condition condition = parse_condition(text);
  if (condition.always()) throw ConditionError(0, "Type which ops: op:gradient_descent and step >= 60.");
  for_each_term(condition, [](const Condition& leaf) { refuse_unrecorded(leaf); });
  if (const auto error = bookmarks_error(condition)) throw *error;
  return condition;
}

bool is_step_term(const Condition& leaf) {
  const auto* named = std::get_if<NameTerm>(&leaf.term);
  return named && named->name == step_name;
}

bool asks_for_step(const Condition& condition) {
  bool asks = false;
  for_each_term(condition, [&](const Condition& leaf) { asks = asks || is_step_term(leaf); });
  return asks;
}

Verdict step_verdict(const Condition& leaf, double step) {
  return verdict_of(
      holds(std::get<NameTerm>(leaf.term), [step](const std::string&) -> NameValue { return step; }));
}

std::string place_text(std::string_view text, std::size_t position) {
  const auto letters =
      std::count_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size())),
                    [](char c) { return (c & 0xC0) != 0x80; });
  return "at character " + std::to_string(letters + 1);
}

}  // namespace tapedeck::protocol
