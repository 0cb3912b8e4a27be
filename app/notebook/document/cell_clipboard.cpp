#include "app/notebook/document/cell_clipboard.h"

#include "app/notebook/document/nbformat.h"
#include "app/notebook/document/output_limit.h"

namespace tapedeck::app {
namespace {

/// Of what another process gets, and of what is taken from one.
constexpr std::size_t most_output_bytes = 32u << 20;
constexpr qsizetype most_pasted_bytes = 128 << 20;

QString sourcesOf(const std::vector<SharedCell>& cells) {
  QStringList sources;
  for (const SharedCell& cell : cells) sources << cell->cell.source;
  return sources.join(QStringLiteral("\n\n"));
}

/// A guess that costs nothing much: texts and pictures are nearly all of it.
std::size_t sizeOf(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size();
  std::size_t bytes = 8;
  if (value.is_structured())
    for (const auto& part : value) bytes += sizeOf(part);
  return bytes;
}

QByteArray clipboardNotebook(const std::vector<SharedCell>& cells) {
  NotebookData notebook = emptyNotebook();
  std::size_t bytes = 0;
  for (const SharedCell& cell : cells) {
    auto copy = std::make_shared<CellData>();
    copy->cell.id = cell->cell.id;
    copy->cell.type = cell->cell.type;
    copy->cell.source = cell->cell.source;
    copy->members = cell->members;
    const std::size_t size = sizeOf(cell->cell.outputs);
    if (bytes + size <= most_output_bytes) {
      bytes += size;
      copy->cell.outputs = cell->cell.outputs;
      copy->cell.printed = cell->cell.printed;
      copy->cell.executionCount = cell->cell.executionCount;
    }
    notebook.cells.push_back(std::move(copy));
  }
  return writeNotebook(notebook, recovery_output_limit);
}

std::vector<SharedCell> asText(const QString& text, QString* problem) {
  if (text.trimmed().isEmpty()) {
    *problem = QStringLiteral("The clipboard has no cells and no text");
    return {};
  }
  QString source = text;
  source.replace(QStringLiteral("\r\n"), QStringLiteral("\n")).replace(QLatin1Char('\r'), QLatin1Char('\n'));
  return {makeCell(CellType::code, source)};
}

}  // namespace

CopiedCells::CopiedCells(std::vector<SharedCell> cells) : cells_(std::move(cells)) {}

QStringList CopiedCells::formats() const {
  return {QString::fromLatin1(cells_mime_type), QStringLiteral("text/plain")};
}

bool CopiedCells::hasFormat(const QString& type) const {
  return formats().contains(type);
}

QVariant CopiedCells::retrieveData(const QString& type, QMetaType) const {
  if (type == QLatin1String(cells_mime_type)) return clipboardNotebook(cells_);
  if (type == QLatin1String("text/plain")) return sourcesOf(cells_);
  return {};
}

std::vector<SharedCell> cellsFrom(const QMimeData* data, QString* problem) {
  if (data == nullptr) return asText({}, problem);
  if (const auto* own = qobject_cast<const CopiedCells*>(data)) return own->cells();
  if (!data->hasFormat(QString::fromLatin1(cells_mime_type))) return asText(data->text(), problem);
  const QByteArray bytes = data->data(QString::fromLatin1(cells_mime_type));
  if (bytes.size() > most_pasted_bytes) {
    *problem = QStringLiteral("The cells on the clipboard are too large: %1 MB, at most %2 can be pasted")
                   .arg(bytes.size() >> 20)
                   .arg(most_pasted_bytes >> 20);
    return {};
  }
  try {
    NotebookData notebook = readNotebook(bytes, QStringLiteral("The clipboard"));
    if (notebook.cells.empty()) *problem = QStringLiteral("There are no cells on the clipboard");
    return {notebook.cells.begin(), notebook.cells.end()};
  } catch (const NotebookError& error) {
    *problem = QString::fromUtf8(error.what());
    return {};
  }
}

}  // namespace tapedeck::app
