#include "inspector/panels/compare/compare_view.h"

#include <QAction>
#include <QApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMouseEvent>
#include <QScrollBar>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/compare/compare_bar.h"
#include "inspector/panels/compare/compare_delegate.h"
#include "inspector/panels/compare/compare_strip.h"
#include "inspector/panels/compare/curves_view.h"
#include "inspector/panels/compare/layers_view.h"
#include "inspector/panels/compare/operands_view.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/row_table.h"
#include "inspector/ui/segment_button.h"
#include "inspector/ui/sentence_area.h"
#include "inspector/ui/text_button.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

namespace {

constexpr int most_told_lines = 4;
constexpr int room_for_both = 190;  // pixels: rows above, a curve below

}  // namespace

struct CompareView::Private {
  CompareView* view = nullptr;
  CompareModel* model = nullptr;
  CompareRows* rows = nullptr;
  CompareBar* bar = nullptr;
  CompareStrip* strip = nullptr;
  SentenceArea* sentence = nullptr;
  RowTable* table = nullptr;
  QSplitter* split = nullptr;
  QStackedWidget* below = nullptr;
  OperandsView* operands = nullptr;
  CompareCurvesView* curves = nullptr;
  LayersView* layers = nullptr;
  QToolButton* cancelButton = nullptr;
  QAction *lastTwo = nullptr, *swap = nullptr, *leftHere = nullptr, *rightHere = nullptr, *branch = nullptr,
          *leftFile = nullptr, *rightFile = nullptr, *leftTrace = nullptr, *rightTrace = nullptr,
          *first = nullptr, *next = nullptr, *previous = nullptr, *show = nullptr, *showRight = nullptr,
          *showOperands = nullptr, *showCurves = nullptr, *showLayers = nullptr, *names = nullptr,
          *cancel = nullptr;
  bool following = false;
  bool pendingShow = false;  ///< the row that the cursor is to go to is on its way

  /// The cursor's op is a side where there is one, and a trace where the session is one.
  void enableMoments() {
    for (QAction* action : {leftTrace, rightTrace}) action->setEnabled(model->thisTrace().has_value());
    for (QAction* action : {leftHere, rightHere})
      action->setEnabled(model->session()->live() && model->session()->recordCount() > 0);
  }
  QAction* add(const char* id, const QString& text, const QList<QKeySequence>& keys, const QString& tip) {
    QAction* action = addKeyedAction(view, text, keys, tip);
    action->setObjectName(QLatin1String(id));
    return action;
  }
  void makeActions();
  void makeSides();
  QToolButton* addButton(QLayout* layout, QAction* action, const QString& text);
  void makeButtons(QVBoxLayout* layout);
  void makeTable();
  void makeBelow();
  void connectAll();
  void showState();
  QString sentenceText() const;
  void showCurrent();
  void fit();
  void widths();
};

void CompareView::Private::makeActions() {
  lastTwo = add("compare.last_two", QStringLiteral("Last two runs"), {Qt::Key_L},
                QStringLiteral("Compare the last two runs of the cell that ran last"));
  swap = add("compare.swap", QStringLiteral("Swap sides"), {Qt::Key_S},
             QStringLiteral("Swap the left and the right side"));
  makeSides();
  first =
      add("compare.first", QStringLiteral("First difference"), {Qt::Key_F},
          QStringLiteral(
              "Find the first op whose values differ by more than the tolerance, and what came before it"));
  next = add("compare.next", QStringLiteral("Next difference"), {Qt::Key_N},
             QStringLiteral("Go to the next row that is not the same"));
  previous = add("compare.previous", QStringLiteral("Previous difference"), {Qt::Key_P},
                 QStringLiteral("Go to the previous row that is not the same"));
  showOperands = add("compare.operands", QStringLiteral("Operands"), {Qt::Key_O},
                     QStringLiteral("Show the row's operands side by side"));
  showCurves = add("compare.curves", QStringLiteral("Curves"), {Qt::Key_C},
                   QStringLiteral("Show the curves of both sides"));
  showLayers = add("compare.layers", QStringLiteral("Layers"), {Qt::Key_Y},
                   QStringLiteral("Show the layers of a port and its original: outputs, weights, gradients"));
  for (QAction* action : {showOperands, showCurves, showLayers}) action->setCheckable(true);
  showOperands->setChecked(true);
  cancel = add("compare.cancel", QStringLiteral("Cancel"), {Qt::Key_Escape},
               QStringLiteral("Stop comparing, or looking for the first difference"));
  show = new QAction(QStringLiteral("Show op"), view);
  setKey(show, {Qt::Key_Return, Qt::Key_Enter}, QStringLiteral("Move the cursor to the row's op"));
  showRight = new QAction(QStringLiteral("Show op of the right side"), view);
  setKey(showRight, {Qt::ALT | Qt::Key_Return, Qt::ALT | Qt::Key_Enter},
         QStringLiteral("Move the cursor to the op on the right"));
  for (QAction* action : {show, showRight}) {
    action->setShortcutContext(Qt::WidgetShortcut);
    table->addAction(action);
  }
}

