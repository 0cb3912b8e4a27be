#include "inspector/panels/memory/memory_view.h"

#include <QApplication>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMouseEvent>
#include <QScrollBar>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/panels/memory/memory_chart.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/row_list.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

using protocol::MemoryGroup;

namespace {

enum MemoryColumn { whatColumn, bytesColumn, madeColumn, whereColumn, holderColumn, columnCount };
enum MemorySavingColumn { scopeColumn, savesColumn, heldColumn, timeColumn, opsColumn, savingColumnCount };

constexpr int recordRole = Qt::UserRole;

QString groupText(MemoryGroup group) {
  switch (group) {
    case MemoryGroup::tensor:
      return QStringLiteral("Tensors");
    case MemoryGroup::holder:
      return QStringLiteral("Holders");
    case MemoryGroup::line:
      return QStringLiteral("Lines");
    case MemoryGroup::scope:
      return QStringLiteral("Scopes");
  }
  return {};
}

QTreeWidget* makeTable(QWidget* parent, const char* name, const QString& accessible,
                       const QStringList& titles) {
  QTreeWidget* table = makeRowList(parent, QLatin1String(name), accessible, titles);
  table->setTextElideMode(Qt::ElideRight);
  table->header()->setStretchLastSection(true);
  return table;
}

}  // namespace

struct MemoryView::Private {
  MemoryView* view = nullptr;
  MemoryModel* model = nullptr;
  MemoryChart* chart = nullptr;
  QLabel *growth = nullptr, *summary = nullptr, *savingsText = nullptr;
  QStackedWidget* pages = nullptr;
  QTreeWidget *table = nullptr, *savings = nullptr;
  QAction *peak = nullptr, *grows = nullptr, *groupBy = nullptr, *recompute = nullptr, *spanBegin = nullptr,
          *spanEnd = nullptr, *scopes = nullptr, *recorder = nullptr, *show = nullptr;
  std::function<QString(const QString&, RecordNumber)> cellName;
  bool filling = false;

  QAction* addAction(const QString& text, const QKeySequence& key, const QString& tip, QLayout* bar) {
    QAction* action = addKeyedAction(view, tip, {key}, tip);
    action->setIconText(text);
    auto* button = new QToolButton(view);
    button->setDefaultAction(action);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    button->setAutoRaise(true);
    button->setAccessibleName(tip);
    bar->addWidget(button);
    return action;
  }

  QWidget* makeBar() {
    auto* widget = new QWidget(view);
    auto* bar = new WrappingLayout(widget);
    bar->setContentsMargins(4, 2, 4, 0);
    bar->setSpacing(4);
    peak = addAction(QStringLiteral("Peak"), Qt::Key_P, QStringLiteral("Go to the op with the most memory"),
                     bar);
    grows = addAction(QStringLiteral("Growth"), Qt::Key_G,
                      QStringLiteral("Go to the newest op of what grows most, or grew"), bar);
    groupBy = addAction(groupText(MemoryGroup::holder), Qt::Key_B,
                        QStringLiteral("Group the table by holder, line, scope, or not at all"), bar);
    recompute = addAction(QStringLiteral("Recompute"), Qt::Key_R,
                          QStringLiteral("Show what tf.recompute_grad would save at the peak"), bar);
    recompute->setCheckable(true);
    spanBegin = addAction(QStringLiteral("From here"), Qt::Key_BracketLeft,
                          QStringLiteral("Recompute from the cursor's op on"), bar);
    spanEnd = addAction(QStringLiteral("Up to here"), Qt::Key_BracketRight,
                        QStringLiteral("Recompute up to the cursor's op"), bar);
    scopes = addAction(QStringLiteral("By scope"), Qt::Key_S,
                       QStringLiteral("Recompute scope by scope, not a span"), bar);
    recorder = addAction(QStringLiteral("Recorder"), Qt::Key_D,
                         QStringLiteral("Draw the recorder's memory, on a scale of its own"), bar);
    recorder->setCheckable(true);
    QObject::connect(recorder, &QAction::toggled, chart, &MemoryChart::setRecorderShown);
    QObject::connect(peak, &QAction::triggered, model, &MemoryModel::goToPeak);
    QObject::connect(grows, &QAction::triggered, model, &MemoryModel::goToGrowth);
    QObject::connect(groupBy, &QAction::triggered, view, [this] { nextGroup(); });
    QObject::connect(recompute, &QAction::toggled, view, [this](bool on) { showRecompute(on); });
    QObject::connect(spanBegin, &QAction::triggered, view, [this] { setSpan(true); });
    QObject::connect(spanEnd, &QAction::triggered, view, [this] { setSpan(false); });
    QObject::connect(scopes, &QAction::triggered, view, [this] {
      model->setSpan(0, 0);
      recompute->setChecked(true);
      chart->update();
    });
    return widget;
  }

