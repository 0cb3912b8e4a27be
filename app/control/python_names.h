// Which names of the session a cell of Python code reads and assigns, from its text alone.
#pragma once

#include <QSet>
#include <QString>

namespace tapedeck::app {

struct PythonNames {
  /// Read before the cell assigns them. Of a function that the cell defines: what its body reads, where the
  /// cell uses the function.
  QSet<QString> reads;
  /// Assigned, deleted, or changed by `name[…] =` and `name.member =`. What is imported is not among them: a
  /// second import gives the same module.
  QSet<QString> assigns;
};

/// An approximation that errs on the side of fewer names: what a method changes in place, `exec` and
/// `import *` are not seen. Lines of IPython's own (%, !, ?) have none. A text longer than
/// `longest_analysed` has none, and neither has one of thousands of tokens in one line.
PythonNames pythonNames(const QString& source);

constexpr qsizetype longest_analysed = 64'000;

}  // namespace tapedeck::app
