// What WhatIfView's files share.
#pragma once

#include <QScrollArea>
#include <QToolButton>
#include <QTreeWidget>

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/what_if/change_form.h"
#include "inspector/panels/what_if/set_form.h"
#include "inspector/panels/what_if/what_if_view.h"

class QVBoxLayout;

namespace tapedeck::inspector {

struct WhatIfView::Private {
  Private(WhatIfView* view, WhatIfActions& actions, CellNames& cells)
      : view(view), actions(actions), cells(cells) {}

  WhatIfView* view;
  WhatIfActions& actions;
  CellNames& cells;
  WhatIfModel* model = nullptr;
  QTreeWidget *changes = nullptr, *moved = nullptr;
  QTreeWidget* reads = nullptr;  ///< what stays as recorded, because Python is not run again
  QScrollArea* formArea = nullptr;
  ChangeForm* form = nullptr;
  SetForm* setForm = nullptr;
  QLabel* sentence = nullptr;
  QScrollArea* sentenceArea = nullptr;  ///< the notes on what a branch leaves unchanged may take some lines
  QAction *add = nullptr, *edit = nullptr, *remove = nullptr, *clear = nullptr, *show = nullptr,
          *showRead = nullptr, *cancel = nullptr, *stop = nullptr;
  QToolButton* cancelButton = nullptr;
  quint64 shownBranch = 0;
  int edited = -1;  ///< which change the form is about; -1: a new one

  // ---- made once
  QToolButton* addButton(QLayout* bar, QAction* action, const QString& text);
  void makeBar(QVBoxLayout* layout);
  void makeLooks(QLayout* bar);
  QTreeWidget* makeTable(const char* name, const QString& accessible, const QStringList& titles, int wide);
  void makeActions();
  void makeForm();
  QScrollArea* makeSentenceArea();
  void connectAll();
  // ---- the form
  void openForm();
  void openSetForm();
  void openEditor();
  void showForm(QWidget* shown);
  void removeChange();
  void closeForm();
  void take(const BranchChange& change);
  // ---- what is shown
  QString where(const std::string& cell, const std::string& file, std::uint32_t line,
                RecordNumber record) const;
  void showChanges();
  void showAnswer();
  void showMoved(const protocol::Branched& answer);
  void showReads(const protocol::Branched& answer);
  QString sentenceText() const;
  void share();
};

}  // namespace tapedeck::inspector
