#include "app/notebook/document/document_private.h"

#include "app/notebook/document/script.h"

namespace tapedeck::app {

int Document::Private::placeOf(const QString& id) const {
  if (!placesKnown) {
    places.clear();
    places.reserve(static_cast<qsizetype>(notebook.cells.size()));
    for (std::size_t i = notebook.cells.size(); i-- > 0;)
      places.insert(notebook.cells[i]->cell.id, static_cast<int>(i));
    placesKnown = true;
  }
  return places.value(id, -1);
}

CellData& Document::Private::edit(int index) {
  CellPointer& cell = notebook.cells.at(static_cast<std::size_t>(index));
  if (cell.use_count() > 1) cell = std::make_shared<CellData>(*cell);
  return *cell;
}

CellData& Document::Private::editResults(int index) {
  CellData& data = edit(index);
  data.revision = nextRevision();
  compareWithSaved(index);
  return data;
}

void Document::Private::replace(NotebookData data, const QByteArray& bytes, const QString& file) {
  notebook = std::move(data);
  placesKnown = false;
  fileBytes = bytes;
  path = file;
  originName.clear();
  originFolder.clear();
  undo.clear();
  redo.clear();
  ownBefore.clear();
  rememberSaved(state());
}

std::shared_ptr<const SavedState> Document::Private::state() const {
  auto now = std::make_shared<SavedState>();
  for (const CellPointer& data : notebook.cells)
    now->cells.push_back({data->cell.id, data->cell.type, data->cell.source, data->revision});
  now->own = own();
  return now;
}

void Document::Private::rememberSaved(std::shared_ptr<const SavedState> written) {
  saved = std::move(written);
  detached = false;
  compareAll();
}

bool Document::Private::modified() const {
  if (locked) return false;
  return detached || changedCount > 0 || saved->cells.size() != notebook.cells.size() ||
         (!isScript(path) && saved->own != own());
}

bool Document::Private::differs(std::size_t index) const {
  if (index >= saved->cells.size()) return true;
  const CellData& data = *notebook.cells[index];
  const SavedCell& old = saved->cells[index];
  return data.cell.id != old.id || data.cell.type != old.type ||
         (!isScript(path) && data.revision != old.revision) ||
         // Most cells share their text with what was saved: a long one is then compared in no time.
         (data.cell.source.constData() != old.source.constData() && data.cell.source != old.source);
}

void Document::Private::compareWithSaved(int index) {
  const auto i = static_cast<std::size_t>(index);
  const bool now = differs(i);
  changedCount += static_cast<int>(now) - static_cast<int>(changed[i]);
  changed[i] = now;
}

void Document::Private::compareAll() {
  changed.assign(notebook.cells.size(), false);
  changedCount = 0;
  for (std::size_t i = 0; i < notebook.cells.size(); ++i) compareWithSaved(static_cast<int>(i));
}

void Document::Private::announceModified(Document* document) {
  if (modified() == announced) return;
  announced = modified();
  emit document->modifiedChanged(announced);
}

void Document::Private::announceOutput(Document* document, int index, const OutputChange& change) {
  emit document->outputEdited(index, change);
  emit document->outputsChanged(index);
}

// ---- structure ----

void Document::Private::push(Change change) {
  constexpr std::size_t history = 200;
  redo.clear();
  if (openSteps > 0 && stepBegun) {
    undo.back().push_back(std::move(change));
    return;
  }
  if (undo.size() >= history) undo.erase(undo.begin());
  undo.emplace_back().push_back(std::move(change));
  stepBegun = openSteps > 0;
}

void Document::Private::make(Document* document, Change change) {
  push(std::move(change));
  apply(document, undo.back().back());
}

void Document::Private::apply(Document* document, Change& change) {
  switch (change.kind) {
    case Change::Kind::insert:
      insert(document, change.index, change.cell);
      break;
    case Change::Kind::remove:
      change.cell = remove(document, change.index);
      break;
    case Change::Kind::move:
      move(document, change.index, change.to);
      break;
    case Change::Kind::convert:
      convert(document, change.index, change.cell);
      break;
    case Change::Kind::exchange:
      exchange(document, change);
      break;
    case Change::Kind::text:
      exchangeText(document, change);
      break;
    case Change::Kind::results:
      document->clearOutputs(at(change.index).cell.id);
      break;
  }
  announceModified(document);
}

void Document::Private::revert(Document* document, Change& change) {
  switch (change.kind) {
    case Change::Kind::insert:
      // The cell as it is now, so that redo brings back what was typed since.
      change.cell = remove(document, change.index);
      break;
    case Change::Kind::remove:
      insert(document, change.index, change.cell);
      break;
    case Change::Kind::move:
      move(document, change.to, change.index);
      break;
    case Change::Kind::convert:
      convert(document, change.index, change.before);
      break;
    case Change::Kind::exchange:
      exchange(document, change);
      break;
    case Change::Kind::text:
      exchangeText(document, change);
      break;
    case Change::Kind::results:
      if (const Cell& now = at(change.index).cell; now.outputs.empty() && now.executionCount == 0)
        convert(document, change.index, change.before);
      break;
  }
  announceModified(document);
}

void Document::Private::insert(Document* document, int index, const CellPointer& cell) {
  notebook.cells.insert(notebook.cells.begin() + index, cell);
  placesKnown = false;
  compareAll();
  emit document->cellInserted(index);
}

CellPointer Document::Private::remove(Document* document, int index) {
  CellPointer cell = std::move(notebook.cells.at(static_cast<std::size_t>(index)));
  notebook.cells.erase(notebook.cells.begin() + index);
  placesKnown = false;
  compareAll();
  emit document->cellRemoved(index);
  return cell;
}

void Document::Private::move(Document* document, int from, int to) {
  CellPointer cell = std::move(notebook.cells.at(static_cast<std::size_t>(from)));
  notebook.cells.erase(notebook.cells.begin() + from);
  placesKnown = false;
  notebook.cells.insert(notebook.cells.begin() + to, std::move(cell));
  compareAll();
  emit document->cellMoved(from, to);
}

void Document::Private::convert(Document* document, int index, const CellPointer& cell) {
  CellPointer& place = notebook.cells.at(static_cast<std::size_t>(index));
  // What was typed since stays, and so do the breakpoints that were set.
  const QString source = place->cell.source;
  const nlohmann::ordered_json own = document->ownMetadata(index);
  place = std::make_shared<CellData>(*cell);
  place->cell.source = source;
  compareAll();
  document->setOwnMetadata(index, own);
  emit document->cellChanged(index);
  announceOutput(document, index, {});
}

// What was typed since, or came out, is kept for the way back.
void Document::Private::exchange(Document* document, Change& change) {
  std::swap(notebook.cells.at(static_cast<std::size_t>(change.index)), change.cell);
  compareAll();
  emit document->cellChanged(change.index);
  announceOutput(document, change.index, {});
}

void Document::Private::exchangeText(Document* document, Change& change) {
  QString& source = edit(change.index).cell.source;
  std::swap(source, change.other);
  change.made = source;
  compareWithSaved(change.index);
  emit document->cellChanged(change.index);
}

}  // namespace tapedeck::app