void CompareView::Private::makeSides() {
  leftHere = add("compare.left_here", QStringLiteral("Left: from the cursor"), {Qt::Key_A},
                 QStringLiteral("Put what follows from the cursor's op on the left"));
  rightHere = add("compare.right_here", QStringLiteral("Right: from the cursor"), {Qt::Key_B},
                  QStringLiteral("Put what follows from the cursor's op on the right"));
  branch = add("compare.branch", QStringLiteral("Branch of What if"), {Qt::Key_W},
               QStringLiteral("Compare what was recorded with the branch of What if"));
  leftFile = add("compare.left_file", QStringLiteral("Left: a trace file…"), {Qt::SHIFT | Qt::Key_T},
                 QStringLiteral("Put a trace file, or a file of tensors, on the left"));
  rightFile =
      add("compare.right_file", QStringLiteral("Right: a trace file…"), {Qt::Key_T},
          QStringLiteral(
              "Compare with a trace file, or a file of tensors (.npz, safetensors), put on the right"));
  names =
      add("compare.names", QStringLiteral("Name map…"), {Qt::Key_M},
          QStringLiteral("Choose a file that says which layer of the left side is which of the right: lines "
                         "such as encoder/layer_0 = blocks.0, or JSON"));
  QObject::connect(names, &QAction::triggered, view, [this] { bar->askNames(); });
  leftTrace = add("compare.left_trace", QStringLiteral("Left: this trace"), {Qt::SHIFT | Qt::Key_H},
                  QStringLiteral("Put all of the trace file that is open here on the left"));
  rightTrace = add("compare.right_trace", QStringLiteral("Right: this trace"), {Qt::Key_H},
                   QStringLiteral("Put all of the trace file that is open here on the right"));
  QObject::connect(leftTrace, &QAction::triggered, view, [this] {
    if (const auto trace = model->thisTrace()) model->setLeft(*trace);
  });
  QObject::connect(rightTrace, &QAction::triggered, view, [this] {
    if (const auto trace = model->thisTrace()) model->setRight(*trace);
  });
  QObject::connect(leftHere, &QAction::triggered, view, [this] { model->setLeft(model->fromHere()); });
  QObject::connect(rightHere, &QAction::triggered, view, [this] { model->setRight(model->fromHere()); });
  QObject::connect(branch, &QAction::triggered, model, &CompareModel::chooseBranch);
  QObject::connect(leftFile, &QAction::triggered, view, [this] { bar->askFile(false); });
  QObject::connect(rightFile, &QAction::triggered, view, [this] { bar->askFile(true); });
}

QToolButton* CompareView::Private::addButton(QLayout* layout, QAction* action, const QString& text) {
  QToolButton* button = addTextButton(layout, action, text, view);
  button->setAccessibleName(action->text());
  return button;
}

void CompareView::Private::makeButtons(QVBoxLayout* layout) {
  auto* buttons = new WrappingLayout(nullptr);
  buttons->setContentsMargins(4, 2, 4, 0);
  buttons->setSpacing(4);
  addButton(buttons, lastTwo, QStringLiteral("Last two runs"))
      ->setObjectName(QStringLiteral("compareLastTwo"));
  addButton(buttons, swap, QStringLiteral("⇄"));
  addButton(buttons, first, QStringLiteral("First difference"))
      ->setObjectName(QStringLiteral("compareFirst"));
  addButton(buttons, previous, QStringLiteral("▲"));
  addButton(buttons, next, QStringLiteral("▼"))->setObjectName(QStringLiteral("compareNext"));
  cancelButton = addButton(buttons, cancel, QStringLiteral("Cancel"));
  QWidget* const pages = segmentRow({showOperands, showCurves, showLayers}, view);
  pages->layout()->setContentsMargins(8, 0, 0, 0);
  buttons->addWidget(pages);
  addButton(buttons, names, QStringLiteral("Name map…"))->setObjectName(QStringLiteral("compareNames"));
  bar->addTolerances(buttons);
  layout->addLayout(buttons);
}

