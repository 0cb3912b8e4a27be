// Which formulas define macros, and which of these definitions a later formula needs.
#pragma once

#include <QHash>
#include <QStringList>
#include <vector>

#include "app/notebook/output/html/maths.h"
#include "inspector/ui/math/formula_picture.h"

namespace tapedeck::app {

/// A formula that defines macros holds in all that follow it, as in MathJax. A formula depends only on those
/// whose macros it uses, also through other macros: changes of others don't affect it.
class FormulaMacros {
 public:
  explicit FormulaMacros(const QStringList& before = {});

  /// The next formula of the text, with \newcommand, \def and the like in it or without.
  void add(const QString& tex);
  /// Of the formulas so far, in their order.
  QStringList neededBy(const QString& tex) const;

 private:
  struct Definition {
    QString tex;
    QStringList commands;  ///< all commands that it contains
  };
  std::vector<Definition> definitions_;
  QHash<QString, std::vector<std::size_t>> definedBy_;  ///< by the macro's name
};

/// Of a text's formulas, those that define macros.
QStringList definingFormulas(const QString& markdown);

/// The formulas to render; `before`: formulas of earlier texts that define macros.
std::vector<inspector::FormulaSource> formulaSources(const std::vector<Formula>& formulas,
                                                     const QStringList& before);

}  // namespace tapedeck::app
