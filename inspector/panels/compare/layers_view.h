// The layers of a port beside those of its original: what agrees, and what differs by how much.
#pragma once

#include <QWidget>

#include "inspector/model/compare/compare_model.h"

class QAction;
class QLabel;
class QTreeWidget;

namespace tapedeck::inspector {

/// A line for each value of each layer. Enter or a click goes to the first op that differs of the layer that
/// the sentence names, and of others to the ops that made their outputs.
class LayersView : public QWidget {
  Q_OBJECT
 public:
  explicit LayersView(CompareModel* model, QWidget* parent = nullptr);
  QTreeWidget* table() const { return table_; }
  QLabel* note() const { return note_; }
  QAction* showAction() const { return show_; }

 signals:
  void opChosen();  ///< its row is the current one

 private:
  void showLayers();
  void follow();

  CompareModel* model_;
  QTreeWidget* table_;
  QLabel* note_;
  QAction* show_;
};

}  // namespace tapedeck::inspector