void CompareView::Private::makeTable() {
  table = new RowTable(view);
  table->setObjectName(QStringLiteral("compareRows"));
  table->setAccessibleName(QStringLiteral("Ops of both sides, aligned"));
  table->setModel(rows);
  table->setItemDelegate(new CompareDelegate(table));
  table->setContextMenuPolicy(Qt::ActionsContextMenu);
  table->setMinimumHeight(60);
  table->horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
}

void CompareView::Private::makeBelow() {
  operands = new OperandsView(model);
  curves = new CompareCurvesView(model);
  below = new QStackedWidget(view);
  below->addWidget(operands);
  layers = new LayersView(model);
  below->addWidget(curves);
  below->addWidget(layers);
  split = new QSplitter(Qt::Vertical, view);
  split->setChildrenCollapsible(false);
  split->addWidget(table);
  split->addWidget(below);
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 2);
  split->setSizes({3000, 2000});  // shares of what there is
}

void CompareView::Private::connectAll() {
  QObject::connect(lastTwo, &QAction::triggered, model, &CompareModel::chooseLastTwoRuns);
  QObject::connect(swap, &QAction::triggered, model, &CompareModel::swapSides);
  QObject::connect(first, &QAction::triggered, model, &CompareModel::findFirstDifference);
  QObject::connect(next, &QAction::triggered, view, [this] { model->findDifference(false); });
  QObject::connect(previous, &QAction::triggered, view, [this] { model->findDifference(true); });
  QObject::connect(cancel, &QAction::triggered, model, &CompareModel::cancel);
  QObject::connect(show, &QAction::triggered, view, [this] { model->show(model->currentRow(), false); });
  QObject::connect(showRight, &QAction::triggered, view, [this] { model->show(model->currentRow(), true); });
  const auto page = [this](QWidget* widget) {
    const bool worked = view->isAncestorOf(QApplication::focusWidget());
    below->setCurrentWidget(widget);
    fit();
    if (worked) (widget == operands ? static_cast<QWidget*>(table) : widget)->setFocus();
    showOperands->setChecked(widget == operands);
    showCurves->setChecked(widget == curves);
    showLayers->setChecked(widget == layers);
  };
  QObject::connect(showLayers, &QAction::triggered, view, [this, page] { page(layers); });
  // A port's layers are its overview: they show by themselves.
  QObject::connect(model, &CompareModel::compareReset, view, [this, page] {
    const auto* compared = model->compared();
    if (compared && compared->port) page(layers);
    if (compared && !compared->port && below->currentWidget() == layers) page(operands);
  });
  QObject::connect(showOperands, &QAction::triggered, view, [this, page] { page(operands); });
  QObject::connect(layers, &LayersView::opChosen, view, [this, page] { page(operands); });
  QObject::connect(showCurves, &QAction::triggered, view, [this, page] { page(curves); });
  QObject::connect(table->selectionModel(), &QItemSelectionModel::currentRowChanged, view,
                   [this](const QModelIndex& index) {
                     if (!following && index.isValid()) model->setCurrentRow(index.row());
                   });
  QObject::connect(table, &QTableView::clicked, view, [this](const QModelIndex& index) {
    pendingShow = false;
    model->setCurrentRow(index.row());
    model->show(index.row(), CompareRows::isRight(index.column()));
  });
  QObject::connect(strip, &CompareStrip::rowChosen, model, &CompareModel::setCurrentRow);
  QObject::connect(model, &CompareModel::currentChanged, view, [this] {
    fit();
    showCurrent();
  });
  QObject::connect(model, &CompareModel::compareReset, view, [this] { fit(); });
  QObject::connect(model, &CompareModel::changed, view, [this] { showState(); });
  QObject::connect(model, &CompareModel::runsChanged, view, [this] { showState(); });
  // Where a search ends the other panels show, too.
  QObject::connect(model, &CompareModel::found, view, [this] {
    showCurrent();
    pendingShow = !model->cachedRow(model->currentRow());
    model->show(model->currentRow(), false);
  });
  QObject::connect(model, &CompareModel::rowsChanged, view, [this](int low, int high) {
    // A row that was not here when it was found can be gone to now.
    if (model->currentRow() >= low && model->currentRow() <= high && pendingShow &&
        model->cachedRow(model->currentRow())) {
      pendingShow = false;
      model->show(model->currentRow(), false);
    }
  });
}

