#include "inspector/panels/variables/variables_view.h"

#include <QAction>
#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/model/variables/variables_model.h"
#include "inspector/model/variables/watch_model.h"
#include "inspector/panels/variables/value_view.h"
#include "inspector/ui/clear_by_escape.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/text_button.h"

namespace tapedeck::inspector {

VariablesView::VariablesView(Session& session, FramesModel& frames, WatchModel& watches, QWidget* parent)
    : Panel(parent),
      session_(session),
      frames_(frames),
      watches_(watches),
      model_(new VariablesModel(&session, &frames, this)),
      proxy_(new ValueFilter(model_, this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->setSpacing(4);
  auto* top = new QHBoxLayout;
  place_ = new ElidingLabel(Qt::ElideRight, this);
  place_->setObjectName(QStringLiteral("variablesPlace"));
  top->addWidget(place_, 1);
  makeVariables();
  top->addWidget(filter_);
  layout->addLayout(top);
  layout->addWidget(table_, 1);
  makeWatches();
  makeOffer();
  layout->addWidget(offer_);
  layout->addWidget(watchTable_);
  layout->addWidget(watch_);
  makeStack();
  layout->addWidget(stackTitle_);
  layout->addWidget(stack_);
  layout->addWidget(moreFrames_);
  makeActions();
  setFocusProxy(table_);
  for (const auto signal : {&Session::statusChanged, &Session::cleared})
    connect(&session, signal, this, &VariablesView::look);
  connect(&session, &Session::liveChanged, this, &VariablesView::look);
  connect(&frames, &FramesModel::placeChanged, this, &VariablesView::showPlace);
  connect(&frames, &FramesModel::currentChanged, this, &VariablesView::showPlace);
  look();
  showPlace();
}

void VariablesView::connectTree(ValueTree* tree) {
  connect(tree, &ValueTree::failed, this, &Panel::failed);
  connect(tree, &ValueTree::told, this, &Panel::done);
}

void VariablesView::makeVariables() {
  filter_ = new QLineEdit(this);
  filter_->setObjectName(QStringLiteral("variablesFilter"));
  filter_->setClearButtonEnabled(true);
  filter_->setPlaceholderText(QStringLiteral("Filter"));
  followFont(filter_,
             [line = filter_] { line->setMaximumWidth(line->fontMetrics().averageCharWidth() * 24); });
  filter_->setAccessibleName(QStringLiteral("Filter of the variables"));
  filter_->setToolTip(QStringLiteral(
      "Only variables in whose name, type, shape, dtype or value every word occurs (Ctrl+F; Esc clears)"));
  connect(filter_, &QLineEdit::textChanged, proxy_, &ValueFilter::setText);
  table_ = new ValueView(model_, proxy_, this);
  table_->setObjectName(QStringLiteral("variables"));
  table_->setAccessibleName(QStringLiteral("Variables"));
  table_->setSortingEnabled(true);
  table_->sortByColumn(ValueTree::Name, Qt::AscendingOrder);
  connectTree(model_);
  connect(proxy_, &QAbstractItemModel::rowsInserted, this,
          [this](const QModelIndex& parent, int first, int last) {
            if (parent.isValid()) return;
            for (int row = first; row <= last; ++row) {
              table_->expand(proxy_->index(row, 0));
              table_->setFirstColumnSpanned(row, {}, true);
            }
          });
}

void VariablesView::makeWatches() {
  watchTable_ = new ValueView(&watches_, &watches_, this);
  watchTable_->setObjectName(QStringLiteral("watches"));
  watchTable_->setAccessibleName(QStringLiteral("Watch expressions"));
  watchTable_->setHeaderHidden(true);
  watch_ = new QLineEdit(this);
  watch_->setObjectName(QStringLiteral("watchEdit"));
  watch_->setPlaceholderText(QStringLiteral("Watch an expression: code that runs at each stop"));
  watch_->setAccessibleName(QStringLiteral("New watch expression"));
  watch_->setToolTip(QStringLiteral(
      "A Python expression, evaluated in the current frame at each stop and after each cell (Ctrl+Shift+E).\n"
      "It leaves variables, names, lists and layers unchanged, but not files, array contents or objects of\n"
      "your own classes. Its ops are neither recorded nor stopped."));
  connect(watch_, &QLineEdit::returnPressed, this, [this] {
    watches_.add(watch_->text());
    watch_->clear();
  });
  connectTree(&watches_);
  for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved})
    connect(&watches_, signal, this, &VariablesView::fit);
  connect(watchTable_, &QTreeView::expanded, this, &VariablesView::fit);
  connect(watchTable_, &QTreeView::collapsed, this, &VariablesView::fit);
}

