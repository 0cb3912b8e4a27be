// What changes several cells, or one as a whole, and the undo of it.
#include <algorithm>

#include "app/notebook/document/document_private.h"

namespace tapedeck::app {

using nlohmann::ordered_json;

namespace {

/// A cell's source at its end, of the text, without the line break that split it off.
QString withoutLineBreak(QStringView text, bool first) {
  if (first && text.endsWith(u'\n')) text.chop(1);
  if (!first && text.startsWith(u'\n')) text = text.mid(1);
  return text.toString();
}

/// Pictures that the text of `from` names; a name that `to` has is left as it is there.
void addAttachments(const CellData& from, CellData& to) {
  const auto found = from.members.find("attachments");
  if (found == from.members.end() || !found->is_object() || to.cell.type == CellType::code) return;
  ordered_json& own = to.members["attachments"];
  if (!own.is_object()) own = ordered_json::object();
  for (const auto& [name, bundle] : found->items())
    if (!own.contains(name)) own[name] = bundle;
}

/// What a cell is known by, or was read as, does not hold for its copy.
CellPointer copyOf(const CellData& cell, quint64 revision) {
  auto copy = std::make_shared<CellData>(cell);
  copy->text = nullptr;
  copy->script = nullptr;
  copy->revision = revision;
  return copy;
}

}  // namespace

UndoStep::UndoStep(Document* document) : document_(document) {
  if (document_->d_->openSteps++ == 0) document_->d_->stepBegun = false;
}

UndoStep::~UndoStep() {
  if (--document_->d_->openSteps == 0) document_->d_->stepBegun = false;
}

bool Document::canUndoStructure() const {
  return !d_->undo.empty();
}
bool Document::canRedoStructure() const {
  return !d_->redo.empty();
}

void Document::undoStructure() {
  if (d_->undo.empty()) return;
  d_->redo.push_back(std::move(d_->undo.back()));
  d_->undo.pop_back();
  ChangeStep& step = d_->redo.back();
  for (auto change = step.rbegin(); change != step.rend(); ++change) d_->revert(this, *change);
}

void Document::redoStructure() {
  if (d_->redo.empty()) return;
  d_->undo.push_back(std::move(d_->redo.back()));
  d_->redo.pop_back();
  for (Change& change : d_->undo.back()) d_->apply(this, change);
}

bool Document::undoesText(int index, bool redo) const {
  const std::vector<ChangeStep>& steps = redo ? d_->redo : d_->undo;
  if (steps.empty()) return false;
  return std::any_of(steps.back().begin(), steps.back().end(), [&](const Change& change) {
    return change.kind == Change::Kind::text && change.index == index && change.made == cell(index).source;
  });
}

void Document::replaceSources(const QList<std::pair<int, QString>>& sources) {
  if (d_->locked) return;
  const UndoStep step(this);
  for (const auto& [index, source] : sources) {
    if (cell(index).source == source) continue;
    Change change{Change::Kind::text, index, 0, nullptr, nullptr};
    change.other = source;
    d_->make(this, std::move(change));
  }
}

void Document::removeOutputs(const QList<int>& indexes) {
  if (d_->locked) return;
  const UndoStep step(this);
  for (const int index : indexes) {
    const CellPointer before = d_->notebook.cells.at(static_cast<std::size_t>(index));
    const Cell& cell = before->cell;
    if (cell.type != CellType::code || (cell.outputs.empty() && cell.executionCount == 0)) continue;
    d_->make(this, {Change::Kind::results, index, 0, nullptr, before});
  }
}

void Document::splitCell(int index, qsizetype at) {
  if (d_->locked) return;
  const CellData& whole = d_->at(index);
  const QString source = whole.cell.source;
  at = std::clamp<qsizetype>(at, 0, source.size());
  CellPointer second = copyOf(whole, d_->nextRevision());
  do second->cell.id = randomCellId();
  while (indexOf(second->cell.id) >= 0);
  // Breakpoints and the like stay with the first part, which keeps the id.
  if (ordered_json& metadata = second->members["metadata"]; metadata.is_object()) metadata.erase("tapedeck");
  second->cell.source = withoutLineBreak(QStringView(source).mid(at), false);
  const UndoStep step(this);
  replaceSources({{index, withoutLineBreak(QStringView(source).left(at), true)}});
  removeOutputs({index});
  d_->make(this, {Change::Kind::insert, index + 1, 0, std::move(second), nullptr});
}

void Document::mergeCells(int first, int last) {
  if (d_->locked || first < 0 || last >= cellCount() || first >= last) return;
  CellPointer merged = copyOf(d_->at(first), d_->nextRevision());
  // Paragraphs stay apart.
  const QString between =
      merged->cell.type == CellType::markdown ? QStringLiteral("\n\n") : QStringLiteral("\n");
  for (int i = first + 1; i <= last; ++i) {
    merged->cell.source += between + cell(i).source;
    addAttachments(d_->at(i), *merged);
  }
  const UndoStep step(this);
  d_->make(this, {Change::Kind::exchange, first, 0, std::move(merged), nullptr});
  clearOutputs(cell(first).id);
  for (int i = last; i > first; --i) removeCell(i);
}

std::vector<SharedCell> Document::shareCells(const QList<int>& indexes) const {
  std::vector<SharedCell> cells;
  for (const int index : indexes) cells.push_back(d_->notebook.cells.at(static_cast<std::size_t>(index)));
  return cells;
}

QStringList Document::insertCells(int index, const std::vector<SharedCell>& cells) {
  QStringList ids;
  if (d_->locked) return ids;
  const UndoStep step(this);
  index = std::clamp(index, 0, cellCount());
  for (const SharedCell& shared : cells) {
    CellPointer copy = copyOf(*shared, d_->nextRevision());
    while (copy->cell.id.isEmpty() || indexOf(copy->cell.id) >= 0) copy->cell.id = randomCellId();
    ids << copy->cell.id;
    d_->make(this, {Change::Kind::insert, index++, 0, std::move(copy), nullptr});
  }
  return ids;
}

}  // namespace tapedeck::app
