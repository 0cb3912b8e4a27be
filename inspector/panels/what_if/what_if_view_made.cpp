// The parts of What if, and what happens when the user asks for it.
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "inspector/panels/what_if/what_if_view_private.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/row_list.h"
#include "inspector/ui/segment_button.h"
#include "inspector/ui/text_button.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

QToolButton* WhatIfView::Private::addButton(QLayout* bar, QAction* action, const QString& text) {
  return addTextButton(bar, action, text, view);
}

void WhatIfView::Private::makeLooks(QLayout* bar) {
  auto* group = new QWidget(view);
  auto* row = new QHBoxLayout(group);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  const QString texts[] = {QStringLiteral("Original"), QStringLiteral("Branch"),
                           QStringLiteral("Difference")};
  for (int i = 0; i < actions.looks().size(); ++i) {
    auto* button = new SegmentButton(view);
    QAction* action = actions.looks()[i];
    button->setDefaultAction(action);
    button->setText(texts[i]);
    QObject::connect(action, &QAction::changed, button, [button, text = texts[i]] { button->setText(text); });
    row->addWidget(button);
  }
  bar->addWidget(group);
}

void WhatIfView::Private::makeBar(QVBoxLayout* layout) {
  auto* bar = new WrappingLayout(nullptr);
  bar->setContentsMargins(4, 2, 4, 0);
  bar->setSpacing(4);
  addButton(bar, add, QStringLiteral("Add…"))->setObjectName(QStringLiteral("whatIfAdd"));
  addButton(bar, actions.askSet(), QStringLiteral("Add a set…"))
      ->setObjectName(QStringLiteral("whatIfAddSet"));
  addButton(bar, edit, QStringLiteral("Edit"));
  addButton(bar, remove, QStringLiteral("Remove"));
  addButton(bar, actions.replay(), QStringLiteral("Replay"))->setObjectName(QStringLiteral("whatIfReplay"));
  cancelButton = addButton(bar, stop, QStringLiteral("Cancel"));
  cancelButton->setObjectName(QStringLiteral("whatIfCancel"));
  makeLooks(bar);
  addButton(bar, actions.curves(), QStringLiteral("Curves"))->setObjectName(QStringLiteral("whatIfCurves"));
  addButton(bar, actions.takeOver(), QStringLiteral("Take over"))
      ->setObjectName(QStringLiteral("whatIfTakeOver"));
  layout->addLayout(bar);
}

QTreeWidget* WhatIfView::Private::makeTable(const char* name, const QString& accessible,
                                            const QStringList& titles, int wide) {
  QTreeWidget* table = makeRowList(view, QLatin1String(name), accessible, titles);
  stretchColumn(table, wide);
  table->setContextMenuPolicy(Qt::ActionsContextMenu);
  return table;
}

void WhatIfView::Private::makeActions() {
  add = addKeyedAction(view, QStringLiteral("Add a change…"), {Qt::ALT | Qt::SHIFT | Qt::Key_A},
                       QStringLiteral("Change the op at the cursor, or the tensor that is shown"));
  edit = addKeyedAction(changes, QStringLiteral("Edit the change"), {Qt::Key_F2},
                        QStringLiteral("Edit this change"));
  remove = addKeyedAction(changes, QStringLiteral("Remove the change"), {QKeySequence::Delete},
                          QStringLiteral("Remove this change from the list"));
  clear = addKeyedAction(view, QStringLiteral("Remove all changes"), {Qt::ALT | Qt::SHIFT | Qt::Key_X},
                         QStringLiteral("Empty the list of changes"));
  show = addKeyedAction(moved, QStringLiteral("Show the result"), {Qt::Key_Return, Qt::Key_Enter},
                        QStringLiteral("Move the cursor to this op, and show its tensor"));
  show->setShortcutContext(Qt::WidgetShortcut);
  showRead = addKeyedAction(reads, QStringLiteral("Show the op that stays as recorded"),
                            {Qt::Key_Return, Qt::Key_Enter},
                            QStringLiteral("Move the cursor to the first of these ops"));
  showRead->setShortcutContext(Qt::WidgetShortcut);
  cancel = addKeyedAction(view, QStringLiteral("Cancel"), {Qt::Key_Escape},
                          QStringLiteral("Stop the replay, or close the form"));
  QObject::connect(add, &QAction::triggered, view, [this] { openForm(); });
  QObject::connect(edit, &QAction::triggered, view, [this] { openEditor(); });
  QObject::connect(remove, &QAction::triggered, view, [this] { removeChange(); });
  QObject::connect(clear, &QAction::triggered, model, &WhatIfModel::clear);
  QObject::connect(show, &QAction::triggered, view,
                   [this] { model->show(moved->indexOfTopLevelItem(moved->currentItem())); });
  QObject::connect(showRead, &QAction::triggered, view,
                   [this] { model->showRead(reads->indexOfTopLevelItem(reads->currentItem())); });
  stop = new QAction(QStringLiteral("Cancel"), view);
  stop->setToolTip(QStringLiteral("Stop the replay (Esc)"));
  QObject::connect(stop, &QAction::triggered, model, &WhatIfModel::cancel);
  // Where the user types, Esc is about what is typed.
  QObject::connect(cancel, &QAction::triggered, view, [this] {
    const bool typing = formArea->isAncestorOf(view->focusWidget());
    if (!formArea->isHidden() && (typing || !model->replaying()))
      closeForm();
    else
      model->cancel();
  });
}

