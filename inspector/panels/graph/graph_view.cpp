#include "inspector/panels/graph/graph_view.h"

#include <QtWidgets>

#include "inspector/model/format.h"
#include "inspector/model/functions/graph_text.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/panels/graph/function_list.h"
#include "inspector/panels/graph/node_outline.h"
#include "inspector/ui/clear_by_escape.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/text_button.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

namespace {

constexpr int clear_button_room = 40;  ///< what a line's clear button and frame take, in pixels

QLabel* makeNote(const char* name, QWidget* parent) {
  QLabel* label = plainLabel(parent);
  label->setObjectName(QLatin1String(name));
  label->setWordWrap(true);
  label->setContentsMargins(8, 2, 8, 2);
  label->hide();
  return label;
}

void showNote(QLabel* label, const QString& text) {
  label->setText(text);
  label->setVisible(!text.isEmpty());
}

}  // namespace

struct GraphView::Private {
  Private(GraphView* q, CellNames& names) : view(q), cells(names) {}

  GraphView* view;
  CellNames& cells;
  FunctionsModel* model = nullptr;
  GraphTree* tree = nullptr;
  FunctionList* functions = nullptr;
  NodeOutline* nodes = nullptr;
  QStackedWidget* pages = nullptr;
  QComboBox* stages = nullptr;
  QLineEdit* filter = nullptr;
  QLabel *note = nullptr, *graphNote = nullptr, *empty = nullptr;
  QAction *line = nullptr, *next = nullptr, *previous = nullptr, *input = nullptr, *reader = nullptr,
          *find = nullptr, *copy = nullptr, *guide = nullptr;
  QTimer filterTimer;
  bool filling = false;

  // ---- made once
  void makeActions();
  QWidget* makeEmpty();
  QWidget* makeGraph();
  void connectAll();
  // ---- what is shown
  QString place(const std::string& cell, const std::string& file, std::uint32_t line,
                RecordNumber record) const;
  void showPage();
  void showGraph();
  void showStages();
  void showNotes();
  void applyFilter();
  // ---- what the user does
  void goToLine(const QModelIndex& index, bool enter);
  void step(int by);
};

void GraphView::Private::makeActions() {
  line = new QAction(QStringLiteral("Go to its line"), view);
  setKey(line, {Qt::Key_Return, Qt::Key_Enter},
         QStringLiteral("The text cursor goes to the line of this node, call or function"));
  line->setShortcutContext(Qt::WidgetShortcut);
  next = addKeyedAction(view, QStringLiteral("Next pass"), {Qt::Key_N},
                        QStringLiteral("Show the graph after the next pass"));
  previous = addKeyedAction(view, QStringLiteral("Previous pass"), {Qt::Key_P},
                            QStringLiteral("Show the graph before this pass"));
  input = addKeyedAction(view, QStringLiteral("Go to an input"), {Qt::Key_I},
                         QStringLiteral("Go to the node of the first input; pressed again, of the next one"));
  reader = addKeyedAction(view, QStringLiteral("Go to a reader"), {Qt::Key_R},
                          QStringLiteral("Go to the first node that reads this one's result"));
  find =
      addKeyedAction(view, QStringLiteral("Filter"), {QKeySequence::Find}, QStringLiteral("Type a filter"));
  copy = addKeyedAction(view, QStringLiteral("Copy the graph"), {QKeySequence::Copy},
                        QStringLiteral("The graph as text, a node a line"));
  guide = addKeyedAction(view, QStringLiteral("About graph functions"), {Qt::Key_H},
                         QStringLiteral("Open the guide at graph functions"));
}

