// Cells on the clipboard: complete for this program's windows, as text for others.
#pragma once

#include <QMimeData>
#include <vector>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// Built on request: copying costs nothing, however large the outputs are. Another process gets outputs up
/// to a bound, cell by cell.
class CopiedCells : public QMimeData {
  Q_OBJECT
 public:
  explicit CopiedCells(std::vector<SharedCell> cells);
  const std::vector<SharedCell>& cells() const { return cells_; }

  QStringList formats() const override;
  bool hasFormat(const QString& type) const override;

 protected:
  QVariant retrieveData(const QString& type, QMetaType wanted) const override;

 private:
  std::vector<SharedCell> cells_;
};

/// A notebook file of these cells.
constexpr char cells_mime_type[] = "application/x-tapedeck-cells";

/// The cells to paste, or other text as a code cell. Empty: `problem` says why. The clipboard may hold
/// anything, so it is read with a notebook file's checks.
std::vector<SharedCell> cellsFrom(const QMimeData* data, QString* problem);

}  // namespace tapedeck::app
