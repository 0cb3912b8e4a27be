// Cells on the clipboard: for this program's windows with all that belongs to them, for others as text.
#pragma once

#include <QMimeData>
#include <vector>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// Made when somebody asks: copying costs nothing, however large the outputs are. Another process gets
/// outputs up to a bound, cell by cell.
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

/// A notebook file that has the cells alone.
constexpr char cells_mime_type[] = "application/x-tapedeck-cells";

/// What can be pasted: the cells, or what else is there as text in a code cell. None: `problem` says why.
/// Anything may be on the clipboard: it is read as a notebook file is.
std::vector<SharedCell> cellsFrom(const QMimeData* data, QString* problem);

}  // namespace tapedeck::app