void VariablesView::makeOffer() {
  offer_ = new QWidget(this);
  auto* rows = new QVBoxLayout(offer_);  // one above the other: what is accepted must be seen
  rows->setContentsMargins(0, 0, 0, 0);
  offerText_ = new ElidingLabel(Qt::ElideRight, offer_);
  offerText_->setObjectName(QStringLiteral("watchOffer"));
  rows->addWidget(offerText_);
  auto* bar = new QHBoxLayout;
  bar->addStretch(1);
  rows->addLayout(bar);
  QAction* accept =
      addPanelAction(this, QStringLiteral("Accept the file's watch expressions"), Qt::ALT | Qt::Key_Return,
                     QStringLiteral("They are code, and run at each stop and after each cell"),
                     [this] { watches_.accept(); });
  QAction* discard =
      addPanelAction(this, QStringLiteral("Discard the file's watch expressions"), Qt::ALT | Qt::Key_Delete,
                     QStringLiteral("They never run"), [this] { watches_.discard(); });
  accept_ = addTextButton(bar, accept, QStringLiteral("Accept"), offer_);
  discard_ = addTextButton(bar, discard, QStringLiteral("Discard"), offer_);
  for (QToolButton* button : {accept_, discard_}) button->setFocusPolicy(Qt::StrongFocus);
  connect(&watches_, &WatchModel::waitingChanged, this, [this, accept, discard] {
    for (QAction* action : {accept, discard}) action->setEnabled(!watches_.waiting().isEmpty());
    showOffer();
  });
  for (QAction* action : {accept, discard}) action->setEnabled(!watches_.waiting().isEmpty());
  showOffer();
}

void VariablesView::showOffer() {
  QStringList waiting = watches_.waiting();
  for (QString& expression : waiting) expression = expression.simplified();
  offerText_->setText(QStringLiteral("In the file, not running: %1").arg(waiting.join(QStringLiteral(", "))));
  // The buttons go, and with them the keyboard's focus.
  const bool focused = offer_->isAncestorOf(QApplication::focusWidget());
  offer_->setVisible(!waiting.isEmpty());
  if (focused && waiting.isEmpty()) table_->setFocus();
}

void VariablesView::makeStack() {
  stackTitle_ = plainLabel(QStringLiteral("Call stack"), this);
  stack_ = new QListView(this);
  stack_->setObjectName(QStringLiteral("callStack"));
  stack_->setAccessibleName(QStringLiteral("Call stack"));
  stack_->setModel(&frames_);
  stack_->setUniformItemSizes(true);
  stack_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  moreFrames_ = new QPushButton(this);
  moreFrames_->setFlat(true);
  moreFrames_->setToolTip(QStringLiteral("Fetch more frames (Space)"));
  connect(moreFrames_, &QPushButton::clicked, &frames_, &FramesModel::fetchMoreFrames);
  connect(stack_->selectionModel(), &QItemSelectionModel::currentRowChanged, &frames_,
          [this](const QModelIndex& index) {
            if (index.isValid()) frames_.setCurrent(index.row());
          });
}

/// The variables get the room that watches and stack do not need; each of those at most a fourth of all.
void VariablesView::fit() {
  const int line = fontMetrics().height() + 4;
  const int most = std::max(3, height() / 4 / line);
  int watched = 0;
  for (QModelIndex at = watches_.index(0, 0); at.isValid() && watched < most; ++watched)
    at = watchTable_->indexBelow(at);
  watchTable_->setVisible(watched > 0);
  const int scrollBar = watchTable_->horizontalScrollBar()->sizeHint().height();
  watchTable_->setFixedHeight(watched * line + scrollBar + 4);
  const int frames = std::min(frames_.rowCount(), most);
  for (QWidget* part : std::initializer_list<QWidget*>{stackTitle_, stack_}) part->setVisible(frames > 0);
  stack_->setFixedHeight(frames * line + 4);
}

QAction* VariablesView::addPanelAction(QWidget* owner, const QString& text, const QKeySequence& key,
                                       const QString& tip, const std::function<void()>& act) {
  QAction* action = addKeyedAction(owner, text, {key}, tip);
  connect(action, &QAction::triggered, this, act);
  panelActions_ << action;
  return action;
}

ValueView* VariablesView::focusedTable() const {
  return watchTable_->hasFocus() ? watchTable_ : table_;
}