QString CompareView::Private::sentenceText() const {
  if (model->comparing())
    return QStringLiteral("%1. Cancel, or Esc in this panel, stops it.").arg(model->doing());
  if (model->searching())
    return QStringLiteral("Looking for the first difference: %1. Cancel, or Esc in this panel, stops it.")
        .arg(model->progress());
  if (!model->problem().isEmpty()) return QStringLiteral("✗ ") + model->problem();
  if (const auto* found = model->firstDifference()) return QString::fromStdString(found->sentence);
  if (const auto* layers_found = model->layers()) return QString::fromStdString(layers_found->sentence);
  if (const auto* compared = model->compared())
    return QString::fromStdString(compared->sentence) +
           QStringLiteral(" F finds the first values that differ; N and P go to ops that are not the same.");
  if (!model->session()->live()) return QStringLiteral("There is no session.");
  if (model->left() && model->right())
    return QStringLiteral(
        "The comparison was stopped. Choose a side again, or compare the last two runs (L).");
  if (model->thisTrace())
    return QStringLiteral(
        "Choose two sides above, and they are compared here, op by op: this trace (Shift+H left, H right), "
        "one "
        "of its runs, a moment (A and B: from the cursor on), or another trace file (Shift+T left, T "
        "right).");
  return QStringLiteral(
      "Run a cell twice: its last two runs are compared here, op by op. Any two runs can be chosen above, a "
      "moment (A and B: from the cursor on), or the branch of What if (W).");
}

void CompareView::Private::showState() {
  const bool busy = model->comparing() || model->searching();
  sentence->setText(sentenceText(), !busy && !model->problem().isEmpty());
  cancel->setEnabled(busy);
  cancelButton->setVisible(busy);
  const bool compared = model->compared() && model->compared()->rows > 0;
  for (QAction* action : {first, next, previous, show, showRight}) action->setEnabled(compared && !busy);
  swap->setEnabled(model->left() && model->right());
  for (QAction* action : {lastTwo, leftFile, rightFile}) action->setEnabled(model->session()->live());
  enableMoments();
  branch->setEnabled(model->session()->look().branch != 0);
}

void CompareView::Private::showCurrent() {
  const int row = model->currentRow();
  if (row < 0 || table->currentIndex().row() == row) return;
  following = true;
  table->setCurrentIndex(rows->index(row, std::max(0, table->currentIndex().column())));
  table->scrollTo(rows->index(row, 0), QAbstractItemView::PositionAtCenter);
  following = false;
}

/// In a low panel the curves take the rows' place. Operands have a place from the first row that is chosen.
void CompareView::Private::fit() {
  const bool operands_wanted = below->currentWidget() != operands || model->currentRow() >= 0;
  if (below->isHidden() == operands_wanted) {
    below->setVisible(operands_wanted);
    // The clicked row stays visible, although the table is lower now.
    if (operands_wanted) QTimer::singleShot(0, table, [this] { table->scrollTo(table->currentIndex()); });
  }
  const bool alone = below->currentWidget() != operands && view->height() - split->y() < room_for_both;
  const bool worked = table->hasFocus();
  view->setFocusProxy(alone ? below->currentWidget() : table);
  table->setHidden(alone);
  if (worked && alone) below->currentWidget()->setFocus();
}

