#include "inspector/panels/what_if/what_if_view.h"

#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QResizeEvent>
#include <QScrollArea>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/panels/what_if/change_form.h"
#include "inspector/panels/what_if/moved_text.h"
#include "inspector/panels/what_if/set_form.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/row_list.h"
#include "inspector/ui/segment_button.h"
#include "inspector/ui/text_button.h"
#include "inspector/ui/theme.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

namespace {

enum ChangeColumn { change_column, change_place, change_columns };
enum MovedColumn { op_column, place_column, movement_column, share_column, moved_columns };

constexpr int most_sentence_lines = 4, most_change_rows = 4;
constexpr int height_for_all = 420;  ///< below it the form has the panel for itself

}  // namespace

struct WhatIfView::Private {
  Private(WhatIfView* view, WhatIfActions& actions, CellNames& cells)
      : view(view), actions(actions), cells(cells) {}

  WhatIfView* view;
  WhatIfActions& actions;
  CellNames& cells;
  WhatIfModel* model = nullptr;
  QTreeWidget *changes = nullptr, *moved = nullptr;
  QScrollArea* formArea = nullptr;
  ChangeForm* form = nullptr;
  SetForm* setForm = nullptr;
  QLabel* sentence = nullptr;
  QScrollArea* sentenceArea = nullptr;  ///< what a branch leaves as it was may take some lines
  QAction *add = nullptr, *edit = nullptr, *remove = nullptr, *clear = nullptr, *show = nullptr,
          *cancel = nullptr, *stop = nullptr;
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
  QString sentenceText() const;
  void share();
};

// ---- made once

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
                        QStringLiteral("Type this change anew"));
  remove = addKeyedAction(changes, QStringLiteral("Remove the change"), {QKeySequence::Delete},
                          QStringLiteral("Take this change off the list"));
  clear = addKeyedAction(view, QStringLiteral("Remove all changes"), {Qt::ALT | Qt::SHIFT | Qt::Key_X},
                         QStringLiteral("Empty the list of changes"));
  show = addKeyedAction(moved, QStringLiteral("Show the result"), {Qt::Key_Return, Qt::Key_Enter},
                        QStringLiteral("Move the cursor to this op, and show its tensor"));
  show->setShortcutContext(Qt::WidgetShortcut);
  cancel = addKeyedAction(view, QStringLiteral("Cancel"), {Qt::Key_Escape},
                          QStringLiteral("Stop the replay, or close the form"));
  QObject::connect(add, &QAction::triggered, view, [this] { openForm(); });
  QObject::connect(edit, &QAction::triggered, view, [this] { openEditor(); });
  QObject::connect(remove, &QAction::triggered, view, [this] { removeChange(); });
  QObject::connect(clear, &QAction::triggered, model, &WhatIfModel::clear);
  QObject::connect(show, &QAction::triggered, view,
                   [this] { model->show(moved->indexOfTopLevelItem(moved->currentItem())); });
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
  sentenceArea->setAccessibleName(QStringLiteral("What came of the changes"));
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

// ---- the form

void WhatIfView::Private::openForm() {
  if (changesFor(model->subject()).isEmpty()) return;
  edited = -1;
  form->start(model->subject());
  showForm(form);
  // Where the panel comes up for it, that is not yet done.
  QMetaObject::invokeMethod(
      form, [this] { form->focusFirst(); }, Qt::QueuedConnection);
}

void WhatIfView::Private::openEditor() {
  const int row = changes->indexOfTopLevelItem(changes->currentItem());
  if (row < 0) return;
  edited = row;
  const BranchChange& change = model->changes()[static_cast<std::size_t>(row)];
  if (change.set) {
    setForm->edit(change);
    showForm(setForm);
    setForm->focusFirst();
    return;
  }
  form->edit(change);
  showForm(form);
  form->focusFirst();
}

void WhatIfView::Private::openSetForm() {
  edited = -1;
  setForm->start(model->subject().op);
  showForm(setForm);
  QMetaObject::invokeMethod(
      setForm, [this] { setForm->focusFirst(); }, Qt::QueuedConnection);
}

void WhatIfView::Private::showForm(QWidget* shown) {
  form->setVisible(shown == form);
  setForm->setVisible(shown == setForm);
  formArea->show();
  formArea->ensureVisible(0, 0);
  share();
}

void WhatIfView::Private::removeChange() {
  const int row = changes->indexOfTopLevelItem(changes->currentItem());
  if (row < 0) return;
  if (row == edited) closeForm();
  if (row < edited) --edited;  // the form is about the same change, one row up
  model->remove(row);
}