  QLabel* makeText(const char* name) {
    auto* label = plainLabel(view);
    label->setObjectName(QLatin1String(name));
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setContentsMargins(8, 2, 8, 2);
    return label;
  }

  void makeTables() {
    table = makeTable(view, "memoryTable", QStringLiteral("What is alive at the cursor"),
                      {QStringLiteral("What"), QStringLiteral("Bytes"), QStringLiteral("Made by"),
                       QStringLiteral("Where"), QStringLiteral("Held by")});
    savings = makeTable(
        view, "memorySavings", QStringLiteral("What recomputing would save"),
        {QStringLiteral("Around"), QStringLiteral("Saves"), QStringLiteral("Of what the tape holds there"),
         QStringLiteral("Costs"), QStringLiteral("Ops")});
    show = new QAction(QStringLiteral("Show the op"), view);
    setKey(show, {Qt::Key_Return, Qt::Key_Enter}, QStringLiteral("Go to the op that made this"));
    show->setShortcutContext(Qt::WidgetShortcut);
    for (QTreeWidget* one : {table, savings}) {
      one->addAction(show);
      one->installEventFilter(view);
      QObject::connect(one, &QTreeWidget::itemDoubleClicked, view,
                       [this](QTreeWidgetItem* item) { go(item); });
    }
    QObject::connect(show, &QAction::triggered, view,
                     [this] { go((pages->currentIndex() == 0 ? table : savings)->currentItem()); });
    QObject::connect(table->verticalScrollBar(), &QScrollBar::valueChanged, view, [this](int value) {
      if (value >= table->verticalScrollBar()->maximum() - 2 && !filling) model->fetchMore();
    });
  }

  void go(QTreeWidgetItem* item) {
    if (!item) return;
    if (const auto record = item->data(0, recordRole).toULongLong()) model->session()->setCursor(record);
  }

  void nextGroup() {
    constexpr MemoryGroup order[] = {MemoryGroup::holder, MemoryGroup::line, MemoryGroup::scope,
                                     MemoryGroup::tensor};
    const auto at = std::find(std::begin(order), std::end(order), model->group()) - std::begin(order);
    const MemoryGroup next = order[static_cast<std::size_t>(at + 1) % std::size(order)];
    groupBy->setIconText(groupText(next));
    recompute->setChecked(false);
    model->setGroup(next);
  }

  void showRecompute(bool on) {
    QWidget* const shown = on ? savings : table;
    const bool focused = view->isAncestorOf(QApplication::focusWidget());
    pages->setCurrentIndex(on ? 1 : 0);
    view->setFocusProxy(shown);
    if (focused) shown->setFocus();  // or it would leave the panel, and its keys with it
    model->setSavingsShown(on);
  }

  void setSpan(bool begin) {
    const RecordNumber cursor = model->session()->cursor();
    if (cursor == 0) return;
    RecordNumber first = begin ? cursor : std::min(cursor, model->spanFirst() ? model->spanFirst() : cursor);
    RecordNumber last = begin ? std::max(cursor, model->spanLast()) : cursor;
    model->setSpan(first, last);
    chart->update();
    recompute->setChecked(true);
  }

  /// `record`: that the line ran; 0: none.
  QString place(const std::string& cell, const std::string& file, std::uint32_t line,
                RecordNumber record) const {
    QString text;
    if (!cell.empty()) {
      const QString id = QString::fromStdString(cell);
      text = cellName ? cellName(id, record) : id;
    } else if (!file.empty()) {
      text = QFileInfo(QString::fromStdString(file)).fileName();
    }
    if (line) text += (text.isEmpty() ? QStringLiteral("line %1") : QStringLiteral(" line %1")).arg(line);
    return text;
  }

  QString whatText(const protocol::MemoryRow& row) const {
    QString text = QString::fromStdString(row.name);
    if (model->stateGroup() == MemoryGroup::line && text.isEmpty())
      text = place(row.cell, row.file, row.line, row.record.value_or(0));
    if (text.isEmpty()) return tensorText(row.tensor);
    return row.count > 1 ? QStringLiteral("%1 (%2 storages)").arg(text, countText(row.count)) : text;
  }

  void setCell(QTreeWidgetItem* item, int column, const QString& text) {
    item->setText(column, text);
    item->setToolTip(
        column, plainTip(text + QStringLiteral("\nEnter or a double click goes to the op that made it.")));
  }

