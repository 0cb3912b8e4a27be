// The panel of the tape graph.
#pragma once

#include <functional>
#include <memory>

#include "inspector/model/session.h"
#include "inspector/panels/panel.h"

class QAction;

namespace tapedeck::inspector {

class TapeCanvas;
class TapeGraphModel;

/// Shows the tape at the session's cursor; a click on a node moves the cursor. Keys, with the focus in it:
/// arrows pan, + and − zoom, F fits, T tidies up, Home goes to the cursor, J K H L walk, Enter moves the
/// cursor to the node walked to, C follows the cursor, G shows the legend.
class TapeView : public SessionPanel {
  Q_OBJECT
 public:
  explicit TapeView(Session* session, QWidget* parent = nullptr);
  ~TapeView() override;

  TapeCanvas* canvas() const;
  TapeGraphModel* model() const;
  /// What the view shows, as a file; laid out afresh where the view has not got to it yet.
  QByteArray svg() const;
  /// How to call a cell in the tooltips: "cell 3". Without it the cell's id stands there.
  void setCellName(std::function<QString(const QString& cellId)> name);
  QList<QAction*> exportActions() const override;
  QList<HandledKeys> handledKeys() const override;

 public slots:
  void fit();
  void zoomIn();
  void zoomOut();
  void tidy();    ///< lays everything out afresh
  void askSvg();  ///< asks for a file name and writes svg() there

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