void WhatIfView::Private::closeForm() {
  edited = -1;
  const bool focused = formArea->isAncestorOf(view->focusWidget());
  formArea->hide();
  share();
  if (focused) changes->setFocus(Qt::OtherFocusReason);
}

void WhatIfView::Private::take(const BranchChange& change) {
  const int row = edited;
  closeForm();
  if (row < 0)
    model->add(change);
  else
    model->replace(row, change);
  changes->setCurrentItem(changes->topLevelItem(row < 0 ? changes->topLevelItemCount() - 1 : row));
}

// ---- what is shown

QString WhatIfView::Private::where(const std::string& cell, const std::string& file, std::uint32_t line,
                                   RecordNumber record) const {
  QString text = cell.empty() ? QFileInfo(QString::fromStdString(file)).fileName()
                              : cells.name(QString::fromStdString(cell), record);
  if (line) text += (text.isEmpty() ? QStringLiteral("line %1") : QStringLiteral(" line %1")).arg(line);
  return text;
}

void WhatIfView::Private::showChanges() {
  const int current = std::max(0, changes->indexOfTopLevelItem(changes->currentItem()));
  changes->clear();
  for (const BranchChange& change : model->changes()) {
    const protocol::Record& op = change.subject.op;
    const QString place = change.set  ? QStringLiteral("all that fit")
                          : op.number ? where(op.cell, op.file, op.line, op.number)
                                      : QString();
    auto* item = new QTreeWidgetItem(changes, {change.text, place});
    item->setToolTip(change_column,
                     plainTip(QStringLiteral("%1\nF2 edits it, Del removes it.").arg(change.text)));
  }
  if (const int count = changes->topLevelItemCount())
    changes->setCurrentItem(changes->topLevelItem(std::min(current, count - 1)));
  for (QAction* action : {edit, remove, clear}) action->setEnabled(changes->topLevelItemCount() > 0);
  add->setEnabled(actions.ask()->isEnabled());
  if (edited >= static_cast<int>(model->changes().size())) closeForm();
  if (!model->session()->live()) closeForm();
  share();
  emit view->emptyChanged();
}

QString WhatIfView::Private::sentenceText() const {
  if (model->replaying())
    return QStringLiteral("Replaying: %1. Cancel, or Esc in this panel, stops it.").arg(model->progress());
  if (!model->problem().isEmpty()) return QStringLiteral("✗ ") + model->problem();
  const protocol::Branched* answer = model->answer();
  if (!answer && model->changes().empty())
    return QStringLiteral(
        "Select an op, a tensor or an element, and choose “What if…” in its menu (F4): change it in the "
        "past, and replay what came of it. The session itself stays as it is.");
  if (!answer)
    return QStringLiteral("Replay (Shift+F4) runs what depends on the changes again, beside the original.");
  const QString sentence = answerText(*answer, actions.curves()->shortcut());
  return model->outdated()
             ? QStringLiteral("⚠ The changes are others by now: replay them. Before: %1").arg(sentence)
             : sentence;
}

void WhatIfView::Private::showAnswer() {
  sentence->setText(sentenceText());
  QPalette colours = view->palette();
  if (!model->replaying() && !model->problem().isEmpty())
    colours.setColor(QPalette::WindowText, Theme::fromPalette(colours).error.stroke);
  sentence->setPalette(colours);
  cancelButton->setVisible(model->replaying());
  const protocol::Branched* answer = model->answer();
  // Another look at the same branch leaves the row that the user is at.
  const quint64 branch = answer ? answer->branch : 0;
  const int row = branch == shownBranch ? std::max(0, moved->indexOfTopLevelItem(moved->currentItem())) : 0;
  shownBranch = branch;
  moved->clear();
  for (const protocol::Moved& one : answer ? answer->moved : std::vector<protocol::Moved>{}) {
    auto* item = new QTreeWidgetItem(
        moved, {QStringLiteral("%1 · op %2").arg(QString::fromStdString(one.op), countText(one.record)),
                where(one.cell, one.file, one.line, one.record), movementText(one), shareText(one)});
    item->setTextAlignment(share_column, Qt::AlignRight | Qt::AlignVCenter);
    const QString tip = QStringLiteral("%1: %2, moved by %3\nA click or Enter shows it.")
                            .arg(tensorText(one.tensor), movementText(one), shareText(one));
    for (int column = 0; column < moved_columns; ++column) item->setToolTip(column, plainTip(tip));
  }
  if (const int count = moved->topLevelItemCount())
    moved->setCurrentItem(moved->topLevelItem(std::min(row, count - 1)));
  show->setEnabled(moved->topLevelItemCount() > 0);
  share();
  emit view->emptyChanged();
}

