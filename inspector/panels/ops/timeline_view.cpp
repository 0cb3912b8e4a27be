#include "inspector/panels/ops/timeline_view.h"

#include <QtWidgets>

#include "engine/protocol/record_filter.h"
#include "inspector/model/format.h"
#include "inspector/panels/branch_strip.h"
#include "inspector/panels/condition_edit.h"
#include "inspector/panels/ops/headings_view.h"
#include "inspector/panels/ops/timeline_columns.h"
#include "inspector/panels/ops/timeline_delegate.h"
#include "inspector/panels/why_actions.h"
#include "inspector/ui/clear_by_escape.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/row_table.h"
#include "inspector/ui/segment_button.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

namespace {

constexpr int filter_clear_button = 40;  ///< what a line's clear button and frame take, in pixels

}  // namespace

struct TimelineView::Private {
  Private(TimelineView* q, Session& session) : q(q), session(session) {}

  TimelineView* q;
  Session& session;
  RecordsModel* model = nullptr;
  OpsTable* table = nullptr;
  HeadingChoice* headings = nullptr;
  HeadingTrail* trail = nullptr;
  TimelineDelegate* delegate = nullptr;
  QLineEdit* filter = nullptr;
  QButtonGroup* directions = nullptr;
  QLabel* progress = nullptr;
  TimelineColumns* columns = nullptr;
  QAction *find = nullptr, *copy = nullptr, *copyCall = nullptr, *forward = nullptr, *byOp = nullptr,
          *follow = nullptr;
  QAction *nextMatch = nullptr, *previousMatch = nullptr;
  QList<QAction*> headingActions;
  QString matchNote;                         ///< why a key found no further match
  RecordsModel::HeadingPlace chosenHeading;  ///< by the user, while it is the current row
  QList<QAction*> directionActions;
  WhyActions* why = nullptr;  ///< until setWhy
  QList<QAction*> recordActions;
  QTimer filterTimer;
  bool syncing = false;

  void makeFilterBar(QBoxLayout* layout);
  void makeTable();
  void makeActions();
  QAction* addAction(const QString& text, const QKeySequence& key, const QString& tip,
                     void (TimelineView::*slot)());
  void connectModels();
  void applyFilter();
  void showProgress();
  void showCursor(bool scroll);
  void showCursorOpen(RecordNumber number);
  bool keepHeading();
  void currentRowChanged(const QModelIndex& current);
  void showMenu(QPoint at);
  void goToMatch(bool after);
  QString filterText() const;
  const protocol::Record* currentRecord() const {
    return session.cachedRecord(model->recordAt(table->currentIndex().row()));
  }
};

void TimelineView::Private::makeFilterBar(QBoxLayout* layout) {
  auto* bar = new WrappingLayout(nullptr);
  bar->setSpacing(4);
  auto* edit = new ConditionEdit(session, q);
  edit->setFilters();
  filter = edit;
  filter->setObjectName(QStringLiteral("timelineFilter"));
  filter->setClearButtonEnabled(true);
  filter->setPlaceholderText(QStringLiteral("Filter by op, cell, scope, variable"));
  filter->setMinimumWidth(filter->fontMetrics().horizontalAdvance(filter->placeholderText()) +
                          filter_clear_button);
  filter->setToolTip(QStringLiteral(
      "Only ops in whose name, kind, cell, scope, file or variables every word occurs (Ctrl+F; Esc clears).\n"
      "In one of them alone: op:matmul, op:*pool*, scope:layer, cell:[3], file:train, reads:W. In the call "
      "as\n"
      "you wrote it: call:relu, call:\"softmax(scores\". What an op "
      "is:\n"
      "forward, backward, vjp, playback, failed, bookmarked, is:running. Numbers: line:7-12, record>100,\n"
      "duration>1ms, bytes>1M, shape:784, shape:(10000,784), out.shape != in0.shape. Values, which are "
      "computed again "
      "where\n"
      "they are not held: max(abs(out)) > 3, nan(out), norm(grad) < 1e-8 (Esc stops the search). Together:\n"
      "and, or, not, ( ). Words that belong together: \"my scope\". F3 and Shift+F3 go from match to "
      "match."));
  filter->setAccessibleName(QStringLiteral("Filter of the ops"));
  bar->addWidget(filter);
  directions = new QButtonGroup(q);
  auto* group = new QWidget(q);
  auto* row = new QHBoxLayout(group);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  const auto add = [&](Direction direction, const QString& text, const QString& tip,
                       const QKeySequence& key) {
    auto* button = new SegmentButton(q);
    button->setText(text);
    button->setCheckable(true);
    button->setAccessibleName(tip);
    button->setChecked(direction == Direction::both);
    QAction* action = addKeyedAction(q, text, {key}, tip);
    QObject::connect(action, &QAction::triggered, button, &QToolButton::click);
    button->setToolTip(action->toolTip());
    directionActions << action;
    directions->addButton(button, static_cast<int>(direction));
    row->addWidget(button);
  };
  add(Direction::both, QStringLiteral("All"), QStringLiteral("Ops of both directions"),
      QKeySequence(Qt::ALT | Qt::Key_A));
  add(Direction::forward, QStringLiteral("▼ Forward"), QStringLiteral("Only forward ops"),
      QKeySequence(Qt::ALT | Qt::Key_W));
  add(Direction::backward, QStringLiteral("▲ Backward"),
      QStringLiteral("Only playbacks and what runs in them"), QKeySequence(Qt::ALT | Qt::Key_B));
  bar->addWidget(group);
  headings = new HeadingChoice(model, q);
  bar->addWidget(headings->box());
  layout->addLayout(bar);
  progress = plainLabel(q);
  progress->setWordWrap(true);
  progress->hide();
  layout->addWidget(progress);
}

