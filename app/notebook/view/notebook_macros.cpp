#include "app/notebook/view/notebook_macros.h"

#include <map>

#include "app/notebook/document/document.h"
#include "app/notebook/output/html/formula_macros.h"

namespace tapedeck::app {
namespace {

/// While a definition is typed, formulas below that use it are not rendered again with each key.
constexpr int macros_settle = 250;  // milliseconds

}  // namespace

NotebookMacros::NotebookMacros(Document* document, QObject* parent) : QObject(parent), document_(document) {
  timer_.setSingleShot(true);
  timer_.setInterval(macros_settle);
  connect(&timer_, &QTimer::timeout, this, &NotebookMacros::changed);
  connect(document, &Document::reset, this, &NotebookMacros::readAll);
  connect(document, &Document::cellInserted, this, &NotebookMacros::read);
  connect(document, &Document::cellChanged, this, &NotebookMacros::read);
  connect(document, &Document::cellRemoved, this, &NotebookMacros::dropGone);
  connect(document, &Document::cellMoved, this, [this] {
    if (!defined_.isEmpty()) timer_.start();
  });
  readAll();
}

QStringList NotebookMacros::before(const QString& cellId) const {
  if (defined_.isEmpty()) return {};
  const int end = document_->indexOf(cellId);
  std::map<int, QStringList> above;
  for (auto cell = defined_.constBegin(); cell != defined_.constEnd(); ++cell) {
    const int index = document_->indexOf(cell.key());
    if (index >= 0 && index < end) above[index] = *cell;
  }
  QStringList formulas;
  for (const auto& [index, defining] : above) formulas += defining;
  return formulas;
}

void NotebookMacros::readAll() {
  defined_.clear();
  for (int i = 0; i < document_->cellCount(); ++i) read(i);
  timer_.stop();  // views ask again after the reset
}

void NotebookMacros::read(int index) {
  const Cell& cell = document_->cell(index);
  const QStringList defining =
      cell.type == CellType::markdown ? definingFormulas(cell.source) : QStringList();
  if (defined_.value(cell.id) == defining) return;
  if (defining.isEmpty())
    defined_.remove(cell.id);
  else
    defined_[cell.id] = defining;
  timer_.start();
}

void NotebookMacros::dropGone() {
  const auto gone =
      defined_.removeIf([this](const auto& cell) { return document_->indexOf(cell.key()) < 0; });
  if (gone > 0) timer_.start();
}

}  // namespace tapedeck::app
