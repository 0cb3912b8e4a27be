// The notebook file format, version 4.0 to 4.5: bytes to cells and back.
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// A cell with what its Cell does not show.
struct CellData {
  Cell cell;
  /// All members of the file's cell but id, source and outputs, unknown ones too.
  nlohmann::ordered_json members = nlohmann::ordered_json::object();
  nlohmann::ordered_json
      stashedAttachments;  ///< a code cell can have none: kept for the way back to Markdown
  QStringList displayIds;  ///< of the outputs, where they have one
  quint64 revision = 0;    ///< another one for other outputs or members
};

using CellPointer = std::shared_ptr<CellData>;

struct NotebookData {
  nlohmann::ordered_json header =
      nlohmann::ordered_json::object();  ///< all members of the notebook but its cells
  std::vector<CellPointer> cells;
};

/// Throws NotebookError; `name` stands in its sentences. Multi-line text comes as one string; cells without
/// an id, or with one that was there before, get a new one; the version becomes 4.5.
NotebookData readNotebook(const QByteArray& bytes, const QString& name);

/// The text that Jupyter's nbformat.write makes of it.
QByteArray writeNotebook(const NotebookData& notebook);

/// A fresh cell; `type` decides which members it must have.
CellPointer makeCell(CellType type, const QString& source);
/// Gives the cell the type and the members that go with it.
void convertCell(CellData& data, CellType type);
QString randomCellId();

/// An output's text member ("text", or one of "data") as one string, whether it is a string or a list of
/// strings.
std::string joinedText(const nlohmann::ordered_json& value);

}  // namespace tapedeck::app
