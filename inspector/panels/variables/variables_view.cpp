#include "inspector/panels/variables/variables_view.h"

#include <QAction>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/model/variables_model.h"
#include "inspector/model/watch_model.h"
#include "inspector/panels/variables/section.h"
#include "inspector/panels/variables/value_view.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::inspector {

VariablesView::VariablesView(Session* session, FramesModel* frames, WatchModel* watches, QWidget* parent)
    : Panel(parent),
      session_(session),
      frames_(frames),
      watches_(watches),
      model_(new VariablesModel(session, frames, this)),
      proxy_(new ValueFilter(model_, this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->setSpacing(4);
  place_ = new ElidingLabel(Qt::ElideRight, this);
  place_->setObjectName(QStringLiteral("variablesPlace"));
  layout->addWidget(place_);
  auto* parts = new QSplitter(Qt::Vertical, this);
  parts->setChildrenCollapsible(false);
  parts->addWidget(new Section(tr("Variables"), makeVariables()));
  parts->addWidget(new Section(tr("Watch"), makeWatches()));
  stackSection_ = new Section(tr("Call stack"), makeStack());
  parts->addWidget(stackSection_);
  for (const auto& [part, share] : {std::pair(0, 5), std::pair(1, 2), std::pair(2, 2)})
    parts->setStretchFactor(part, share);
  layout->addWidget(parts, 1);
  makeActions();
  setFocusProxy(table_);
  for (const auto signal : {&Session::statusChanged, &Session::cleared})
    connect(session, signal, this, &VariablesView::look);
  connect(session, &Session::liveChanged, this, &VariablesView::look);
  connect(frames, &FramesModel::placeChanged, this, &VariablesView::showPlace);
  connect(frames, &FramesModel::currentChanged, this, &VariablesView::showPlace);
  look();
  showPlace();
}

void VariablesView::connectTree(ValueTree* tree, ValueView* view) {
  connect(tree, &ValueTree::failed, this, &Panel::failed);
  connect(tree, &ValueTree::told, this, &Panel::done);
  QAction* add =
      addKeyedAction(view, tr("Watch it"), {Qt::Key_Insert}, tr("Follow this value from stop to stop"));
  connect(add, &QAction::triggered, this, [this, view] { watches_->add(view->currentExpression()); });
  view->addValueAction(add);
}

QWidget* VariablesView::makeVariables() {
  auto* part = new QWidget(this);
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  filter_ = new QLineEdit(part);
  filter_->setObjectName(QStringLiteral("variablesFilter"));
  filter_->setClearButtonEnabled(true);
  filter_->setPlaceholderText(tr("Filter by name, type, shape, value"));
  filter_->setAccessibleName(tr("Filter of the variables"));
  filter_->setToolTip(tr("Only variables in which every word occurs (Ctrl+F; Esc clears)"));
  connect(filter_, &QLineEdit::textChanged, proxy_, &ValueFilter::setText);
  column->addWidget(filter_);
  table_ = new ValueView(model_, proxy_, part);
  table_->setObjectName(QStringLiteral("variables"));
  table_->setAccessibleName(tr("Variables"));
  table_->setSortingEnabled(true);
  table_->sortByColumn(ValueTree::Name, Qt::AscendingOrder);
  column->addWidget(table_, 1);
  connectTree(model_, table_);
  connect(proxy_, &QAbstractItemModel::rowsInserted, this,
          [this](const QModelIndex& parent, int first, int last) {
            if (parent.isValid()) return;
            for (int row = first; row <= last; ++row) {
              table_->expand(proxy_->index(row, 0));
              table_->setFirstColumnSpanned(row, {}, true);
            }
          });
  return part;
}

QWidget* VariablesView::makeWatches() {
  auto* part = new QWidget(this);
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  watchTable_ = new ValueView(watches_, watches_, part);
  watchTable_->setObjectName(QStringLiteral("watches"));
  watchTable_->setAccessibleName(tr("Watch expressions"));
  column->addWidget(watchTable_, 1);
  watch_ = new QLineEdit(part);
  watch_->setObjectName(QStringLiteral("watchEdit"));
  watch_->setPlaceholderText(tr("Add an expression: it is code, which runs at each stop"));
  watch_->setAccessibleName(tr("New watch expression"));
  watch_->setToolTip(tr(
      "A Python expression, evaluated in the current frame at each stop and after each cell (Ctrl+Shift+E).\n"
      "It is code: what it changes is changed. Its ops are neither recorded nor stopped."));
  connect(watch_, &QLineEdit::returnPressed, this, [this] {
    watches_->add(watch_->text());
    watch_->clear();
  });
  column->addWidget(watch_);
  connectTree(watches_, watchTable_);
  QAction* remove = addKeyedAction(watchTable_, tr("Remove the expression"), {QKeySequence::Delete},
                                   tr("It is evaluated no longer"));
  connect(remove, &QAction::triggered, this, [this] {
    QModelIndex index = watchTable_->currentIndex();
    while (index.parent().isValid()) index = index.parent();
    if (index.isValid()) watches_->remove(index.row());
  });
  watchTable_->addValueAction(remove);
  panelActions_ << remove;
  return part;
}

QWidget* VariablesView::makeStack() {
  auto* part = new QWidget(this);
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  stack_ = new QListView(part);
  stack_->setObjectName(QStringLiteral("callStack"));
  stack_->setAccessibleName(tr("Call stack"));
  stack_->setModel(frames_);
  stack_->setUniformItemSizes(true);
  stack_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  column->addWidget(stack_, 1);
  moreFrames_ = new QPushButton(part);
  moreFrames_->setFlat(true);
  moreFrames_->setToolTip(tr("Fetch more frames (Space)"));
  connect(moreFrames_, &QPushButton::clicked, frames_, &FramesModel::fetchMoreFrames);
  column->addWidget(moreFrames_);
  connect(stack_->selectionModel(), &QItemSelectionModel::currentRowChanged, frames_,
          [this](const QModelIndex& index) {
            if (index.isValid()) frames_->setCurrent(index.row());
          });
  return part;
}

void VariablesView::makeActions() {
  const auto add = [this](QWidget* owner, const QString& text, const QKeySequence& key, const QString& tip,
                          auto act) {
    QAction* action = addKeyedAction(owner, text, {key}, tip);
    connect(action, &QAction::triggered, this, act);
    panelActions_ << action;
    return action;
  };
  add(this, tr("Filter"), QKeySequence::Find, tr("Type a filter"), [this] {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
  });
  QAction* code = add(this, tr("Functions, classes and modules, too"), Qt::CTRL | Qt::ALT | Qt::Key_F,
                      tr("List them among the variables"), [this](bool on) { proxy_->setShowsCode(on); });
  code->setCheckable(true);
  add(this, tr("New watch expression"), Qt::CTRL | Qt::SHIFT | Qt::Key_E, tr("Type an expression to follow"),
      [this] { watch_->setFocus(Qt::ShortcutFocusReason); });
  add(this, tr("Frame of the caller"), Qt::ALT | Qt::Key_PageDown, tr("One frame out in the call stack"),
      [this] { moveFrame(1); });
  add(this, tr("Frame that was called"), Qt::ALT | Qt::Key_PageUp, tr("One frame in, in the call stack"),
      [this] { moveFrame(-1); });
  auto* escape = new QShortcut(QKeySequence(Qt::Key_Escape), filter_, nullptr, nullptr, Qt::WidgetShortcut);
  connect(escape, &QShortcut::activated, this, [this] {
    filter_->clear();
    table_->setFocus();
  });
}

QList<QAction*> VariablesView::menuActions() const {
  return panelActions_ + table_->valueActions();
}

QList<HandledKeys> VariablesView::handledKeys() const {
  return {{{Qt::Key_Return}, tr("Edit a small value, unfold another, or load more rows")},
          {{Qt::Key_Left, Qt::Key_Right}, tr("Fold, unfold")}};
}

void VariablesView::moveFrame(int by) {
  const int row = frames_->current() + by;
  if (frames_->frame(row)) stack_->setCurrentIndex(frames_->index(row));
}

void VariablesView::look() {
  const bool empty = !session_->live() && frames_->placeText().isEmpty();
  if (std::exchange(empty_, empty) != empty) emit emptyChanged();
}

void VariablesView::showPlace() {
  look();
  place_->setText(frames_->placeText());
  place_->setVisible(!place_->text().isEmpty());
  stackSection_->setVisible(frames_->rowCount() > 0);
  const int more = frames_->total() - frames_->rowCount();
  moreFrames_->setVisible(more > 0);
  moreFrames_->setText(tr("… %1 more frames").arg(countText(static_cast<quint64>(std::max(more, 0)))));
  if (frames_->currentFrame() && stack_->currentIndex().row() != frames_->current())
    stack_->setCurrentIndex(frames_->index(frames_->current()));
}

void VariablesView::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  model_->setActive(true);
  watches_->setActive(true);
}

void VariablesView::hideEvent(QHideEvent* event) {
  Panel::hideEvent(event);
  model_->setActive(false);
  watches_->setActive(false);
}

}  // namespace tapedeck::inspector
