// The panel of graph functions: which were traced and why, and a trace's graph before and after each pass.
#pragma once

#include <memory>

#include "inspector/model/functions/functions_model.h"
#include "inspector/panels/panel.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace tapedeck::inspector {

class FunctionList;
class NodeOutline;

/// Keys, with the focus in it: Enter goes to the row's line, N and P to the next and the previous pass, I to
/// a node's inputs, R to what reads it, Ctrl+F to the filter, Ctrl+C copies the graph as text.
class GraphView : public SessionPanel {
  Q_OBJECT
 public:
  GraphView(Session& session, CellNames& cells, QWidget* parent = nullptr);
  ~GraphView() override;

  QList<QAction*> menuActions() const override;
  QList<HandledKeys> handledKeys() const override;
  FunctionsModel* model() const;
  FunctionList* functions() const;
  NodeOutline* nodes() const;
  QComboBox* stages() const;
  QLineEdit* filterEdit() const;
  QLabel* note() const;       ///< about the list
  QLabel* graphNote() const;  ///< about the graph: how far it has come, how many nodes the filter finds
  QLabel* emptyText() const;

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
