#include "app/control/cell_freshness.h"

#include <utility>

#include "app/control/cell_names.h"
#include "app/notebook/document/execution_times.h"

namespace tapedeck::app {

CellFreshness::CellFreshness(Document* document, CellRunner* runner, Kernel* kernel, QObject* parent)
    : QObject(parent), document_(document) {
  connect(document_, &Document::reset, this, &CellFreshness::load);
  connect(document_, &Document::cellChanged, this, [this](int index) { judge(document_->cell(index).id); });
  connect(document_, &Document::outputEdited, this, [this](int index, const OutputChange& change) {
    // Its outputs were cleared: there is nothing that could be out of date.
    const Cell& cell = document_->cell(index);
    if (change.kind == OutputChange::Kind::all && cell.executionCount == 0 && !sent_.contains(cell.id))
      forget(cell.id);
  });
  connect(runner, &CellRunner::sent, this,
          [this](const QString& cellId, const QString& source) { sent_[cellId] = source; });
  connect(runner, &CellRunner::cellStateChanged, this, [this](const QString& cellId, CellState state) {
    if (state == CellState::idle && sent_.remove(cellId)) forget(cellId);  // sent, and not begun
    if (state == CellState::done || state == CellState::failed || state == CellState::killed) end(cellId);
  });
  connect(kernel, &Kernel::stateChanged, this, [this](KernelState state) {
    if (state != KernelState::idle && state != KernelState::busy) endSession();
  });
  load();
}

QStringList CellFreshness::marked() const {
  QStringList ids;
  for (int i = 0; i < document_->cellCount(); ++i) {
    const Cell& cell = document_->cell(i);
    if (cell.type == CellType::code && mark(cell.id) != CellMark::none && !cell.source.trimmed().isEmpty())
      ids << cell.id;
  }
  return ids;
}

/// What a file has of outputs is of an earlier session.
void CellFreshness::load() {
  sent_.clear();
  cells_.clear();
  readers_.clear();
  assigners_.clear();
  for (int i = 0; i < document_->cellCount(); ++i) {
    const Cell& cell = document_->cell(i);
    if (cell.type != CellType::code ||
        (cell.executionCount == 0 && !executionTimes(document_->cellMembers(i))))
      continue;
    cells_.insert(cell.id, {});
    judge(cell.id);
  }
}

void CellFreshness::end(const QString& cellId) {
  const auto sent = sent_.constFind(cellId);
  if (sent == sent_.constEnd()) return;
  Run run;
  run.source = *sent;
  run.known = true;
  run.order = ++order_;
  run.names = pythonNames(run.source);
  sent_.erase(sent);
  for (const QString& name : std::as_const(run.names.reads))
    if (const auto from = assigners_.constFind(name); from != assigners_.constEnd()) run.from[name] = *from;
  dropNames(cellId, cells_.value(cellId));
  for (const QString& name : std::as_const(run.names.reads)) readers_[name].insert(cellId);
  const QSet<QString> assigns = run.names.assigns;
  run.mark = cells_.value(cellId).mark;
  run.why = cells_.value(cellId).why;
  cells_[cellId] = std::move(run);
  judge(cellId);
  const int place = document_->indexOf(cellId);
  for (const QString& name : assigns) {
    assigners_[name] = cellId;
    for (const QString& reader : readers_.value(name)) {
      if (reader == cellId) continue;
      Run& other = cells_[reader];
      if (other.order == 0 || (other.from.value(name) != cellId && document_->indexOf(reader) < place))
        continue;
      other.changedName = name;
      other.changedBy = cellId;
      judge(reader);
    }
  }
}

void CellFreshness::dropNames(const QString& cellId, const Run& run) {
  for (const QString& name : run.names.reads) {
    const auto readers = readers_.find(name);
    if (readers == readers_.end()) continue;
    readers->remove(cellId);
    if (readers->isEmpty()) readers_.erase(readers);
  }
}

void CellFreshness::forget(const QString& cellId) {
  const auto found = cells_.constFind(cellId);
  if (found == cells_.constEnd()) return;
  const bool marked = found->mark != CellMark::none;
  dropNames(cellId, *found);
  cells_.erase(found);
  if (marked) emit changed(cellId, CellMark::none, {});
}

void CellFreshness::endSession() {
  readers_.clear();
  assigners_.clear();
  for (const QString& cellId : cells_.keys()) {
    Run& run = cells_[cellId];
    if (run.order == 0) continue;
    run.order = 0;
    run.names = {};
    run.from.clear();
    run.changedName.clear();
    judge(cellId);
  }
}

void CellFreshness::judge(const QString& cellId) {
  const auto found = cells_.find(cellId);
  const int index = document_->indexOf(cellId);
  if (found == cells_.end() || index < 0) return;
  const Cell& cell = document_->cell(index);
  CellMark mark = CellMark::none;
  QString why;
  if (cell.type != CellType::code) {
  } else if (found->known && found->source != cell.source) {
    mark = CellMark::edited;
    why = "Edited since it ran: its outputs are those of the previous text.";
  } else if (found->order == 0) {
    mark = CellMark::earlier;
    why = "It ran in an earlier session: what it assigned is not in this one.";
  } else if (!found->changedName.isEmpty()) {
    mark = CellMark::outdated;
    const QString by = cellName(*document_, found->changedBy);
    why = QString("May be out of date: it reads %1, which %2 assigned after this cell ran.")
              .arg(found->changedName, by.isEmpty() ? QString("a deleted cell") : by);
  }
  if (mark == found->mark && why == found->why) return;
  found->mark = mark;
  found->why = why;
  emit changed(cellId, mark, why);
}

}  // namespace tapedeck::app
