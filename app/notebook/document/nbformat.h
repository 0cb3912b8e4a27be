// The notebook file format, version 4.0 to 4.5: bytes to cells and back.
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/notebook/document/document.h"
#include "app/notebook/document/file_io.h"
#include "app/notebook/document/json_text.h"

namespace tapedeck::app {

/// A cell's bytes in the file: written again byte for byte while its contents are unchanged.
struct CellText {
  QByteArray file;  ///< shared with the whole notebook
  TextSpan span;
  std::vector<std::string> keys;  ///< in the file's order
  bool hasId = false;
  // What it says.
  QString id;
  CellType type = CellType::code;
  QString source;
};

/// A cell's text in a Python program: written again unchanged while its contents are unchanged.
struct ScriptText {
  QString marker;  ///< the line that begins it, "# %%", with its end if it has one; empty: the program's
                   ///< beginning
  QString text;    ///< its lines without the empty ones behind them
  QString tail;    ///< the line ends behind it
  // What it says.
  QString source;
  CellType type = CellType::code;
};

/// How a Python program is laid out around its cells.
struct ScriptStyle {
  bool marked = false;           ///< begins with a byte order mark
  bool carriageReturns = false;  ///< lines end as on Windows
  QString before;                ///< empty lines before the first cell
};

/// A cell with the data that its Cell does not have.
struct CellData {
  Cell cell;
  /// All members of the file's cell but id, source and outputs, unknown ones too.
  nlohmann::ordered_json members = nlohmann::ordered_json::object();
  nlohmann::ordered_json
      stashedAttachments;                  ///< a code cell can have none: kept for the way back to Markdown
  QStringList displayIds;                  ///< of the outputs, where they have one
  quint64 leftOut = 0;                     ///< outputs that the session sent beyond the most that are kept
  std::optional<std::size_t> leftOutNote;  ///< which of the outputs says so
  /// Once a cell has many outputs: where what each stream prints is gathered, whatever comes between.
  std::optional<std::map<std::string, std::size_t>> gathered;
  quint64 revision = 0;                      ///< another one for other outputs or members; 0: as read
  std::shared_ptr<const CellText> text;      ///< none: a cell made here
  std::shared_ptr<const ScriptText> script;  ///< of a cell that was read from a program
};

using CellPointer = std::shared_ptr<CellData>;

/// How the program that wrote a file laid it out, so that what is changed here is all that changes there.
struct NotebookStyle {
  JsonStyle json;
  bool textAsLines = true;  ///< long texts as lists of lines, else each as one string
  // The text between the brackets of the list of cells, without the cells.
  std::string beforeFirst = "\n  ";
  std::string between = ",\n  ";
  std::string afterLast = "\n ";
};

/// The text around the cells, and what it says.
struct HeaderText {
  std::string before;  ///< up to the bracket that opens the list of cells
  std::string after;   ///< from the bracket that closes it
  nlohmann::ordered_json header;
  std::vector<std::string> keys;  ///< in the file's order, "cells" among them
};

struct NotebookData {
  nlohmann::ordered_json header =
      nlohmann::ordered_json::object();  ///< all members of the notebook but its cells
  std::vector<CellPointer> cells;
  NotebookStyle style;
  std::shared_ptr<const HeaderText> text;  ///< none: a notebook made here
  std::optional<ScriptStyle> script;       ///< of what was read from a Python program
};

/// Throws NotebookError, and Stopped; `name` names the file in errors. Multi-line text comes as one string;
/// cells without an id, or with one that was there before, get one to be known by.
NotebookData readNotebook(const QByteArray& bytes, const QString& name, const Progress& progress = {});

/// Either of them, as the name says: readScript (script.h) or readNotebook.
NotebookData readDocument(const QByteArray& bytes, const QString& name, const Progress& progress = {});

/// `limit`: see storedOutputs(). Cells and header that say what they said in the file keep its bytes; what is
/// new is laid out as the file is, or, in a new notebook, as Jupyter's nbformat.write does. The format's
/// minor version stays: only cell ids would need 4.5, and files that have none do not get them.
QByteArray writeNotebook(const NotebookData& notebook, std::size_t limit = 0);

/// The outputs as a file has them: of what was printed up to `limit` bytes each (PrintedText::stored()).
nlohmann::ordered_json storedOutputs(const Cell& cell, std::size_t limit);
/// Removes all of them, with their data.
void dropOutputs(CellData& data);

/// Of the file's bytes, `cells` their list as it was read.
NotebookStyle styleOf(std::string_view text, const nlohmann::ordered_json& top, const JsonWatch& cells);

/// One that was made here: format 4.5, without cells.
NotebookData emptyNotebook();
/// A fresh cell; `type` decides which members it must have.
CellPointer makeCell(CellType type, const QString& source);
/// Gives the cell the type and the members that go with it.
void convertCell(CellData& data, CellType type);
QString randomCellId();

/// An output's text member ("text", or one of "data") as one string, whether it is a string or a list of
/// strings.
std::string joinedText(const nlohmann::ordered_json& value);

}  // namespace tapedeck::app
