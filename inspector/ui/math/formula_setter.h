// Renders formulas on a thread of their own, a few milliseconds each, and caches the results.
#pragma once

#include <QHash>
#include <QObject>
#include <functional>
#include <vector>

#include "inspector/ui/math/formula_picture.h"

namespace tapedeck::inspector {

using SetFormulas = QHash<FormulaSource, SharedFormula>;

/// One thread owns KaTeX. It takes the formulas of several texts in turn, so that a text with slow ones
/// delays no other; what a text's formulas may take together is bounded, and the rest of them then have an
/// error.
class FormulaSetter {
 public:
  using Answer = std::function<void(SetFormulas)>;

  /// `answer` gets all of them, each with its boxes or an error, in the application's thread, unless
  /// `context` is gone or the job was cancelled. Called in that thread, too.
  static quint64 set(std::vector<FormulaSource> formulas, QObject* context, Answer answer);
  static void cancel(quint64 job);

  /// A cached one; null: it is not cached, or KaTeX is missing. In any thread.
  static SharedFormula known(const FormulaSource& formula);
};

}  // namespace tapedeck::inspector
