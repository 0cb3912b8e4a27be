// The panel of the tape graph.
#pragma once

#include <functional>
#include <memory>

#include "inspector/model/session/session.h"
#include "inspector/panels/panel.h"

class QAction;

namespace tapedeck::inspector {

class TapeCanvas;
class TapeGraphModel;
class WhyActions;

/// Shows the tape at the session's cursor; a click on an op moves the cursor, one on a variable or constant
/// asks for its values. Keys, with the focus in it: arrows go from node to node, J and K along the edges,
/// Enter is a click on the node gone to, Shift and arrows move the plane, + and − zoom, F or 0 fits, Home
/// goes to the cursor, C follows it, G shows the legend. Long tapes are folded into groups: O or Enter opens
/// one, U folds it up, Shift+O and Shift+U open all and reset folding; Ctrl+F searches, N goes to the next
/// hit; A and D highlight ancestors and descendants, I hides the rest; M shows the map.
class TapeView : public SessionPanel {
  Q_OBJECT
 public:
  explicit TapeView(Session& session, QWidget* parent = nullptr);
  ~TapeView() override;

  TapeCanvas* canvas() const;
  TapeGraphModel* model() const;
  /// Writes the graph to a file, on another thread; `exported` reports the end.
  void exportSvg(const QString& path);
  /// Names a cell in the tooltips: "cell 3". Without it they show the cell's id.
  void setCellName(std::function<QString(const protocol::Record& record)> name);
  /// Ops that have one get a flag, and their tooltips the note.
  void setBookmarks(const Bookmarks& bookmarks);
  /// The questions are in the context menu of nodes; the records of an answer are marked.
  void setWhy(WhyActions& why);
  QList<QAction*> exportActions() const override;
  QList<HandledKeys> handledKeys() const override;

 public slots:
  void fit();
  void zoomIn();
  void zoomOut();
  void askSvg();  ///< asks for a file name and has the graph written there

 signals:
  /// An export ended; `error` is empty where the file is there.
  void exported(const QString& path, const QString& error);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