  /// Those of the state that the table does not have yet.
  void addRows() {
    const protocol::MemoryState* state = model->state();
    if (!state) return;
    QList<QTreeWidgetItem*> items;
    for (auto i = static_cast<std::size_t>(table->topLevelItemCount()); i < state->rows.size(); ++i) {
      const protocol::MemoryRow& row = state->rows[i];
      auto* item = new QTreeWidgetItem;
      setCell(item, whatColumn, whatText(row));
      setCell(item, bytesColumn, memoryText(static_cast<double>(row.bytes)));
      setCell(item, madeColumn,
              row.record
                  ? QStringLiteral("%1 · op %2").arg(QString::fromStdString(row.op), countText(*row.record))
                  : QStringLiteral("no op"));
      setCell(item, whereColumn, place(row.cell, row.file, row.line, row.record.value_or(0)));
      setCell(item, holderColumn, model->holderOf(row));
      item->setTextAlignment(bytesColumn, Qt::AlignRight | Qt::AlignVCenter);
      item->setData(0, recordRole, QVariant::fromValue<qulonglong>(row.record.value_or(0)));
      items << item;
    }
    table->addTopLevelItems(items);
  }

  void fillTable() {
    filling = true;
    const int at = table->indexOfTopLevelItem(table->currentItem());
    const int scroll = table->verticalScrollBar()->value();
    table->clear();
    addRows();
    if (at >= 0 && at < table->topLevelItemCount()) table->setCurrentItem(table->topLevelItem(at));
    if (!table->currentItem() && table->topLevelItemCount()) table->setCurrentItem(table->topLevelItem(0));
    if (at >= 0) table->verticalScrollBar()->setValue(scroll);
    filling = false;
  }

  /// Names say who holds what.
  void showNames() {
    showGrowth();
    const protocol::MemoryState* state = model->state();
    for (int i = 0; state && i < table->topLevelItemCount(); ++i) {
      const QString holder = model->holderOf(state->rows[static_cast<std::size_t>(i)]);
      QTreeWidgetItem* item = table->topLevelItem(i);
      if (item->text(holderColumn) != holder) setCell(item, holderColumn, holder);
    }
  }

  void fillSavings() {
    const protocol::RecomputeSavings* answer = model->savings();
    savings->clear();
    savingsText->setText(answer ? QString::fromStdString(answer->sentence) : model->waitingText());
    if (!answer) return;
    for (const protocol::RecomputeSaving& saving : answer->savings) {
      const QString around =
          saving.scope ? QString::fromStdString(*saving.scope)
                       : QStringLiteral("ops %1 to %2").arg(countText(saving.first), countText(saving.last));
      auto* item = new QTreeWidgetItem(savings, {around, memoryText(static_cast<double>(saving.bytes)),
                                                 memoryText(static_cast<double>(saving.held)),
                                                 durationText(saving.again_ns), countText(saving.ops)});
      item->setData(0, recordRole, QVariant::fromValue<qulonglong>(saving.first));
      for (int column = 0; column < savingColumnCount; ++column)
        item->setToolTip(column, plainTip(QString::fromStdString(saving.sentence)));
    }
    if (savings->topLevelItemCount()) savings->setCurrentItem(savings->topLevelItem(0));
  }

  void showGrowth() {
    const protocol::MemoryCurve* curve = model->curve();
    QStringList lines;
    if (curve)
      for (const protocol::MemoryGrowth& one : curve->growth) {
        QString text = (one.freed ? QStringLiteral("△ ") : QStringLiteral("▲ ")) + model->growthText(one);
        const QString where = place(one.cell, one.file, one.line, one.record);
        if (!one.cell.empty() || !one.file.empty()) text += QStringLiteral(" (%1)").arg(where);
        lines << text;
      }
    growth->setText(lines.join(QLatin1Char('\n')));
    growth->setVisible(!lines.isEmpty());
    grows->setEnabled(!lines.isEmpty());
    peak->setEnabled(curve && curve->peak_record);
  }

  void showSummary() {
    const bool known = model->problem().isEmpty() && model->state();
    summary->setText(known ? model->summary() : model->waitingText());
    if (!model->savings()) savingsText->setText(model->waitingText());
    chart->update();
  }

  /// What is long is cut, but no number, and no place.
  void fitColumns(QTreeWidget* one) {
    const QFontMetrics metrics = one->fontMetrics();
    const auto wide = [&](const char* text) { return metrics.horizontalAdvance(QLatin1String(text)) + 14; };
    const int rest = one->width();  // its viewport is sized after it
    if (rest < 200) return;
    if (one == savings) {
      one->setColumnWidth(scopeColumn, std::max(wide("ops 100,000 to 100,000"), rest / 4));
      one->setColumnWidth(savesColumn, wide("999.9 bytes"));
      one->setColumnWidth(heldColumn, wide("Of what the tape holds there"));
      one->setColumnWidth(timeColumn, wide("999.9 ms"));
      return;
    }
    const int fixed = wide("999.9 bytes") + wide("cell [88] line 888");
    const int each = std::max(wide("the program"), (rest - fixed) / 3);
    one->setColumnWidth(whatColumn, each);
    one->setColumnWidth(bytesColumn, wide("999.9 bytes"));
    one->setColumnWidth(madeColumn, each);
    one->setColumnWidth(whereColumn, wide("cell [88] line 888"));
  }
};