/// The room among the parts: where it is little the form has it alone.
void WhatIfView::Private::share() {
  const bool filling = !formArea->isHidden();
  cancel->setEnabled(filling || model->replaying());  // else Esc leaves the panel
  const bool crowded = filling && view->height() < height_for_all;
  const int count = changes->topLevelItemCount();
  const int row = std::max(changes->sizeHintForRow(0), view->fontMetrics().height() + 2);
  changes->setFixedHeight(std::clamp(count, 1, most_change_rows) * row +
                          changes->header()->sizeHint().height() + 2 * changes->frameWidth());
  changes->setVisible(!crowded);  // also an empty one: it has the panel's focus
  sentenceArea->setVisible(!crowded && (!filling || model->answer() || !model->problem().isEmpty()));
  moved->setVisible(!crowded && moved->topLevelItemCount() > 0);
  auto* layout = static_cast<QVBoxLayout*>(view->layout());
  layout->setStretch(layout->count() - 1, filling || !moved->isHidden() ? 0 : 1);
  const int wanted =
      sentence->text().isEmpty() ? 0 : sentence->heightForWidth(std::max(100, view->width() - 16));
  const int lines = most_sentence_lines * sentence->fontMetrics().lineSpacing() + 8;
  sentenceArea->setFixedHeight(std::min(wanted, std::max(lines, view->height() / 3)));
}

WhatIfView::WhatIfView(WhatIfActions& actions, CellNames& cells, QWidget* parent)
    : Panel(parent), d_(std::make_unique<Private>(this, actions, cells)) {
  d_->model = actions.model();
  d_->changes = d_->makeTable("whatIfChanges", QStringLiteral("Changes of the branch"),
                              {QStringLiteral("Change"), QStringLiteral("Where")}, change_column);
  d_->moved = d_->makeTable("whatIfMoved", QStringLiteral("Results that moved"),
                            {QStringLiteral("Result of"), QStringLiteral("Where"),
                             QStringLiteral("Before → after"), QStringLiteral("Moved by")},
                            place_column);
  d_->moved->headerItem()->setToolTip(movement_column,
                                      QStringLiteral("A single number, or the norm ‖…‖ of several elements"));
  d_->moved->headerItem()->setToolTip(share_column,
                                      QStringLiteral("‖branch − original‖ in shares of ‖original‖"));
  d_->makeForm();
  d_->makeActions();
  d_->sentence = plainLabel(this);
  d_->sentence->setObjectName(QStringLiteral("whatIfSentence"));
  d_->sentence->setWordWrap(true);
  d_->sentence->setTextFormat(Qt::PlainText);
  d_->sentence->setTextInteractionFlags(Qt::TextSelectableByMouse);
  d_->sentence->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  d_->sentence->setContentsMargins(8, 2, 8, 4);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  d_->makeBar(layout);
  layout->addWidget(d_->changes);
  layout->addWidget(d_->formArea, 1);
  layout->addWidget(d_->makeSentenceArea());
  layout->addWidget(d_->moved, 1);
  layout->addStretch(0);
  setFocusProxy(d_->changes);
  d_->connectAll();
  d_->showChanges();
  d_->showAnswer();
}

WhatIfView::~WhatIfView() = default;

bool WhatIfView::isEmpty() const {
  return d_->model->changes().empty() && !d_->model->answer() && d_->formArea->isHidden();
}

QList<QAction*> WhatIfView::menuActions() const {
  return {d_->add, d_->edit, d_->remove, d_->clear, d_->show, d_->cancel};
}

QTreeWidget* WhatIfView::changes() const {
  return d_->changes;
}
QTreeWidget* WhatIfView::moved() const {
  return d_->moved;
}
QLabel* WhatIfView::sentence() const {
  return d_->sentence;
}
ChangeForm* WhatIfView::form() const {
  return d_->form;
}
SetForm* WhatIfView::setForm() const {
  return d_->setForm;
}

void WhatIfView::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  d_->share();
}

void WhatIfView::changeEvent(QEvent* event) {
  Panel::changeEvent(event);
  if (!d_ || !d_->sentence || !d_->cancelButton) return;
  if (event->type() == QEvent::PaletteChange) d_->showAnswer();
  if (event->type() == QEvent::FontChange) d_->share();
}

}  // namespace tapedeck::inspector
