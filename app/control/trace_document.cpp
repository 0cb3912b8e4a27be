#include "app/control/trace_document.h"

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {

using nlohmann::ordered_json;

NotebookData traceNotebook(const protocol::TraceFileInfo& info, const QString& name) {
  NotebookData notebook =
      info.notebook ? readNotebook(QByteArray::fromStdString(*info.notebook), name) : emptyNotebook();
  const auto has = [&](const QString& id) {
    return std::any_of(notebook.cells.begin(), notebook.cells.end(),
                       [&](const CellPointer& cell) { return cell->cell.id == id; });
  };
  for (const protocol::SourceText& source : info.sources) {
    const QString id = QString::fromStdString(source.cell.empty() ? source.file : source.cell);
    if (id.isEmpty() || has(id)) continue;
    QString text = QString::fromStdString(source.text);
    while (text.endsWith('\n')) text.chop(1);
    CellPointer cell = makeCell(CellType::code, text);
    cell->cell.id = id;
    notebook.cells.push_back(std::move(cell));
  }
  if (notebook.cells.empty())
    notebook.cells.push_back(makeCell(CellType::markdown, QStringLiteral("The trace has no sources.")));
  return notebook;
}

void showTrace(const protocol::TraceFileInfo& info, const QString& name, Document& document) {
  NotebookData notebook = traceNotebook(info, name);
  document.lock();
  document.take(std::move(notebook), {}, {});
}

std::string withCellIds(const QByteArray& notebook, const QStringList& ids) {
  // As readNotebook will read it: also NaN, and numbers of any length.
  ordered_json json = readJson({notebook.constData(), static_cast<std::size_t>(notebook.size())});
  json["nbformat_minor"] = 5;
  auto& cells = json["cells"];
  for (std::size_t i = 0; i < cells.size() && static_cast<qsizetype>(i) < ids.size(); ++i)
    cells[i]["id"] = ids[static_cast<qsizetype>(i)].toStdString();
  std::string text;
  writeJson(json, 0,
            {.newLine = "", .indent = "", .comma = ",", .colon = ":", .sorted = false, .ascii = false}, text);
  return text;
}

std::vector<protocol::SourceText> cellSources(const Document& document,
                                              const std::function<QString(const QString& cell)>& ran) {
  std::vector<protocol::SourceText> sources;
  for (int i = 0; i < document.cellCount(); ++i) {
    const Cell& cell = document.cell(i);
    if (cell.type != CellType::code) continue;
    const QString before = ran(cell.id);
    const QString& source = before.isEmpty() ? cell.source : before;
    if (!source.trimmed().isEmpty()) sources.push_back({cell.id.toStdString(), {}, source.toStdString()});
  }
  return sources;
}

}  // namespace tapedeck::app