QWidget* GraphView::Private::makeEmpty() {
  auto* page = new QWidget(view);
  auto* layout = new QVBoxLayout(page);
  empty = plainLabel(page);
  empty->setObjectName(QStringLiteral("graphEmpty"));
  empty->setWordWrap(true);
  empty->setAlignment(Qt::AlignCenter);
  empty->setContentsMargins(16, 4, 16, 4);
  layout->addStretch(1);
  layout->addWidget(empty);
  auto* row = new QHBoxLayout;
  row->addStretch(1);
  addTextButton(row, guide, QStringLiteral("Guide: graph functions"), page)->setAutoRaise(true);
  row->addStretch(1);
  layout->addLayout(row);
  layout->addStretch(2);
  return page;
}

QWidget* GraphView::Private::makeGraph() {
  auto* page = new QWidget(view);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  auto* bar = new WrappingLayout(nullptr);
  bar->setContentsMargins(4, 2, 4, 0);
  bar->setSpacing(4);
  stages = new QComboBox(page);
  stages->setObjectName(QStringLiteral("graphStages"));
  stages->setAccessibleName(QStringLiteral("The graph before or after a pass"));
  stages->setToolTip(
      QStringLiteral("The graph as it was traced, or after each pass; the last one runs (N, P)"));
  stages->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  bar->addWidget(stages);
  filter = new QLineEdit(page);
  filter->setObjectName(QStringLiteral("graphFilter"));
  filter->setClearButtonEnabled(true);
  filter->setPlaceholderText(QStringLiteral("Filter by op, input, shape, line"));
  filter->setMinimumWidth(filter->fontMetrics().horizontalAdvance(filter->placeholderText()) +
                          clear_button_room);
  filter->setAccessibleName(QStringLiteral("Filter of the nodes"));
  filter->setToolTip(QStringLiteral(
      "Only nodes in whose name, op, inputs, attributes, result, line or scope every word occurs, and what "
      "they are inside of (Ctrl+F; Esc clears)"));
  bar->addWidget(filter);
  layout->addLayout(bar);
  graphNote = makeNote("graphNote", page);
  layout->addWidget(graphNote);
  tree = new GraphTree(view);
  nodes = new NodeOutline(tree, page);
  layout->addWidget(nodes, 1);
  return page;
}

QString GraphView::Private::place(const std::string& cell, const std::string& file, std::uint32_t line,
                                  RecordNumber record) const {
  if (line == 0) return {};
  const QString where = cell.empty() ? QFileInfo(QString::fromStdString(file)).fileName()
                                     : cells.name(QString::fromStdString(cell), record);
  return QStringLiteral("%1 line %2").arg(where).arg(line);
}