void TimelineView::Private::makeTable() {
  table = new OpsTable(model, q);
  table->setObjectName(QStringLiteral("timeline"));
  table->setAccessibleName(QStringLiteral("Ops of the session"));
  delegate = new TimelineDelegate(table);
  delegate->setTheme(Theme::fromPalette(q->palette()));
  table->setTheme(Theme::fromPalette(q->palette()));
  trail = new HeadingTrail(table, model, q);
  table->setItemDelegate(delegate);
  table->setContextMenuPolicy(Qt::CustomContextMenu);
  columns = new TimelineColumns(table);
}

QAction* TimelineView::Private::addAction(const QString& text, const QKeySequence& key, const QString& tip,
                                          void (TimelineView::*slot)()) {
  QAction* const action = addKeyedAction(table, text, {key}, tip);
  QObject::connect(action, &QAction::triggered, q, slot);
  return action;
}

void TimelineView::Private::makeActions() {
  copy = addAction(QStringLiteral("Copy row"), QKeySequence::Copy, QStringLiteral("The op's row as text"),
                   &TimelineView::copySelected);
  copyCall = addAction(QStringLiteral("Copy call"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
                       QStringLiteral("What the program wrote where it called the op, with its line breaks"),
                       &TimelineView::copyCall);
  forward = addAction(QStringLiteral("Go to its forward op"), QKeySequence(Qt::ALT | Qt::Key_Up),
                      QStringLiteral("The op whose VJP this is"), &TimelineView::goToForward);
  byOp = addAction(QStringLiteral("Only ops of this name"), QKeySequence(Qt::CTRL | Qt::Key_L),
                   QStringLiteral("Filter by this op's name"), &TimelineView::filterByCurrentOp);
  follow = addKeyedAction(table, QStringLiteral("Follow the session"), {Qt::CTRL | Qt::Key_End},
                          QStringLiteral("Go to the newest op and stay with it"));
  QObject::connect(follow, &QAction::triggered, &session, &Session::follow);
  find = addKeyedAction(q, QStringLiteral("Filter"), {QKeySequence::Find}, QStringLiteral("Type a filter"));
  QObject::connect(find, &QAction::triggered, q, &TimelineView::focusFilter);
  const auto goTo = [this](const QString& text, const QKeySequence& key, const QString& tip,
                           void (TimelineView::*slot)()) {
    QAction* action = addKeyedAction(q, text, {key}, tip);
    QObject::connect(action, &QAction::triggered, q, slot);
    return action;
  };
  nextMatch = goTo(QStringLiteral("Next match"), Qt::Key_F3,
                   QStringLiteral("Go to the next op that the filter finds"), &TimelineView::goToNextMatch);
  previousMatch =
      goTo(QStringLiteral("Previous match"), Qt::SHIFT | Qt::Key_F3,
           QStringLiteral("Go to the previous op that the filter finds"), &TimelineView::goToPreviousMatch);
  clearByEscape(filter, q, [this] {
    if (model->scanning() && model->filterAsksForValues()) return model->stopFilter();
    filter->clear();
    applyFilter();
    table->setFocus();
  });
}

void TimelineView::Private::connectModels() {
  filterTimer.setSingleShot(true);
  filterTimer.setInterval(150);
  QObject::connect(&filterTimer, &QTimer::timeout, q, [this] { applyFilter(); });
  QObject::connect(filter, &QLineEdit::textChanged, q, [this] { filterTimer.start(); });
  QObject::connect(filter, &QLineEdit::returnPressed, q, [this] {
    if (model->filterStopped()) model->setFilter({}, Direction::both);
    applyFilter();
    table->setFocus();
  });
  QObject::connect(directions, &QButtonGroup::idClicked, q, [this] { applyFilter(); });
  QObject::connect(table->selectionModel(), &QItemSelectionModel::currentRowChanged, q,
                   [this](const QModelIndex& current) { currentRowChanged(current); });
  // The row may be the current one already, where the filter leaves out the cursor's.
  QObject::connect(table, &QAbstractItemView::clicked, q,
                   [this](const QModelIndex& clicked) { currentRowChanged(clicked); });
  QObject::connect(table, &QWidget::customContextMenuRequested, q, [this](QPoint at) { showMenu(at); });
  QObject::connect(&session, &Session::cursorChanged, q, [this] {
    matchNote.clear();
    chosenHeading = {};
    // While a cell runs, the cursor follows, and folded groups stay folded. Where it stops must be visible.
    if (session.stop()) model->reveal(session.cursor());
    showCursor(true);
  });
  QObject::connect(&session, &Session::cursorChosen, q, [this] { showCursorOpen(session.cursor()); });
  QObject::connect(&session, &Session::stopped, q, [this](RecordNumber number) {
    if (!number) return;
    chosenHeading = {};
    model->reveal(session.cursor());
    showCursor(true);
  });
  QObject::connect(model, &RecordsModel::regrouped, q, [this] {
    showCursor(false);
    table->viewport()->update();
  });
  QObject::connect(model, &QAbstractItemModel::rowsInserted, q, [this] {
    showProgress();
    showCursor(false);
  });
  // A row that goes takes the selection to another one: that moves no cursor.
  QObject::connect(model, &QAbstractItemModel::rowsAboutToBeRemoved, q, [this] { syncing = true; });
  QObject::connect(model, &QAbstractItemModel::rowsRemoved, q, [this] {
    syncing = false;
    showProgress();
    showCursor(false);
  });
  QObject::connect(model, &QAbstractItemModel::modelReset, q, [this] {
    showProgress();
    chosenHeading = {};
    showCursor(true);
  });
  QObject::connect(&session, &Session::cleared, q, [this] { columns->restart(); });
  QObject::connect(&session, &Session::recordsChanged, q, [this] { columns->fit(session.recordCount()); });
  QObject::connect(&session, &Session::statusChanged, q, [this] {
    columns->fit(session.recordCount());
    showProgress();
  });
  QObject::connect(model, &RecordsModel::filterProgress, q, [this] { showProgress(); });
}

void TimelineView::Private::applyFilter() {
  filterTimer.stop();
  matchNote.clear();
  syncing = true;
  model->setFilter(filter->text().trimmed(), static_cast<Direction>(directions->checkedId()));
  syncing = false;
  showProgress();
  showCursor(true);
}

void TimelineView::Private::showProgress() {
  const quint64 total = session.recordCount();
  progress->setVisible(model->filtered());
  if (model->filtered()) {
    progress->setText(filterText());
  }
  if (total == 0 && !session.status().recording) {
    table->setPlaceholder(
        QStringLiteral("Recording is off, so ops leave no rows. Session, Recording turns it on again."));
  } else if (total == 0) {
    table->setPlaceholder(
        QStringLiteral("No ops yet. Run a cell, and each of its tensor ops gets a row here."));
  } else if (model->scanning()) {
    table->setPlaceholder(QStringLiteral("Looking for ops…"));
  } else {
    table->setPlaceholder(
        QStringLiteral("None of the %1 records matches the filter. Esc in the filter clears it.")
            .arg(countText(total)));
  }
}

QString TimelineView::Private::filterText() const {
  const quint64 total = session.recordCount();
  QString text = QStringLiteral("%1 of %2 records")
                     .arg(countText(static_cast<quint64>(model->listedCount())), countText(total));
  const quint64 percent = total ? model->scanned() * 100 / total : 100;
  if (model->scanning())
    text += QStringLiteral(", looked at %1 %").arg(percent) +
            (model->filterAsksForValues() ? QStringLiteral(" (Esc in the filter stops it)") : QString());
  else if (model->filterStopped())
    text += QStringLiteral(", stopped at %1 %: Enter in the filter starts again").arg(percent);
  if (const quint64 lost = model->lostByFilter())
    text += QStringLiteral("\n%1 with lost values could not be decided, and %2 left out.")
                .arg(lost == 1 ? QStringLiteral("1 op") : QStringLiteral("%1 ops").arg(countText(lost)),
                     lost == 1 ? QStringLiteral("is") : QStringLiteral("are"));
  if (!session.live() && model->filterAsksForValues())
    text += QStringLiteral("\nThe session is over, and with it what looks at values: no op matches by them.");
  const std::string problem = protocol::filter_problem(model->filterText().toStdString());
  if (!problem.empty()) text += u'\n' + QString::fromStdString(problem);
  return matchNote.isEmpty() ? text : text + u'\n' + matchNote;
}

void TimelineView::Private::goToMatch(bool after) {
  if (filterTimer.isActive()) applyFilter();
  if (!model->filtered()) return q->focusFilter();
  const RecordNumber match = model->matchBeside(session.cursor(), after);
  matchNote.clear();
  if (match == 0)
    matchNote = after && model->scanning() ? QStringLiteral("No match after the cursor so far.")
                : after                    ? QStringLiteral("This is the last match.")
                                           : QStringLiteral("This is the first match.");
  else
    session.setCursor(match);
  showProgress();
}

/// Rows that come or go take the user off no heading.
bool TimelineView::Private::keepHeading() {
  const int row = model->rowOfHeading(chosenHeading);
  if (row < 0) return false;
  const QModelIndex index = model->index(row, std::max(table->currentIndex().column(), 0));
  table->setCurrentQuietly(index, QItemSelectionModel::NoUpdate);
  return true;
}

void TimelineView::Private::showCursorOpen(RecordNumber number) {
  if (model->reveal(number)) showCursor(true);
}

/// Without `scroll` the table scrolls only to keep the row in view.
void TimelineView::Private::showCursor(bool scroll) {
  const RecordNumber cursor = session.cursor();
  const int row = model->rowOf(cursor);
  QItemSelectionModel* selection = table->selectionModel();
  syncing = true;
  if (row < 0 || cursor == 0) {
    selection->clear();
  } else {
    const int column = std::max(table->currentIndex().column(), 0);
    const QModelIndex index = model->index(row, column);
    if (model->recordAt(row) == cursor) {
      table->setCurrentQuietly(index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    } else {
      // Filtered out: keys go on from the match before it, but nothing looks selected.
      selection->clearSelection();
      table->setCurrentQuietly(index, QItemSelectionModel::NoUpdate);
    }
    if (!scroll) keepHeading();
  }
  if (scroll)
    table->showCurrent();
  else
    table->keepCurrent();
  syncing = false;
}

void TimelineView::Private::currentRowChanged(const QModelIndex& current) {
  if (syncing || model->changingRows() || !current.isValid()) return;
  chosenHeading = model->headingPlace(current.row());
  if (const RecordNumber number = model->recordAt(current.row())) session.setCursor(number);
}

void TimelineView::Private::showMenu(QPoint at) {
  const protocol::Record* record = currentRecord();
  QMenu menu(q);
  menu.setToolTipsVisible(true);
  menu.addAction(copy);
  menu.addAction(copyCall);
  menu.addAction(forward);
  menu.addAction(byOp);
  if (record) menu.addActions(recordActions);
  menu.addSeparator();
  menu.addAction(follow);
  menu.addSeparator();
  menu.addActions(headingActions);
  if (why && record) {
    why->model()->setSubject(whySubjectOf(*record));
    why->addTo(&menu);
  }
  copy->setEnabled(record);
  copyCall->setEnabled(record && !record->call.empty());
  byOp->setEnabled(record);
  forward->setEnabled(record && record->forward);
  menu.exec(table->viewport()->mapToGlobal(at));
  for (QAction* action : {copy, copyCall, byOp, forward})
    action->setEnabled(true);  // their keys check by themselves
}

TimelineView::TimelineView(Session& session, QWidget* parent)
    : SessionPanel(session, parent), d_(std::make_unique<Private>(this, session)) {
  d_->model = new RecordsModel(&session, this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->setSpacing(4);
  layout->addWidget(new BranchStrip(session, this));
  d_->makeFilterBar(layout);
  d_->makeTable();
  layout->addWidget(d_->trail);
  layout->addWidget(d_->table, 1);
  setTabOrder(d_->filter, d_->table);
  setFocusProxy(d_->table);
  d_->makeActions();
  d_->headingActions = headingActions(d_->table, d_->headings);
  d_->connectModels();
  d_->showProgress();
  d_->showCursor(true);
}

TimelineView::~TimelineView() = default;

RecordsModel* TimelineView::model() const {
  return d_->model;
}
QTableView* TimelineView::table() const {
  return d_->table;
}
QLineEdit* TimelineView::filterEdit() const {
  return d_->filter;
}
QList<QAction*> TimelineView::menuActions() const {
  return QList<QAction*>{d_->find, d_->nextMatch, d_->previousMatch} + d_->directionActions +
         QList<QAction*>{d_->copy, d_->copyCall, d_->forward, d_->byOp, d_->follow} + d_->headingActions;
}
QList<HandledKeys> TimelineView::handledKeys() const {
  return {{{Qt::Key_Left, Qt::Key_Right, Qt::Key_Return},
           QStringLiteral("On a heading of Ops: fold and unfold it; Left goes on to the heading around it")}};
}
void TimelineView::setCellLabels(const QHash<QString, QString>& labels) {
  d_->model->setCellLabels(labels);
}

void TimelineView::setBookmarks(const Bookmarks& bookmarks) {
  d_->model->setBookmarks(&bookmarks);
}

void TimelineView::setRecordActions(const QList<QAction*>& actions) {
  d_->recordActions = actions;
}

void TimelineView::setWhy(WhyActions& why) {
  d_->why = &why;
}

QString TimelineView::selectedText() const {
  if (const auto heading = d_->model->headingAt(d_->table->currentIndex().row())) return heading->text();
  const QModelIndexList rows = d_->table->selectionModel()->selectedRows();
  if (rows.isEmpty()) return {};
  QStringList cells;
  for (int column = 0; column < RecordsModel::ColumnCount; ++column)
    cells << d_->model->index(rows[0].row(), column).data().toString().trimmed();
  return cells.join(QLatin1Char('\t'));
}

void TimelineView::focusFilter() {
  d_->filter->setFocus(Qt::ShortcutFocusReason);
  d_->filter->selectAll();
}

void TimelineView::setDirection(Direction direction) {
  d_->directions->button(static_cast<int>(direction))->setChecked(true);
  d_->applyFilter();
}

void TimelineView::copySelected() {
  const QString text = selectedText();
  if (!text.isEmpty()) QGuiApplication::clipboard()->setText(text);
}

void TimelineView::copyCall() {
  const protocol::Record* record = d_->currentRecord();
  if (record && !record->call.empty())
    QGuiApplication::clipboard()->setText(QString::fromStdString(record->call));
}

void TimelineView::goToForward() {
  const protocol::Record* record = d_->currentRecord();
  if (record && record->forward) d_->session.setCursor(record->forward);
}

void TimelineView::filterByCurrentOp() {
  const protocol::Record* record = d_->currentRecord();
  if (!record) return;
  d_->filter->setText(QString::fromStdString(record->op));
  d_->applyFilter();
}

void TimelineView::goToNextMatch() {
  d_->goToMatch(true);
}

void TimelineView::goToPreviousMatch() {
  d_->goToMatch(false);
}

void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange && d_->delegate) {
    d_->delegate->setTheme(Theme::fromPalette(palette()));
    d_->table->setTheme(Theme::fromPalette(palette()));
    d_->table->viewport()->update();
  }
  if (event->type() == QEvent::FontChange && d_->table)
    d_->table->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  QWidget::changeEvent(event);
}

}  // namespace tapedeck::inspector
