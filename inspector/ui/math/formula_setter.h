// Sets formulas in a thread of their own, a few milliseconds each, and remembers what it has set.
#pragma once

#include <QHash>
#include <QObject>
#include <functional>
#include <vector>

#include "inspector/ui/math/formula_picture.h"

namespace tapedeck::inspector {

using SetFormulas = QHash<FormulaSource, SharedFormula>;

/// One thread owns KaTeX. It takes the formulas of several texts in turn, so that a text with slow ones holds
/// up no other; what a text's formulas may take together is bounded, and the rest of them then have an error.
class FormulaSetter {
 public:
  using Answer = std::function<void(SetFormulas)>;

  /// `answer` gets all of them, each with its boxes or an error, in the application's thread, unless
  /// `context` is gone or the job was cancelled. Called in that thread, too.
  static quint64 set(std::vector<FormulaSource> formulas, QObject* context, Answer answer);
  static void cancel(quint64 job);

  /// One that was set lately; null: it was not, or KaTeX is missing. In any thread.
  static SharedFormula known(const FormulaSource& formula);
};

}  // namespace tapedeck::inspector
