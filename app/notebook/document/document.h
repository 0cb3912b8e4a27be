// A notebook in memory: nbformat 4.0 to 4.5, with everything that other programs wrote kept as it was. A
// Python program (see script.h) is one without outputs: running it changes nothing in its file.
#pragma once

#include <QObject>
#include <QString>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "app/notebook/document/output_limit.h"
#include "app/notebook/document/printed_text.h"

namespace tapedeck::app {

enum class CellType { code, markdown, raw };

/// A file that can't be read or written: a sentence that names the file, what is wrong and where.
struct NotebookError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using PrintedTexts = std::map<std::size_t, PrintedText>;

struct Cell {
  QString id;
  CellType type = CellType::code;
  QString source;
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();  ///< nbformat outputs
  /// By their place in `outputs`: streams that are longer than what those have of them, their beginning.
  PrintedTexts printed;
  int executionCount = 0;  ///< 0: null
};

struct NotebookData;
struct SavedState;
struct CellData;
/// A snapshot of a cell with all its data.
using SharedCell = std::shared_ptr<const CellData>;

/// Which part of a cell's outputs changed, so that a view of a long log need not look at all of it.
struct OutputChange {
  enum class Kind {
    all,       ///< nothing is known
    output,    ///< `output` alone: new at the end, or replaced
    text,      ///< the stream `output`, from byte `kept` on
    execution  ///< the execution count, no output
  };
  Kind kind = Kind::all;
  std::size_t output = 0;
  std::size_t kept = 0;
};

class Document : public QObject {
  Q_OBJECT
 public:
  /// The document at one moment, unaffected by later changes: to be written on another thread. `bytes` and
  /// all its copies must be destroyed on the document's thread.
  struct Snapshot {
    std::function<QByteArray()> bytes;
    std::shared_ptr<const SavedState> state;
  };

  explicit Document(QObject* parent = nullptr);  ///< one empty code cell
  ~Document() override;

  /// Replace the contents. Throw NotebookError and change nothing on failure. Cells of nbformat 4.0 to 4.4
  /// get ids here, not in the file; 3 is refused by name.
  void load(const QString& path);
  void parse(const QByteArray& bytes, const QString& name);
  /// Replaces the contents by those of a file that was read already, on any thread; an empty `path`: by an
  /// unsaved copy of them.
  void take(NotebookData notebook, const QByteArray& bytes, const QString& path);
  /// What save() writes: the file's own bytes where nothing changed since load.
  QByteArray serialize() const;
  /// For a file of that name: a Python program where it is called so, else a notebook, as work to be
  /// recovered is (an empty name).
  /// `limit`: bytes that it has of each printed text, see PrintedText::stored().
  Snapshot snapshot(const QString& path, std::size_t limit = storedOutputLimit()) const;
  /// Replace the contents by those of a recovery file; modified until saved to `path`, that of the file that
  /// was lost.
  void recover(const QByteArray& bytes, const QString& path);
  void recover(NotebookData notebook, const QString& path);
  /// Atomic: a temporary file in the same folder, synced, then renamed over the old one. Throws
  /// NotebookError; the old file is whole then.
  void save(const QString& path);
  /// The snapshot was written to `path` as `bytes`: only changes since then count as modified.
  void wasSaved(const Snapshot& snapshot, const QByteArray& bytes, const QString& path);
  /// The file on disk differs: modified until it is saved again.
  void markUnsaved();
  QByteArray fileBytes() const;  ///< of the file as it was loaded or saved last

  /// Detaches the document from its file: an unsaved copy called `name`, whose session keeps its folder.
  void leaveFile(const QString& name);
  /// For a notebook without a file: what people call it, and where its session runs.
  void setOrigin(const QString& name, const QString& folder);
  QString name() const;    ///< the file's name, else what setOrigin said
  QString folder() const;  ///< the file's, else what setOrigin said, else the home folder

  QString path() const;  ///< empty: never saved
  bool modified() const;
  bool readOnly() const;  ///< the file can't be written
  /// Makes the document read-only: it shows a program's or a trace's text. Functions that would change its
  /// cells do nothing, and it is never modified.
  void lock();
  bool locked() const;
  /// A code cell at the end, also of a read-only document; `id` must be new.
  void append(const QString& id, const QString& source);

  int cellCount() const;
  const Cell& cell(int index) const;
  int indexOf(const QString& id) const;  ///< -1: none
  /// The cell's other members as in the file: metadata, attachments, and what other programs wrote.
  const nlohmann::ordered_json& cellMembers(int index) const;

