// The layout of the VJP's panel: computed from the model, drawn and clicked by VjpSheet.
#pragma once

#include <QFont>
#include <QRectF>
#include <optional>
#include <vector>

#include "inspector/model/session/cell_names.h"
#include "inspector/model/tape/vjp_model.h"
#include "inspector/model/tensor/number_format.h"
#include "inspector/panels/vjp/sheet_formula.h"

namespace tapedeck::inspector {

/// A tensor's values: numbers in cells, or a picture.
struct SheetGrid {
  QRectF rect;
  TensorId tensor = 0;
  std::int64_t rows = 0, columns = 0;  ///< of the tensor as a matrix
  bool numbers = false;
  NumberFormat format;

  QRectF cell(qint64 element) const;
  qint64 elementAt(QPointF point) const;  ///< -1: none
};

/// An item that can be chosen: a tensor, a record that ran inside, or the button that reveals the results.
struct SheetRow {
  QRectF rect;
  protocol::TensorInfo info;
  int contribution = -1;  ///< whose elements can be explained; -1: none
  RecordNumber record = 0;
  bool reveals = false;  ///< choosing it reveals the results
  std::optional<SheetGrid> grid;
  QString spoken;  ///< for screen readers, and tests
};

enum class SheetTone { plain, faint, heading, error, code, link };

struct SheetText {
  QRectF rect;
  QString text;
  SheetTone tone = SheetTone::plain;
};

/// A term's share of all that is shown.
struct SheetBar {
  QRectF rect;
  double share = 0;
  bool negative = false;
};

struct VjpLayout {
  double height = 0;
  std::vector<SheetText> texts;
  std::vector<SheetFormula> formulas;
  std::vector<SheetBar> bars;
  std::vector<SheetRow> rows;
  QRectF results;  ///< "Will come out" and what stands below it; without height while that is hidden
  std::vector<FormulaSource> unset;  ///< formulas that are shown as text until they are rendered
};

/// `set`: formulas that are, besides those that FormulaSetter knows.
VjpLayout layOutVjp(const VjpModel& model, const CellNames* cells, const QFont& font, double width,
                    const SetFormulas& set);

}  // namespace tapedeck::inspector
