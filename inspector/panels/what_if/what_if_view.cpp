#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QResizeEvent>
#include <QScrollBar>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/panels/what_if/moved_text.h"
#include "inspector/panels/what_if/what_if_view_private.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

enum ChangeColumn { change_column, change_place, change_columns };
enum ReadColumn { taken_column, taken_place_column, taken_value_column, link_column, read_columns };
enum MovedColumn { op_column, place_column, movement_column, share_column, moved_columns };

constexpr int most_sentence_lines = 4, most_change_rows = 4, most_read_rows = 3;
constexpr int height_for_all = 420;  ///< below it the form has the panel for itself

}  // namespace

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
        "past, and replay what followed from it. The session itself is not changed.");
  if (!answer)
    return QStringLiteral("Replay (Shift+F4) runs what depends on the changes again, beside the original.");
  const QString sentence = answerText(*answer, actions.curves()->shortcut());
  return model->outdated()
             ? QStringLiteral("⚠ The changes were edited after the replay: replay them. Before: %1")
                   .arg(sentence)
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
  const protocol::Branched& made = answer ? *answer : protocol::Branched();
  showMoved(made);
  showReads(made);
  if (const int count = moved->topLevelItemCount())
    moved->setCurrentItem(moved->topLevelItem(std::min(row, count - 1)));
  show->setEnabled(moved->topLevelItemCount() > 0);
  share();
  emit view->emptyChanged();
}

void WhatIfView::Private::showMoved(const protocol::Branched& answer) {
  moved->clear();
  for (const protocol::Moved& one : answer.moved) {
    auto* item = new QTreeWidgetItem(
        moved, {QStringLiteral("%1 · op %2").arg(QString::fromStdString(one.op), countText(one.record)),
                where(one.cell, one.file, one.line, one.record), movementText(one), shareText(one)});
    item->setTextAlignment(share_column, Qt::AlignRight | Qt::AlignVCenter);
    const QString tip = QStringLiteral("%1: %2, moved by %3\nA click or Enter shows it.")
                            .arg(tensorText(one.tensor), movementText(one), shareText(one));
    for (int column = 0; column < moved_columns; ++column) item->setToolTip(column, plainTip(tip));
  }
}

void WhatIfView::Private::showReads(const protocol::Branched& answer) {
  const int row = std::max(0, reads->indexOfTopLevelItem(reads->currentItem()));
  reads->clear();
  for (const protocol::ReadUse& use : answer.reads) {
    const QString op = QString::fromStdString(use.op);
    const QString count =
        use.ops == 1 ? QStringLiteral("op %1").arg(countText(use.record))
                     : QStringLiteral("%1 ops from op %2 on").arg(countText(use.ops), countText(use.record));
    auto* item = new QTreeWidgetItem(
        reads, {QStringLiteral("%1 of %2 · %3").arg(readSubject(use), op, count),
                where(use.cell, use.file, use.line, use.record), readValues(use), readLink(use)});
    const QString tip =
        QStringLiteral("%1: %2.\nA click or Enter shows the op.").arg(readValues(use), readSentence(use));
    for (int column = 0; column < read_columns; ++column) item->setToolTip(column, plainTip(tip));
  }
  const int count = reads->topLevelItemCount();
  if (count > 0) reads->setCurrentItem(reads->topLevelItem(std::min(row, count - 1)));
  showRead->setEnabled(count > 0);
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
  const int taken = reads->topLevelItemCount();
  reads->setVisible(!crowded && taken > 0);
  auto* layout = static_cast<QVBoxLayout*>(view->layout());
  layout->setStretch(layout->count() - 1, filling || !moved->isHidden() ? 0 : 1);
  const int wanted =
      sentence->text().isEmpty() ? 0 : sentence->heightForWidth(std::max(100, view->width() - 16));
  const int line = sentence->fontMetrics().lineSpacing();
  const int bar = layout->itemAt(0)->heightForWidth(view->width());
  moved->setMinimumHeight(moved->header()->sizeHint().height() + row + 8);
  int room = view->height() - bar - changes->height() - 5 * layout->spacing() -
             (moved->isHidden() ? 0 : moved->minimumHeight());
  // Where there is little room, of each part that much remains that it can be scrolled.
  if (!reads->isHidden()) {
    const bool wide = reads->header()->length() > view->width() - 2 * reads->frameWidth();
    const int around = reads->header()->sizeHint().height() + 2 * reads->frameWidth() +
                       (wide ? reads->horizontalScrollBar()->sizeHint().height() : 0);
    const int all = around + std::min(taken, most_read_rows) * row;
    reads->setFixedHeight(std::clamp(room - 2 * line, around + row, all));
    room -= reads->height();
  }
  sentenceArea->setFixedHeight(std::min(
      wanted, std::clamp(room, line + 6, std::max(most_sentence_lines * line + 8, view->height() / 3))));
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
  d_->reads =
      d_->makeTable("whatIfReads", QStringLiteral("Ops that stay as recorded, for Python is not run again"),
                    {QStringLiteral("Stays as recorded"), QStringLiteral("Where"), QStringLiteral("Value"),
                     QStringLiteral("Depends on the change")},
                    taken_place_column);
  d_->reads->headerItem()->setToolTip(
      link_column, QStringLiteral("Whether it was made of what Python read of a changed value"));
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
  layout->addWidget(d_->reads);
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
  return {d_->add, d_->edit, d_->remove, d_->clear, d_->show, d_->showRead, d_->cancel};
}

QTreeWidget* WhatIfView::changes() const {
  return d_->changes;
}
QTreeWidget* WhatIfView::moved() const {
  return d_->moved;
}
QTreeWidget* WhatIfView::reads() const {
  return d_->reads;
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