void VariablesView::makeValueActions() {
  QList<QAction*> menu;
  menu << addPanelAction(this, QStringLiteral("Show in Tensor"), Qt::CTRL | Qt::Key_T,
                         QStringLiteral("Show the tensor's or array's numbers"),
                         [this] { focusedTable()->showCurrent(); });
  menu << addPanelAction(this, QStringLiteral("Edit value"), Qt::Key_F2,
                         QStringLiteral("Type another value; the program goes on with it"),
                         [this] { focusedTable()->editCurrent(); });
  menu << addPanelAction(this, QStringLiteral("Copy value"), QKeySequence::Copy,
                         QStringLiteral("The value as text"), [this] { focusedTable()->copyValue(); });
  menu << addPanelAction(this, QStringLiteral("Copy expression"), Qt::CTRL | Qt::SHIFT | Qt::Key_C,
                         QStringLiteral("What Python calls the value"),
                         [this] { focusedTable()->copyExpression(); });
  menu << addPanelAction(this, QStringLiteral("Watch it"), Qt::Key_Insert,
                         QStringLiteral("Follow this value from stop to stop"),
                         [this] { watches_.add(focusedTable()->currentExpression()); });
  table_->setMenu(menu);
  menu << addPanelAction(watchTable_, QStringLiteral("Remove the expression"), QKeySequence::Delete,
                         QStringLiteral("Stop evaluating it"), [this] {
                           QModelIndex index = watchTable_->currentIndex();
                           while (index.parent().isValid()) index = index.parent();
                           if (index.isValid()) watches_.remove(index.row());
                         });
  watchTable_->setMenu(menu);
}

void VariablesView::makeActions() {
  addPanelAction(this, QStringLiteral("Filter"), QKeySequence::Find, QStringLiteral("Type a filter"), [this] {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
  });
  QAction* code =
      addKeyedAction(this, QStringLiteral("Functions, classes and modules, too"),
                     {Qt::CTRL | Qt::ALT | Qt::Key_F}, QStringLiteral("List them among the variables"));
  code->setCheckable(true);
  connect(code, &QAction::toggled, proxy_, &ValueFilter::setShowsCode);
  panelActions_ << code;
  addPanelAction(this, QStringLiteral("New watch expression"), Qt::CTRL | Qt::SHIFT | Qt::Key_E,
                 QStringLiteral("Type an expression to follow"),
                 [this] { watch_->setFocus(Qt::ShortcutFocusReason); });
  addPanelAction(this, QStringLiteral("Frame of the caller"), Qt::ALT | Qt::Key_PageDown,
                 QStringLiteral("One frame out in the call stack"), [this] { moveFrame(1); });
  addPanelAction(this, QStringLiteral("Frame that was called"), Qt::ALT | Qt::Key_PageUp,
                 QStringLiteral("One frame in, in the call stack"), [this] { moveFrame(-1); });
  makeValueActions();
  clearByEscape(filter_, this, [this] {
    filter_->clear();
    table_->setFocus();
  });
}

QList<HandledKeys> VariablesView::handledKeys() const {
  return {{{Qt::Key_Return}, QStringLiteral("Edit a small value, unfold another, or load more rows")},
          {{Qt::Key_Left, Qt::Key_Right}, QStringLiteral("Fold, unfold")}};
}

void VariablesView::moveFrame(int by) {
  const int row = frames_.current() + by;
  if (frames_.frame(row)) stack_->setCurrentIndex(frames_.index(row));
}

void VariablesView::look() {
  const bool empty = !session_.live() && frames_.placeText().isEmpty();
  if (std::exchange(empty_, empty) != empty) emit emptyChanged();
}

void VariablesView::showPlace() {
  look();
  place_->setText(frames_.placeText());
  place_->setVisible(!place_->text().isEmpty());
  const QString noted = frames_.notedText();
  stackTitle_->setText(noted.isEmpty() ? QStringLiteral("Call stack")
                                       : QStringLiteral("Call stack · %1").arg(noted));
  const int more = frames_.total() - frames_.rowCount();
  moreFrames_->setVisible(more > 0);
  moreFrames_->setText(
      QStringLiteral("… %1 more frames").arg(countText(static_cast<quint64>(std::max(more, 0)))));
  if (frames_.currentFrame() && stack_->currentIndex().row() != frames_.current())
    stack_->setCurrentIndex(frames_.index(frames_.current()));
  fit();
}

void VariablesView::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  fit();
}

void VariablesView::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  model_->setActive(true);
  watches_.setActive(true);
}

void VariablesView::hideEvent(QHideEvent* event) {
  Panel::hideEvent(event);
  model_->setActive(false);
  watches_.setActive(false);
}

}  // namespace tapedeck::inspector
