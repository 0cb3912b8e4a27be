// A notebook in memory: nbformat 4.5, with everything that other programs wrote kept as it was.
#pragma once

#include <QObject>
#include <QString>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tapedeck::app {

enum class CellType { code, markdown, raw };

/// A file that can't be read or written: a sentence that names the file, what is wrong and where.
struct NotebookError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Cell {
  QString id;
  CellType type = CellType::code;
  QString source;
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();  ///< nbformat outputs
  int executionCount = 0;                                            ///< 0: null
};

class Document : public QObject {
  Q_OBJECT
 public:
  explicit Document(QObject* parent = nullptr);  ///< one empty code cell
  ~Document() override;

  /// Replace the contents. Throw NotebookError and change nothing on failure. nbformat 4.0 to 4.4 gets cell
  /// ids; 3 is refused by name.
  void load(const QString& path);
  void parse(const QByteArray& bytes, const QString& name);
  /// What save() writes: the file's own bytes where nothing changed since load.
  QByteArray serialize() const;
  /// serialize() for another thread: holds what the document has now, whatever is changed later. The function
  /// and all its copies must be destroyed on the document's thread.
  std::function<QByteArray()> serializer() const;
  /// Replace the contents by those of a recovery file; modified until saved to `path`, that of the file that
  /// was lost.
  void recover(const QByteArray& bytes, const QString& path);
  /// Atomic: a temporary file in the same folder, synced, then renamed over the old one. Throws
  /// NotebookError; the old file is whole then.
  void save(const QString& path);

  QString path() const;  ///< empty: never saved
  bool modified() const;
  bool readOnly() const;  ///< the file can't be written

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
  bool canUndoStructure() const;  ///< insert, remove, move, change of type
  void undoStructure();
  bool canRedoStructure() const;
  void redoStructure();

  // Results of running; a `cellId` that is gone is ignored.
  void clearOutputs(const QString& cellId);
  /// Joins neighbouring streams. A "transient" member is not kept, but names the output for updateDisplay().
  void appendOutput(const QString& cellId, const nlohmann::json& output);
  void updateDisplay(const QString& displayId, const nlohmann::json& data, const nlohmann::json& metadata);
  void setExecutionCount(const QString& cellId, int count);
  /// Of kernel_info_reply's content; written with the next change, not a change by itself.
  void setLanguageInfo(const nlohmann::json& kernelInfo);

 signals:
  void reset();
  void cellInserted(int index);
  void cellRemoved(int index);
  void cellMoved(int from, int to);
  void cellChanged(int index);     ///< source or type
  void outputsChanged(int index);  ///< outputs or execution count
  void modifiedChanged(bool modified);

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::app
