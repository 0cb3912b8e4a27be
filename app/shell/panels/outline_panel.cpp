#include "app/shell/panels/outline_panel.h"

#include <QVBoxLayout>
#include <utility>

#include "app/notebook/view/outline.h"
#include "app/notebook/view/outline_model.h"

namespace tapedeck::app {
namespace {

class OutlinePanel : public inspector::Panel {
 public:
  OutlinePanel(NotebookView* notebook, Document* document)
      : outline_(new OutlineView(notebook, document, this)), empty_(outline_->model()->headings().isEmpty()) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(outline_);
    setFocusProxy(outline_);
    connect(outline_->model(), &OutlineModel::changed, this, [this] {
      const bool empty = outline_->model()->headings().isEmpty();
      if (std::exchange(empty_, empty) != empty) emit emptyChanged();
    });
  }

  bool isEmpty() const override { return empty_; }
  QList<inspector::HandledKeys> handledKeys() const override {
    return {{{Qt::Key_Up, Qt::Key_Down}, "Show the previous or next heading"},
            {{Qt::Key_Return}, "Go to the heading's cell"}};
  }

 private:
  OutlineView* outline_;
  bool empty_;
};

}  // namespace

inspector::PanelDescriptor outlinePanel(NotebookView* notebook, Document* document) {
  inspector::PanelDescriptor panel;
  panel.id = "outline";
  panel.title = "Outline";
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_5);
  panel.tip = "The headings of the notebook";
  panel.places = {{inspector::workspace_write, {inspector::PanelPlace::Area::left, 0, 0, 0.18, 0.90}}};
  panel.minimum = QSize(140, 120);
  panel.create = [notebook, document](const inspector::PanelContext&) {
    return new OutlinePanel(notebook, document);
  };
  return panel;
}

}  // namespace tapedeck::app