void GraphView::Private::connectAll() {
  QObject::connect(model, &FunctionsModel::functionsChanged, view, [this] { showPage(); });
  QObject::connect(model, &FunctionsModel::graphChanged, view, [this] { showGraph(); });
  QObject::connect(model, &FunctionsModel::noteChanged, view, [this] { showNotes(); });
  QObject::connect(&cells, &CellNames::changed, functions, &FunctionList::fill);
  QObject::connect(&cells, &CellNames::changed, nodes->viewport(), qOverload<>(&QWidget::update));
  QObject::connect(functions, &FunctionList::lineWanted, view, [this](const FunctionList::Line& wanted) {
    if (wanted.line) emit view->lineWanted(wanted.cell, wanted.line, true);
  });
  QObject::connect(nodes, &NodeOutline::lineWanted, view,
                   [this](const QModelIndex& index, bool enter) { goToLine(index, enter); });
  QObject::connect(nodes, &QTreeView::doubleClicked, view, [this](const QModelIndex& index) {
    if (nodes->inputAt(nodes->viewport()->mapFromGlobal(QCursor::pos())) < 0) goToLine(index, true);
  });
  for (QAbstractItemView* list :
       {static_cast<QAbstractItemView*>(functions), static_cast<QAbstractItemView*>(nodes)}) {
    list->addAction(line);
    list->setContextMenuPolicy(Qt::ActionsContextMenu);
  }
  functions->addAction(copy);
  nodes->addActions({input, reader, copy, next, previous});
  QObject::connect(line, &QAction::triggered, view, [this] {
    if (!functions->hasFocus()) return goToLine(nodes->currentIndex(), true);
    if (const auto wanted = functions->currentLine(); wanted.line)
      emit view->lineWanted(wanted.cell, wanted.line, true);
  });
  QObject::connect(next, &QAction::triggered, view, [this] { step(1); });
  QObject::connect(previous, &QAction::triggered, view, [this] { step(-1); });
  QObject::connect(input, &QAction::triggered, nodes, &NodeOutline::goToInput);
  QObject::connect(reader, &QAction::triggered, nodes, &NodeOutline::goToReader);
  QObject::connect(find, &QAction::triggered, view, [this] {
    filter->setFocus(Qt::ShortcutFocusReason);
    filter->selectAll();
  });
  QObject::connect(copy, &QAction::triggered, view, [this] {
    if (model->rows().empty()) {
      emit view->done(QStringLiteral("There is no graph to copy"));
      return;
    }
    QGuiApplication::clipboard()->setText(graphAsText(model->rows(), model->chosenSignature()));
    emit view->done(QStringLiteral("Copied the graph"));
  });
  QObject::connect(guide, &QAction::triggered, view, [this] { emit view->guideWanted(); });
  QObject::connect(stages, &QComboBox::activated, view, [this](int stage) { model->setStage(stage); });
  filterTimer.setSingleShot(true);
  filterTimer.setInterval(150);
  QObject::connect(&filterTimer, &QTimer::timeout, view, [this] { applyFilter(); });
  QObject::connect(filter, &QLineEdit::textChanged, view, [this] { filterTimer.start(); });
  QObject::connect(filter, &QLineEdit::returnPressed, view, [this] {
    applyFilter();
    nodes->setFocus();
  });
  clearByEscape(filter, view, [this] {
    filter->clear();
    applyFilter();
    nodes->setFocus();
  });
}

void GraphView::Private::showPage() {
  const bool any = !model->functions().empty();
  empty->setText(model->emptyText());
  pages->setCurrentIndex(any ? 1 : 0);
  view->setFocusProxy(any ? static_cast<QWidget*>(functions) : nullptr);
  for (QAction* action : {line, next, previous, input, reader, find, copy}) action->setEnabled(any);
  showNotes();
}

void GraphView::Private::showStages() {
  filling = true;
  QStringList texts;
  for (std::size_t i = 0; i < model->stages().size(); ++i) texts << stageText(model->stages()[i], i == 0);
  QStringList shown;
  for (int i = 0; i < stages->count(); ++i) shown << stages->itemText(i);
  if (shown != texts) {
    stages->clear();
    stages->addItems(texts);
  }
  stages->setCurrentIndex(model->stage());
  filling = false;
}

void GraphView::Private::showGraph() {
  const protocol::GraphRow* before = tree->row(nodes->currentIndex());
  constexpr std::int64_t none = -1;
  const std::int64_t number = before && before->depth == 0 ? before->number.value_or(none) : none;
  tree->setRows(model->rows());
  nodes->expandAll();
  showStages();
  // The same node of another stage; else the first one.
  QModelIndex current = tree->index(0, 0);
  for (int i = 0; number != none && i < tree->rowCount(); ++i)
    if (const QModelIndex at = tree->index(i, 0); tree->row(at)->number.value_or(none) == number)
      current = at;
  nodes->goTo(current);
  showNotes();
}

void GraphView::Private::showNotes() {
  showNote(note, model->functions().empty() ? QString() : model->listNote());
  empty->setText(model->emptyText());
  QString text = model->graphNote();
  if (text.isEmpty() && tree->filtered()) {
    text = QStringLiteral("%1 of %2 nodes")
               .arg(countText(static_cast<quint64>(tree->matches())),
                    countText(static_cast<quint64>(tree->nodes())));
    if (const int others = tree->others())  // they are listed, and are no nodes of the list's count
      text += QStringLiteral(", and %1 %2")
                  .arg(countText(static_cast<quint64>(others)),
                       others == 1 ? QStringLiteral("argument or removed node")
                                   : QStringLiteral("arguments or removed nodes"));
  }
  if (text.isEmpty() && model->chosenGradient()) text = gradientNote();
  showNote(graphNote, text);
}