/// Both sides get as much room as the other; what is long is cut.
void CompareView::Private::widths() {
  const int room = table->width() - 2 * table->frameWidth() - table->verticalScrollBar()->sizeHint().width();
  if (room < 100) return;
  QFont bold = table->font();
  bold.setBold(true);
  const QFontMetrics metrics = table->fontMetrics();
  const int sign = std::max(QFontMetrics(bold).horizontalAdvance(QStringLiteral("± other attributes")),
                            metrics.horizontalAdvance(QStringLiteral("· values not compared"))) +
                   16;
  const int place = metrics.horizontalAdvance(QStringLiteral("cell [88] line 88")) + 14;
  // The header says which cell it is: in a narrow panel the line remains.
  const int line = metrics.horizontalAdvance(QStringLiteral("…line 888")) + 14;
  const int op = metrics.horizontalAdvance(QStringLiteral("▼ reduce_mean · 88,888")) + 14;
  const int side = std::max(120, (room - sign) / 2);
  table->setColumnWidth(CompareRows::Sign, sign);
  for (const int begin : {static_cast<int>(CompareRows::LeftOp), static_cast<int>(CompareRows::RightOp)}) {
    const int where = side - 2 * op >= place ? place : std::min(line, side * 40 / 100);
    table->setColumnWidth(begin, (side - where) / 2);
    table->setColumnWidth(begin + 1, where);
    table->setColumnWidth(begin + 2, side - where - (side - where) / 2);
  }
}

CompareView::CompareView(Session& session, CellNames& cells, const MakeTraceReader& readers, QWidget* parent)
    : SessionPanel(session, parent), d_(std::make_unique<Private>()) {
  d_->view = this;
  d_->model = new CompareModel(&session, &cells, readers, this);
  d_->rows = new CompareRows(d_->model, &cells, this);
  d_->bar = new CompareBar(d_->model, this);
  d_->strip = new CompareStrip(d_->model, this);
  d_->makeTable();
  d_->makeActions();
  d_->sentence = new SentenceArea(QStringLiteral("compareSentence"), most_told_lines, this);
  d_->makeBelow();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(d_->bar);
  d_->makeButtons(layout);
  layout->addWidget(d_->sentence);
  layout->addWidget(d_->strip);
  layout->addWidget(d_->split, 1);
  setFocusProxy(d_->table);
  for (QWidget* part : std::initializer_list<QWidget*>{d_->table, d_->split}) part->installEventFilter(this);
  d_->connectAll();
  d_->fit();
  followFont(d_->table, [this] { d_->widths(); });
  connect(&session, &Session::statusChanged, this, [this] { d_->enableMoments(); });
  connect(&session, &Session::lookChanged, this, [this] { d_->showState(); });
  d_->showState();
}

CompareView::~CompareView() = default;

QList<QAction*> CompareView::menuActions() const {
  return {d_->lastTwo,
          d_->swap,
          d_->leftHere,
          d_->rightHere,
          d_->branch,
          d_->leftFile,
          d_->rightFile,
          d_->leftTrace,
          d_->rightTrace,
          d_->names,
          d_->first,
          d_->next,
          d_->previous,
          d_->show,
          d_->showRight,
          d_->operands->showAction(),
          d_->operands->showRightAction(),
          d_->showOperands,
          d_->showCurves,
          d_->showLayers,
          d_->layers->showAction(),
          d_->cancel};
}

QList<HandledKeys> CompareView::handledKeys() const {
  return {{{Qt::Key_Left, Qt::Key_Right, Qt::Key_Home, Qt::Key_End},
           QStringLiteral("In the curves: walk over the steps")}};
}

CompareModel* CompareView::model() const {
  return d_->model;
}
RowTable* CompareView::table() const {
  return d_->table;
}
QLabel* CompareView::sentence() const {
  return d_->sentence->label();
}
CompareBar* CompareView::bar() const {
  return d_->bar;
}
CompareStrip* CompareView::strip() const {
  return d_->strip;
}
OperandsView* CompareView::operands() const {
  return d_->operands;
}
CompareCurvesView* CompareView::curves() const {
  return d_->curves;
}

void CompareView::showEvent(QShowEvent* event) {
  SessionPanel::showEvent(event);
  d_->model->setShown(true);
}
void CompareView::hideEvent(QHideEvent* event) {
  SessionPanel::hideEvent(event);
  d_->model->setShown(false);
}

bool CompareView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == d_->table && event->type() == QEvent::Resize) d_->widths();
  if (watched == d_->split && (event->type() == QEvent::Resize || event->type() == QEvent::Move)) d_->fit();
  return SessionPanel::eventFilter(watched, event);
}

}  // namespace tapedeck::inspector
