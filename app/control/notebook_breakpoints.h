// Breakpoints and the notebook they are in: saved with it, restored when it is opened, gone with their cells.
#pragma once

#include <QHash>
#include <QObject>
#include <vector>

#include "app/notebook/document/document.h"
#include "inspector/model/breakpoints/breakpoints_model.h"

namespace tapedeck::app {

/// Those of a line or a cell are kept in the cell's metadata ("tapedeck": {"breakpoints": […]}), all others
/// in the notebook's. A notebook without breakpoints gets none of it. Restoring runs nothing. Of a file that
/// has more than most_breakpoints, the first are set and the others stay in it: the file may be hostile.
class NotebookBreakpoints : public QObject {
  Q_OBJECT
 public:
  NotebookBreakpoints(Document* document, inspector::BreakpointsModel* breakpoints,
                      QObject* parent = nullptr);

  static constexpr std::size_t most_breakpoints = 1000;

 signals:
  /// A notebook was loaded. `sentence` says how many of its breakpoints are not set; empty: all are.
  void loaded(const QString& sentence);

 private:
  void load();
  void addCell(int index);
  /// Those in the metadata of a cell, or of the notebook (-1): at most `room`, the others go to beyond_.
  std::vector<protocol::Breakpoint> read(int index, std::size_t room);
  void save();
  void removeLost();
  void checkLines();

  Document* document_;
  inspector::BreakpointsModel* breakpoints_;
  QHash<QString, std::vector<protocol::Breakpoint>> beyond_;  ///< by cell; of the notebook: an empty text
};

/// What is kept of a breakpoint, and back. Entries that are not breakpoints are left out.
nlohmann::ordered_json toMetadata(const protocol::Breakpoint& breakpoint);
std::vector<protocol::Breakpoint> fromMetadata(const nlohmann::ordered_json& own, const std::string& cell);

/// Why a line, from 1 on, of these of Python can never stop anything: it is not there, or has no code. Empty:
/// it may.
QString lineProblem(const QStringList& lines, int line);

}  // namespace tapedeck::app
