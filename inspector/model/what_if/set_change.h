// A change of many ops as the user types it, checked and put into words.
#pragma once

#include "inspector/model/what_if/branch_change.h"

namespace tapedeck::inspector {

using protocol::SetAction;

/// What a change of a set is typed into.
enum class SetField { filter, subject, value };

struct SetProblem {
  SetField field = SetField::filter;
  QString sentence;
  int position = -1;  ///< in the field's text; -1: all of it
};

/// "times", "plus", "becomes", "clipped to ±"
QString actionWords(SetAction action);

/// Nothing, and what is wrong, where what is typed makes no sense. Whether the set has ops, and these such an
/// attribute, the session knows.
std::optional<BranchChange> setChangeOf(const protocol::SetChange& draft, SetProblem* problem);

/// What an op's inputs and attributes may be called, those of optimisers first. `op`: number 0: none.
QStringList setSubjects(const protocol::Record& op);

}  // namespace tapedeck::inspector