MemoryView::MemoryView(Session& session, QWidget* parent)
    : SessionPanel(session, parent), d_(std::make_unique<Private>()) {
  d_->view = this;
  d_->model = new MemoryModel(&session, this);
  d_->chart = new MemoryChart(d_->model, this);
  d_->growth = d_->makeText("memoryGrowth");
  d_->growth->setCursor(Qt::PointingHandCursor);
  d_->growth->setToolTip(
      QStringLiteral("What stays alive from each iteration of the loop (▲), or did until a later cell freed "
                     "it (△). A click goes to its newest op."));
  d_->growth->installEventFilter(this);
  d_->summary = d_->makeText("memorySummary");
  d_->savingsText = d_->makeText("memorySavingsText");
  d_->makeTables();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(d_->makeBar());
  layout->addWidget(d_->growth);
  auto* lower = new QWidget(this);
  auto* below = new QVBoxLayout(lower);
  below->setContentsMargins(0, 0, 0, 0);
  below->setSpacing(2);
  below->addWidget(d_->summary);
  d_->pages = new QStackedWidget(this);
  d_->pages->addWidget(d_->table);
  auto* recompute = new QWidget(this);
  auto* column = new QVBoxLayout(recompute);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(d_->savingsText);
  column->addWidget(d_->savings, 1);
  d_->pages->addWidget(recompute);
  below->addWidget(d_->pages, 1);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->setChildrenCollapsible(false);
  splitter->addWidget(d_->chart);
  splitter->addWidget(lower);
  splitter->setStretchFactor(0, 2);
  splitter->setStretchFactor(1, 3);
  layout->addWidget(splitter, 1);
  setFocusProxy(d_->table);
  connect(d_->model, &MemoryModel::curveChanged, this, [this] { d_->showGrowth(); });
  connect(d_->model, &MemoryModel::namesChanged, this, [this] { d_->showNames(); });
  connect(d_->model, &MemoryModel::stateChanged, this, &MemoryView::showState);
  connect(d_->model, &MemoryModel::rowsAdded, this, [this] { d_->addRows(); });
  connect(d_->model, &MemoryModel::savingsChanged, this, [this] { d_->fillSavings(); });
  connect(d_->model, &MemoryModel::problemChanged, this, [this] { d_->showSummary(); });
  showState();
}

MemoryView::~MemoryView() = default;

void MemoryView::showState() {
  d_->showGrowth();
  d_->showSummary();
  d_->fillTable();
}

QList<QAction*> MemoryView::menuActions() const {
  return {d_->peak,    d_->grows,  d_->groupBy,  d_->recompute, d_->spanBegin,
          d_->spanEnd, d_->scopes, d_->recorder, d_->show};
}

QList<HandledKeys> MemoryView::handledKeys() const {
  return {
      {{Qt::Key_Left, Qt::Key_Right}, QStringLiteral("In Memory's curve: the piece before, the next piece")},
      {{Qt::Key_Plus, Qt::Key_Minus, Qt::Key_0},
       QStringLiteral("In Memory's curve: zoom in, out, show the whole run")}};
}

void MemoryView::setCellName(std::function<QString(const QString&, RecordNumber)> name) {
  d_->cellName = std::move(name);
  showState();
}

MemoryModel* MemoryView::model() const {
  return d_->model;
}
MemoryChart* MemoryView::chart() const {
  return d_->chart;
}
QTreeWidget* MemoryView::table() const {
  return d_->table;
}
QTreeWidget* MemoryView::savings() const {
  return d_->savings;
}
QLabel* MemoryView::growth() const {
  return d_->growth;
}
QLabel* MemoryView::summary() const {
  return d_->summary;
}

void MemoryView::showEvent(QShowEvent* event) {
  SessionPanel::showEvent(event);
  d_->model->setShown(true);
}

void MemoryView::hideEvent(QHideEvent* event) {
  SessionPanel::hideEvent(event);
  d_->model->setShown(false);
}

bool MemoryView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == d_->growth && event->type() == QEvent::MouseButtonRelease) d_->model->goToGrowth();
  if (event->type() == QEvent::Resize)
    for (QTreeWidget* table : {d_->table, d_->savings})
      if (watched == table) d_->fitColumns(table);
  return SessionPanel::eventFilter(watched, event);
}

}  // namespace tapedeck::inspector