  QString insertCell(int index, CellType type, const QString& source = {});  ///< returns its id
  void removeCell(int index);
  void moveCell(int from, int to);
  void setCellType(int index, CellType type);
  void setSource(int index, const QString& source);
  /// The program's own member, "tapedeck", of a cell's metadata, or of the notebook's (`index` -1); null:
  /// there is none. Setting null removes it; setting the earlier value leaves the file unchanged.
  nlohmann::ordered_json ownMetadata(int index) const;
  void setOwnMetadata(int index, const nlohmann::ordered_json& value);
  /// At `at`, in UTF-16 units of its source. The first part keeps the id, the second gets the outputs.
  void splitCell(int index, qsizetype at);
  /// The cells from `first` to `last` become the first, with its type; outputs go.
  void mergeCells(int first, int last);
  /// What a replacement in many cells changes: unlike setSource(), undoStructure() takes it back.
  void replaceSources(const QList<std::pair<int, QString>>& sources);
  /// Of these cells, with the numbers of their executions: clearOutputs() that undoStructure() takes back. A
  /// cell that has run since keeps its new outputs then.
  void removeOutputs(const QList<int>& indexes);
  /// For the clipboard; no copies are made before the document changes them.
  std::vector<SharedCell> shareCells(const QList<int>& indexes) const;
  /// Copies of them, with ids of their own where theirs are taken; returns the ids.
  QStringList insertCells(int index, const std::vector<SharedCell>& cells);
  /// Whether undoStructure() (`redo`: redoStructure()) changes the source of this cell, which is still as the
  /// last replaceSources() left it.
  bool undoesText(int index, bool redo) const;
  bool canUndoStructure() const;  ///< all of these, and insert, remove, move, change of type
  void undoStructure();
  bool canRedoStructure() const;
  void redoStructure();

  // Results of running; a `cellId` that is gone is ignored.
  void clearOutputs(const QString& cellId);
  /// Joins neighbouring streams, and beyond some number of outputs all of a stream. Of other outputs a cell
  /// keeps as many as protocol::max_cell_outputs and some for its streams. A "transient" member is not kept,
  /// but names the output for updateDisplay().
  void appendOutput(const QString& cellId, const nlohmann::json& output);
  /// The session sent `count` outputs more than a cell keeps (see protocol::max_cell_outputs): one note says
  /// how many there were, at the place of the first.
  void addLeftOut(const QString& cellId, quint64 count);
  void updateDisplay(const QString& displayId, const nlohmann::json& data, const nlohmann::json& metadata);
  void setExecutionCount(const QString& cellId, int count);
  /// When it ran, as JupyterLab keeps it: member `execution` of the cell's metadata, "iopub.execute_input",
  /// "shell.execute_reply" and others, each with an ISO 8601 time. Null takes them away, as clearOutputs
  /// does.
  void setExecutionTimes(const QString& cellId, const nlohmann::json& times);
  /// What this program keeps with the notebook, by name: in the file's metadata, under "tapedeck". Null:
  /// nothing.
  nlohmann::ordered_json kept(const std::string& name) const;
  /// Null removes it. A change like any other.
  void keep(const std::string& name, const nlohmann::ordered_json& value);
  /// The name of the Jupyter kernel in the notebook's metadata (kernelspec); empty: none.
  QString kernelspecName() const;
  /// Of kernel_info_reply's content; written with the next change, not a change by itself. A file keeps what
  /// it says of the same language, or that it says nothing.
  void setLanguageInfo(const nlohmann::json& kernelInfo);

 signals:
  void reset();
  void cellInserted(int index);
  void cellRemoved(int index);
  void cellMoved(int from, int to);
  void cellChanged(int index);     ///< source or type
  void outputsChanged(int index);  ///< outputs or execution count
  /// Comes before each outputsChanged().
  void outputEdited(int index, const tapedeck::app::OutputChange& change);
  void modifiedChanged(bool modified);
  void keptChanged(const std::string& name);

 private:
  friend class UndoStep;
  struct Private;
  std::unique_ptr<Private> d_;
};

/// One undoStructure() undoes all changes made while it lives.
class UndoStep {
 public:
  explicit UndoStep(Document* document);
  ~UndoStep();
  UndoStep(const UndoStep&) = delete;
  UndoStep& operator=(const UndoStep&) = delete;

 private:
  Document* document_;
};

}  // namespace tapedeck::app
