#include "app/notebook/document/document.h"

#include <QDir>
#include <QFileInfo>

#include "app/notebook/document/document_private.h"
#include "app/notebook/document/execution_times.h"
#include "app/notebook/document/file_io.h"
#include "app/notebook/document/script.h"

namespace tapedeck::app {

using nlohmann::ordered_json;

Document::Document(QObject* parent) : QObject(parent), d_(std::make_unique<Private>()) {
  d_->notebook = emptyNotebook();
  d_->notebook.cells.push_back(makeCell(CellType::code, {}));
  d_->rememberSaved(d_->state());
}

Document::~Document() = default;

void Document::load(const QString& path) {
  const QByteArray bytes = readWholeFile(path);
  take(readDocument(bytes, QFileInfo(path).fileName()), bytes, QFileInfo(path).absoluteFilePath());
}

void Document::parse(const QByteArray& bytes, const QString& name) {
  take(readDocument(bytes, name), bytes, {});
}

void Document::take(NotebookData notebook, const QByteArray& bytes, const QString& path) {
  d_->replace(std::move(notebook), bytes, path);
  emit reset();
  d_->announceModified(this);
}

void Document::recover(const QByteArray& bytes, const QString& path) {
  recover(readNotebook(bytes, path.isEmpty() ? "The recovery file" : QFileInfo(path).fileName()), path);
}

void Document::recover(NotebookData notebook, const QString& path) {
  d_->replace(std::move(notebook), {}, path);
  d_->detached = true;
  emit reset();
  d_->announceModified(this);
}

QByteArray Document::serialize() const {
  return snapshot(d_->path).bytes();
}

Document::Snapshot Document::snapshot(const QString& path, std::size_t limit) const {
  if (!modified() && !d_->fileBytes.isEmpty() && isScript(path) == isScript(d_->path))
    return {[bytes = d_->fileBytes] { return bytes; }, d_->saved};
  auto notebook = std::make_shared<NotebookData>(d_->notebook);
  if (isScript(path)) return {[notebook] { return writeScript(*notebook); }, d_->state()};
  ordered_json& metadata = notebook->header["metadata"];
  const bool others = notebook->text && !d_->path.isEmpty();
  const auto told = metadata.find("language_info");
  const bool sameLanguage =
      told != metadata.end() && told->is_object() && d_->languageInfo.is_object() &&
      told->value("name", ordered_json()) == d_->languageInfo.value("name", ordered_json());
  const bool says = told != metadata.end() ? !sameLanguage : !others;
  if (!d_->languageInfo.is_null() && says) metadata["language_info"] = d_->languageInfo;
  if (!d_->kernelSpec.is_null() && !others && !metadata.contains("kernelspec"))
    metadata["kernelspec"] = d_->kernelSpec;
  return {[notebook, limit] { return writeNotebook(*notebook, limit); }, d_->state()};
}

void Document::save(const QString& path) {
  const Snapshot now = snapshot(path);
  const QByteArray bytes = now.bytes();
  writeFileAtomically(path, bytes);
  wasSaved(now, bytes, path);
}

void Document::wasSaved(const Snapshot& snapshot, const QByteArray& bytes, const QString& path) {
  d_->path = QFileInfo(path).absoluteFilePath();
  d_->fileBytes = bytes;
  d_->rememberSaved(snapshot.state);
  d_->announceModified(this);
}

void Document::markUnsaved() {
  d_->detached = true;
  d_->announceModified(this);
}

void Document::leaveFile(const QString& name) {
  setOrigin(name, folder());
  d_->path.clear();
  markUnsaved();
}

QByteArray Document::fileBytes() const {
  return d_->fileBytes;
}

void Document::setOrigin(const QString& name, const QString& folder) {
  d_->originName = name;
  d_->originFolder = folder;
}

QString Document::name() const {
  return d_->path.isEmpty() ? d_->originName : QFileInfo(d_->path).fileName();
}

QString Document::folder() const {
  if (!d_->path.isEmpty()) return QFileInfo(d_->path).absolutePath();
  return d_->originFolder.isEmpty() ? QDir::homePath() : d_->originFolder;
}

QString Document::path() const {
  return d_->path;
}
bool Document::modified() const {
  return d_->modified();
}
bool Document::readOnly() const {
  return isReadOnly(d_->path);
}

void Document::lock() {
  d_->locked = true;
  d_->undo.clear();
  d_->redo.clear();
  d_->announceModified(this);
}
bool Document::locked() const {
  return d_->locked;
}

void Document::append(const QString& id, const QString& source) {
  CellPointer data = makeCell(CellType::code, source);
  data->cell.id = id;
  d_->insert(this, cellCount(), data);
}

int Document::cellCount() const {
  return static_cast<int>(d_->notebook.cells.size());
}
const Cell& Document::cell(int index) const {
  return d_->at(index).cell;
}
const ordered_json& Document::cellMembers(int index) const {
  return d_->at(index).members;
}

int Document::indexOf(const QString& id) const {
  return d_->placeOf(id);
}

QString Document::insertCell(int index, CellType type, const QString& source) {
  if (d_->locked) return {};
  CellPointer data = makeCell(type, source);
  while (indexOf(data->cell.id) >= 0) data->cell.id = randomCellId();
  const QString id = data->cell.id;
  d_->make(this, {Change::Kind::insert, std::clamp(index, 0, cellCount()), 0, std::move(data), nullptr});
  return id;
}

void Document::removeCell(int index) {
  if (d_->locked) return;
  d_->make(this,
           {Change::Kind::remove, index, 0, d_->notebook.cells.at(static_cast<std::size_t>(index)), nullptr});
}

void Document::moveCell(int from, int to) {
  to = std::clamp(to, 0, cellCount() - 1);
  if (from == to || d_->locked) return;
  d_->make(this, {Change::Kind::move, from, to, nullptr, nullptr});
}

void Document::setCellType(int index, CellType type) {
  const CellPointer before = d_->notebook.cells.at(static_cast<std::size_t>(index));
  if (before->cell.type == type || d_->locked) return;
  auto after = std::make_shared<CellData>(*before);
  convertCell(*after, type);
  after->revision = d_->nextRevision();
  d_->make(this, {Change::Kind::convert, index, 0, after, before});
}

void Document::setSource(int index, const QString& source) {
  if (cell(index).source == source || d_->locked) return;
  d_->edit(index).cell.source = source;
  d_->compareWithSaved(index);
  emit cellChanged(index);
  d_->announceModified(this);
}

// ---- results of running ----

void Document::clearOutputs(const QString& cellId) {
  if (d_->locked) return;
  const int index = indexOf(cellId);
  if (index < 0 || cell(index).type != CellType::code) return;
  if (cell(index).outputs.empty() && cell(index).executionCount == 0 && !executionTimes(cellMembers(index)))
    return;
  CellData& data = d_->editResults(index);
  eraseExecutionTimes(data.members);
  dropOutputs(data);
  data.cell.executionCount = 0;
  data.members["execution_count"] = nullptr;
  d_->announceOutput(this, index, {});
  d_->announceModified(this);
}

void Document::updateDisplay(const QString& displayId, const nlohmann::json& bundle,
                             const nlohmann::json& metadata) {
  if (displayId.isEmpty()) return;
  for (int index = 0; index < cellCount(); ++index) {
    if (!d_->at(index).displayIds.contains(displayId)) continue;
    CellData& data = d_->editResults(index);
    for (qsizetype i = 0; i < data.displayIds.size(); ++i) {
      if (data.displayIds[i] != displayId) continue;
      data.cell.outputs[static_cast<std::size_t>(i)]["data"] = ordered_json(bundle);
      data.cell.outputs[static_cast<std::size_t>(i)]["metadata"] = ordered_json(metadata);
      emit outputEdited(index, {OutputChange::Kind::output, static_cast<std::size_t>(i), 0});
    }
    emit outputsChanged(index);
  }
  d_->announceModified(this);
}

void Document::setExecutionCount(const QString& cellId, int count) {
  const int index = indexOf(cellId);
  if (index < 0 || cell(index).type != CellType::code || cell(index).executionCount == count) return;
  CellData& data = d_->editResults(index);
  data.cell.executionCount = count;
  data.members["execution_count"] = count > 0 ? ordered_json(count) : ordered_json(nullptr);
  d_->announceOutput(this, index, {OutputChange::Kind::execution, 0, 0});
  d_->announceModified(this);
}

void Document::setLanguageInfo(const nlohmann::json& kernelInfo) {
  // Not a change by itself: a file that was only viewed must not ask to be saved.
  if (!kernelInfo.is_object() || !kernelInfo.contains("language_info")) return;
  d_->languageInfo = ordered_json(kernelInfo["language_info"]);
  if (!d_->languageInfo.is_object()) {
    d_->languageInfo = nullptr;
    return;
  }
  const std::string language = d_->languageInfo.contains("name") && d_->languageInfo["name"].is_string()
                                   ? d_->languageInfo["name"].get<std::string>()
                                   : "python";
  d_->kernelSpec = {{"display_name", language == "python" ? "Python 3 (ipykernel)" : language},
                    {"language", language},
                    {"name", language == "python" ? "python3" : language}};
}

}  // namespace tapedeck::app
