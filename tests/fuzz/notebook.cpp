// Notebook files (JSON) and Python programs: read, written, changed, and read again.
#include <QString>

#include "app/control/notebook_bookmarks.h"
#include "app/notebook/document/json_text.h"
#include "app/notebook/document/nbformat.h"
#include "app/notebook/document/script.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck::app;
using fuzz::expect;

namespace {

bool same_cells(const NotebookData& a, const NotebookData& b) {
  if (a.cells.size() != b.cells.size()) return false;
  for (std::size_t i = 0; i < a.cells.size(); ++i) {
    const Cell &x = a.cells[i]->cell, &y = b.cells[i]->cell;
    if (x.type != y.type || x.source != y.source || x.outputs.size() != y.outputs.size()) return false;
  }
  return true;
}

std::string json_of(const QByteArray& bytes) {
  std::string text;
  const std::size_t mark = bytes.startsWith("\xef\xbb\xbf") ? 3 : 0;
  writeJson(
      readJson(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())).substr(mark)), 0,
      {}, text);
  return text;
}

/// A notebook's metadata may have any JSON in place of bookmarks.
void read_bookmarks(const nlohmann::ordered_json& kept) {
  const KeptBookmarks read = readBookmarks(kept);
  auto saved = nlohmann::ordered_json::array();
  for (const auto& bookmark : read.bookmarks) saved.push_back(toMetadata(bookmark));
  for (const auto& other : read.others) saved.push_back(other);
  const KeptBookmarks again = readBookmarks(saved);
  expect(again.bookmarks == read.bookmarks && again.others == read.others, "bookmarks read as they were");
}

void read_json(const QByteArray& bytes) {
  nlohmann::ordered_json value;
  try {
    value = readJson({bytes.constData(), static_cast<std::size_t>(bytes.size())});
  } catch (const JsonTextError& error) {
    expect(error.line > 0 && error.column > 0, "an error has a place");
    return;
  }
  read_bookmarks(value);
  for (const bool ascii : {false, true}) {
    JsonStyle style;
    style.ascii = ascii;
    std::string written, again;
    writeJson(value, 0, style, written);
    writeJson(readJson(written), 0, style, again);
    expect(written == again, "JSON that was written reads as the same");
  }
}

void read_notebook(const QByteArray& bytes) {
  const QString name = "a.ipynb";
  NotebookData notebook = readNotebook(bytes, name);
  // An id that comes twice is repaired.
  const bool same = std::all_of(notebook.cells.begin(), notebook.cells.end(), [](const CellPointer& cell) {
    return !cell->text->hasId || cell->cell.id == cell->text->id;
  });
  if (same)
    expect(json_of(writeNotebook(notebook)) == json_of(bytes),
           "a notebook that nobody changed says the same");
  expect(same_cells(readNotebook(writeNotebook(notebook), name), notebook), "a notebook reads as it was");
  for (const CellPointer& cell : notebook.cells) {
    cell->cell.source += "\nx";
    cell->revision = 1;
  }
  notebook.header["metadata"]["changed"] = true;
  notebook.cells.push_back(makeCell(CellType::markdown, "new"));
  expect(same_cells(readNotebook(writeNotebook(notebook), name), notebook),
         "a notebook that was changed reads as what it was changed to");
  for (const CellPointer& cell : notebook.cells) convertCell(*cell, CellType::raw);
  expect(same_cells(readNotebook(writeNotebook(notebook), name), notebook),
         "cells of another type read as what they were made");
}

void read_script(const QByteArray& bytes) {
  NotebookData program = readScript(bytes, "a.py");
  expect(writeScript(program) == bytes, "a program that nobody changed keeps its bytes");
  for (const CellPointer& cell : program.cells) cell->cell.source += "x";
  const QByteArray written = writeScript(program);
  expect(readScript(written, "a.py").cells.size() >= program.cells.size(),
         "a changed program keeps its cells");
}

}  // namespace

void fuzz::parse(Bytes input) {
  const QByteArray bytes(reinterpret_cast<const char*>(input.data()), static_cast<qsizetype>(input.size()));
  read_json(bytes);
  may_refuse<NotebookError>([&] { read_notebook(bytes); });
  may_refuse<NotebookError>([&] { read_script(bytes); });
}
