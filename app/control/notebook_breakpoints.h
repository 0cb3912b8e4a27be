// Breakpoints and the notebook they are in: saved with it, restored when it is opened, gone with their cells.
#pragma once

#include <QObject>

#include "app/notebook/document/document.h"
#include "inspector/model/breakpoints/breakpoints_model.h"

namespace tapedeck::app {

/// Those of a line or a cell are kept in the cell's metadata ("tapedeck": {"breakpoints": […]}), all others
/// in the notebook's. A notebook without breakpoints gets none of it. Restoring runs nothing.
class NotebookBreakpoints : public QObject {
  Q_OBJECT
 public:
  NotebookBreakpoints(Document* document, inspector::BreakpointsModel* breakpoints,
                      QObject* parent = nullptr);

 private:
  void load();
  void save();
  void removeLost();
  void checkLines();

  Document* document_;
  inspector::BreakpointsModel* breakpoints_;
};

/// What is kept of a breakpoint, and back. What is no breakpoint is left out.
nlohmann::ordered_json toMetadata(const protocol::Breakpoint& breakpoint);
std::vector<protocol::Breakpoint> fromMetadata(const nlohmann::ordered_json& own, const std::string& cell);

/// Why a line of Python can never stop anything: it is not there, or has no code. Empty: it may.
QString lineProblem(const QString& source, int line);

}  // namespace tapedeck::app
