// Formulas in a text document: each is one inline object that is painted, and its TeX source when copied.
#pragma once

#include <QObject>
#include <QTextCursor>
#include <QTextObjectInterface>
#include <vector>

#include "app/notebook/output/html/maths.h"
#include "app/notebook/output/notebook_theme.h"
#include "inspector/ui/math/formula_setter.h"

namespace tapedeck::app {

/// `sources`: of each formula, what is set for it. Returns those that have no boxes yet. Those that can't be
/// rendered appear as their source, underlined, with the error as tooltip.
std::vector<inspector::FormulaSource> placeFormulas(QTextDocument& document,
                                                    const std::vector<Formula>& formulas,
                                                    const std::vector<inspector::FormulaSource>& sources,
                                                    const inspector::SetFormulas& set,
                                                    const NotebookTheme& theme);

/// The selection as text, with each formula in it as it was written. `forReaders`: followed by why, for a
/// formula that can't be rendered; and a picture is its description.
QString plainTextOf(const QTextCursor& selection, bool forReaders = false);

/// Paints the formulas of the document that owns it, and reports their size to the layout.
class FormulaObject : public QObject, public QTextObjectInterface {
  Q_OBJECT
  Q_INTERFACES(QTextObjectInterface)
 public:
  explicit FormulaObject(QTextDocument* document);

  QSizeF intrinsicSize(QTextDocument* document, int position, const QTextFormat& format) override;
  void drawObject(QPainter* painter, const QRectF& rect, QTextDocument* document, int position,
                  const QTextFormat& format) override;
};

}  // namespace tapedeck::app