void GraphView::Private::applyFilter() {
  filterTimer.stop();
  tree->setFilter(filter->text().trimmed());
  nodes->expandAll();
  if (!nodes->currentIndex().isValid()) nodes->goTo(tree->index(0, 0));
  showNotes();
}

void GraphView::Private::goToLine(const QModelIndex& index, bool enter) {
  const protocol::GraphRow* row = tree->row(index);
  if (!row) return;
  if (row->line == 0) {
    if (enter) emit view->done(QStringLiteral("This row has no line of the program"));
    return;
  }
  emit view->lineWanted(QString::fromStdString(row->cell.empty() ? row->file : row->cell),
                        static_cast<int>(row->line), enter);
}

void GraphView::Private::step(int by) {
  const int stage = model->stage() + by;
  if (stage >= 0 && stage < static_cast<int>(model->stages().size())) model->setStage(stage);
}

GraphView::GraphView(Session& session, CellNames& cells, QWidget* parent)
    : SessionPanel(session, parent), d_(std::make_unique<Private>(this, cells)) {
  d_->model = new FunctionsModel(&session, this);
  d_->makeActions();
  d_->functions = new FunctionList(
      d_->model,
      [this](const std::string& cell, const std::string& file, std::uint32_t line, RecordNumber record) {
        return d_->place(cell, file, line, record);
      },
      this);
  d_->note = makeNote("graphListNote", this);
  d_->pages = new QStackedWidget(this);
  d_->pages->addWidget(d_->makeEmpty());
  auto* lists = new QSplitter(Qt::Vertical, this);
  lists->setChildrenCollapsible(false);
  lists->addWidget(d_->functions);
  lists->addWidget(d_->makeGraph());
  lists->setStretchFactor(0, 2);
  lists->setStretchFactor(1, 3);
  d_->pages->addWidget(lists);
  d_->tree->setPlaceText([this](const protocol::GraphRow& row) {
    const auto* trace = d_->model->chosenTrace();
    return d_->place(row.cell, row.file, row.line, trace ? trace->after.value_or(0) + 1 : 0);
  });
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(d_->note);
  layout->addWidget(d_->pages, 1);
  d_->connectAll();
  d_->showPage();
}

GraphView::~GraphView() = default;

QList<QAction*> GraphView::menuActions() const {
  return {d_->line, d_->next, d_->previous, d_->input, d_->reader, d_->find, d_->copy, d_->guide};
}

QList<HandledKeys> GraphView::handledKeys() const {
  return {{{Qt::Key_Left, Qt::Key_Right}, QStringLiteral("In Graph: fold, unfold a branch or loop")}};
}

FunctionsModel* GraphView::model() const {
  return d_->model;
}
FunctionList* GraphView::functions() const {
  return d_->functions;
}
NodeOutline* GraphView::nodes() const {
  return d_->nodes;
}
QComboBox* GraphView::stages() const {
  return d_->stages;
}
QLineEdit* GraphView::filterEdit() const {
  return d_->filter;
}
QLabel* GraphView::note() const {
  return d_->note;
}
QLabel* GraphView::graphNote() const {
  return d_->graphNote;
}
QLabel* GraphView::emptyText() const {
  return d_->empty;
}

void GraphView::showEvent(QShowEvent* event) {
  SessionPanel::showEvent(event);
  d_->model->setShown(true);
}

void GraphView::hideEvent(QHideEvent* event) {
  SessionPanel::hideEvent(event);
  d_->model->setShown(false);
}

}  // namespace tapedeck::inspector
