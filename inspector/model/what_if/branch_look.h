// A branch of the past beside the original, and which of the two is shown.
#pragma once

#include <QString>
#include <QStringList>

namespace tapedeck::inspector {

enum class Beside {
  original,
  branch,
  difference  ///< branch minus original
};

struct BranchLook {
  quint64 branch = 0;  ///< 0: there is none
  Beside shown = Beside::original;
  QString changes;         ///< what was changed, in words: "W:0[0, 0] = 5"
  quint64 points = 0;      ///< of curves that differ in the branch
  QStringList notes = {};  ///< what stays as recorded in it, and what its curves leave out, each a sentence

  /// Values are not those of the session.
  bool elsewhere() const { return branch != 0 && shown != Beside::original; }
  /// The values that are shown are the same.
  bool sameValues(const BranchLook& other) const {
    return elsewhere() == other.elsewhere() &&
           (!elsewhere() || (branch == other.branch && shown == other.shown));
  }
  bool operator==(const BranchLook&) const = default;
};

}  // namespace tapedeck::inspector
