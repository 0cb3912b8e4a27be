// The notebook's headings as a list: a click or the arrow keys show a heading's cell, Enter goes there.
#pragma once

#include <QWidget>

class QLabel;
class QTreeWidget;
class QTreeWidgetItem;

namespace tapedeck::app {

class Document;
class NotebookView;
class OutlineModel;

class OutlineView : public QWidget {
  Q_OBJECT
 public:
  OutlineView(NotebookView* notebook, Document* document, QWidget* parent = nullptr);

  QTreeWidget* list() const { return list_; }
  const OutlineModel* model() const { return model_; }

 private:
  void fill();
  void markCurrent();
  void goTo(const QTreeWidgetItem* item, bool enter);

  NotebookView* notebook_;
  Document* document_;
  OutlineModel* model_;
  QTreeWidget* list_;
  QLabel* hint_;
  bool marking_ = false;  ///< the list follows the notebook, not the other way round
};

}  // namespace tapedeck::app
