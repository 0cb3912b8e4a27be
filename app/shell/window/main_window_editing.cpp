// Find and replace, the command palette, and what helps while one types.
#include <QSettings>

#include "app/notebook/find/find_bar.h"
#include "app/shell/window/command_palette.h"
#include "app/shell/window/main_window.h"

namespace tapedeck::app {

void MainWindow::connectEditing() {
  const auto on = [this](const char* id, auto&& act) {
    connect((*actions_)[id], &QAction::triggered, this, std::forward<decltype(act)>(act));
  };
  on("edit.find", [this] { find_->open(false); });
  on("edit.replace", [this] { find_->open(true); });
  on("edit.find_next", [this] { find_->step(1); });
  on("edit.find_previous", [this] { find_->step(-1); });
  // In panels that have a filter, these go there.
  actions_->keepWithin(notebookPage_, {"edit.find", "edit.find_next", "edit.find_previous"});

  palette_ = new CommandPalette(this, [this](const QAction*) {
    return onStartPage_ ? QString("it needs an open notebook") : QString();
  });
  on("view.palette", [this] { palette_->open(); });

  connect(notebook_, &NotebookView::told, this, &MainWindow::tell);
  // A session that is busy answers when it is done: what is typed meanwhile is completed from the notebook.
  connect(notebook_, &NotebookView::completionWhileTyping, this,
          [this](quint64 request, const QString& code, int cursorPosition) {
            if (kernel_->state() == KernelState::idle) kernel_->complete(request, code, cursorPosition);
          });
  const struct {
    const char *id, *setting;
    void (NotebookView::*apply)(bool);
  } aids[] = {{"edit.wrap_code", "editor/wrapCode", &NotebookView::setWrapsCode},
              {"edit.close_brackets", "editor/closeBrackets", &NotebookView::setClosesBrackets},
              {"edit.complete_typing", "editor/completeWhileTyping", &NotebookView::setCompletesWhileTyping}};
  for (const auto& aid : aids) {
    const bool set = QSettings().value(aid.setting, true).toBool();
    (*actions_)[aid.id]->setChecked(set);
    (notebook_->*aid.apply)(set);
    on(aid.id, [this, aid](bool checked) {
      QSettings().setValue(aid.setting, checked);
      (notebook_->*aid.apply)(checked);
    });
  }
}

}  // namespace tapedeck::app
