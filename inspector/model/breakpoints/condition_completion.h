// Completions at a place of a condition, for the fields in which conditions are typed.
#pragma once

#include <QString>
#include <QStringList>

namespace tapedeck::inspector {

struct ConditionCompletion {
  int begin = 0;      ///< of the word that is being typed, in the text
  QStringList words;  ///< that go on as it begins; empty: nothing to offer
};

/// `cursor`: in UTF-16 units. `ops`: names of ops that are known. A word that is complete is not offered.
/// `filter`: it is that of Ops, which knows bookmarks.
ConditionCompletion completeCondition(const QString& text, int cursor, const QStringList& ops,
                                      bool filter = false);

}  // namespace tapedeck::inspector