void WhatIfView::Private::makeForm() {
  form = new ChangeForm;
  setForm = new SetForm(*model->session());
  auto* forms = new QWidget;
  auto* layout = new QVBoxLayout(forms);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(form);
  layout->addWidget(setForm);
  layout->addStretch(1);
  formArea = new QScrollArea(view);
  formArea->setWidget(forms);
  formArea->setWidgetResizable(true);
  formArea->setFrameShape(QFrame::NoFrame);
  formArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  formArea->setFocusPolicy(Qt::NoFocus);
  formArea->hide();
  QObject::connect(form, &ChangeForm::done, view, [this](const BranchChange& change) { take(change); });
  QObject::connect(form, &ChangeForm::closed, view, [this] { closeForm(); });
  QObject::connect(setForm, &SetForm::done, view, [this](const BranchChange& change) { take(change); });
  QObject::connect(setForm, &SetForm::closed, view, [this] { closeForm(); });
}

QScrollArea* WhatIfView::Private::makeSentenceArea() {
  sentenceArea = new QScrollArea(view);
  sentenceArea->setObjectName(QStringLiteral("whatIfSentenceArea"));
  sentenceArea->setAccessibleName(QStringLiteral("Results of the changes"));
  sentenceArea->setWidget(sentence);
  sentenceArea->setWidgetResizable(true);
  sentenceArea->setFrameShape(QFrame::NoFrame);
  sentenceArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  sentenceArea->viewport()->setAutoFillBackground(false);
  sentence->setAutoFillBackground(false);
  return sentenceArea;
}

void WhatIfView::Private::connectAll() {
  QObject::connect(changes, &QTreeWidget::itemDoubleClicked, view, [this] { openEditor(); });
  QObject::connect(moved, &QTreeWidget::itemClicked, view,
                   [this](QTreeWidgetItem* item) { model->show(moved->indexOfTopLevelItem(item)); });
  QObject::connect(reads, &QTreeWidget::itemClicked, view,
                   [this](QTreeWidgetItem* item) { model->showRead(reads->indexOfTopLevelItem(item)); });
  QObject::connect(model, &WhatIfModel::changesChanged, view, [this] { showChanges(); });
  QObject::connect(model, &WhatIfModel::changed, view, [this] { showAnswer(); });
  QObject::connect(model, &WhatIfModel::subjectChanged, view, [this] {
    add->setEnabled(actions.ask()->isEnabled());
    if (!formArea->isHidden() && !form->isHidden() && edited < 0 && form->untouched() &&
        !changesFor(model->subject()).isEmpty())
      form->start(model->subject());
  });
  QObject::connect(model, &WhatIfModel::told, view, &Panel::done);
  QObject::connect(&actions, &WhatIfActions::asked, view, [this] { openForm(); });
  QObject::connect(&actions, &WhatIfActions::askedForSet, view, [this] { openSetForm(); });
  QObject::connect(&cells, &CellNames::changed, view, [this] {
    showChanges();
    showAnswer();
  });
}

}  // namespace tapedeck::inspector
