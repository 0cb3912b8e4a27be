#include "inspector/panels/graph/function_list.h"

#include <QHeaderView>
#include <QScrollBar>
#include <QSet>
#include <QStyledItemDelegate>
#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/functions/graph_text.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

constexpr int text_margins = 14;         ///< left and right of an item's text, in pixels
constexpr std::size_t most_rows = 2000;  ///< of traces: made anew with each change

enum FunctionRole { traceRole = Qt::UserRole, functionRole, cellRole, lineRole };

void setLine(QTreeWidgetItem* item, const std::string& cell, const std::string& file, std::uint32_t line) {
  item->setData(0, cellRole, QString::fromStdString(cell.empty() ? file : cell));
  item->setData(0, lineRole, static_cast<int>(line));
}

/// Of a signature that is too long the last arguments show as well as the first.
class SignatureDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.data(traceRole).isValid()) option->textElideMode = Qt::ElideMiddle;
  }
};

}  // namespace

FunctionList::FunctionList(FunctionsModel* model, PlaceText placeText, QWidget* parent)
    : QTreeWidget(parent), model_(model), placeText_(std::move(placeText)) {
  setObjectName(QStringLiteral("graphFunctions"));
  setAccessibleName(QStringLiteral("Functions and their traces"));
  setHeaderLabels({QStringLiteral("Function"), QStringLiteral("Why it was traced"), QStringLiteral("Calls"),
                   QStringLiteral("Nodes"), QStringLiteral("Traced at")});
  setColumnCount(ColumnCount);
  setUniformRowHeights(true);
  setAllColumnsShowFocus(true);
  setExpandsOnDoubleClick(false);
  setTextElideMode(Qt::ElideRight);
  setFrameShape(QFrame::NoFrame);
  header()->setStretchLastSection(true);
  setItemDelegateForColumn(Signature, new SignatureDelegate(this));
  followFont(this, [this] {
    measure();
    fit();
  });
  connect(model, &FunctionsModel::functionsChanged, this, &FunctionList::fill);
  connect(this, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (filling_ || !item) return;
    if (const quint64 trace = item->data(0, traceRole).toULongLong()) model_->choose(trace);
  });
  connect(this, &QTreeWidget::itemDoubleClicked, this, [this] { emit lineWanted(currentLine()); });
  fill();
}

FunctionList::Line FunctionList::currentLine() const {
  const QTreeWidgetItem* item = currentItem();
  if (!item) return {};
  return {item->data(0, cellRole).toString(), item->data(0, lineRole).toInt()};
}

void FunctionList::set(QTreeWidgetItem* item, int column, const QString& text, const QString& tip) {
  item->setText(column, text);
  item->setToolTip(column, plainTip(tip));
}

void FunctionList::addTraces(QTreeWidgetItem* above, const protocol::GraphFunctionInfo& function) {
  if (const QString warning = retraceWarning(function); !warning.isEmpty()) {
    auto* item = new QTreeWidgetItem(above);
    set(item, Signature, QStringLiteral("⚠ %1").arg(warning), warning);
    item->setForeground(Signature, Theme::fromPalette(palette()).warning.stroke);
    setLine(item, function.cell, function.file, function.line);
    item->setFirstColumnSpanned(true);
  }
  const std::size_t most = std::max<std::size_t>(1, most_rows / model_->functions().size());
  const std::size_t listed = std::min(most, function.traces.size());
  if (function.total > listed)
    set(above, Reason,
        QStringLiteral("%1 traces, the newest %2 listed").arg(countText(function.total), countText(listed)),
        QString::fromStdString(function.name));
  for (std::size_t i = function.traces.size() - listed; i < function.traces.size(); ++i) {
    const protocol::FunctionTrace& trace = function.traces[i];
    auto* item = new QTreeWidgetItem(above);
    const QString signature = QString::fromStdString(trace.signature), reason = reasonText(trace);
    const RecordNumber next = trace.after.value_or(0) + 1;
    QString made = placeText_(trace.cell, trace.file, trace.line, next);
    if (trace.after)
      made += (made.isEmpty() ? QStringLiteral("after op %1") : QStringLiteral(", after op %1"))
                  .arg(countText(*trace.after));
    const QString inlined =
        trace.inlined ? QStringLiteral(" (part of the graphs of functions that call it)") : QString();
    const QString tip =
        QStringLiteral("%1\n%2\n%3; %4\nEnter or a double click goes to the line that called it.")
            .arg(signature, reason, callsText(trace) + inlined, nodesText(trace));
    set(item, Signature, signature, tip);
    set(item, Reason, reason, tip);
    set(item, Calls, callsText(trace), tip);
    set(item, Nodes, nodesText(trace), tip);
    set(item, Made, made, tip);
    item->setData(0, traceRole, QVariant::fromValue<qulonglong>(trace.id));
    setLine(item, trace.cell, trace.file, trace.line);
    addGradients(item, function, trace);
  }
}

void FunctionList::addGradients(QTreeWidgetItem* above, const protocol::GraphFunctionInfo& function,
                                const protocol::FunctionTrace& trace) {
  for (const protocol::TraceGradient& gradient : trace.gradients) {
    auto* item = new QTreeWidgetItem(above);
    const QString name = gradientName(function, gradient), reason = gradientReason(gradient);
    const QString tip = QStringLiteral("%1\n%2").arg(name, reason);
    set(item, Signature, name, tip);
    set(item, Reason, reason, tip);
    if (gradient.nodes) set(item, Nodes, nodesText(gradient.nodes), tip);
    item->setData(0, traceRole, QVariant::fromValue<qulonglong>(gradient.id));
    setLine(item, trace.cell, trace.file, trace.line);
  }
  above->setExpanded(true);
}

void FunctionList::fill() {
  filling_ = true;
  QSet<quint64> folded;
  for (int i = 0; i < topLevelItemCount(); ++i)
    if (!topLevelItem(i)->isExpanded()) folded << topLevelItem(i)->data(0, functionRole).toULongLong();
  const QTreeWidgetItem* current = currentItem();
  const bool onFunction = current && !current->parent();
  const quint64 function = onFunction ? current->data(0, functionRole).toULongLong() : 0;
  const int scroll = verticalScrollBar()->value();
  clear();
  for (const auto& one : model_->functions()) {
    auto* item = new QTreeWidgetItem(this);
    const QString place = placeText_(one.cell, one.file, one.line, 0);
    const QString tip = QStringLiteral("%1\nEnter or a double click goes to its first line.")
                            .arg(QString::fromStdString(one.name));
    set(item, Signature, QString::fromStdString(one.name), tip);
    set(item, Reason,
        one.total == 1 ? QStringLiteral("1 trace") : QStringLiteral("%1 traces").arg(countText(one.total)),
        tip);
    set(item, Made, place, tip);
    QFont letters = font();
    letters.setBold(true);
    item->setFont(Signature, letters);
    item->setData(0, functionRole, QVariant::fromValue<qulonglong>(one.id));
    setLine(item, one.cell, one.file, one.line);
    addTraces(item, one);
    item->setExpanded(!folded.contains(one.id));
    if (function && one.id == function) setCurrentItem(item);
  }
  for (QTreeWidgetItemIterator at(this); *at && !currentItem(); ++at)
    if ((*at)->data(0, traceRole).toULongLong() == model_->trace() && model_->trace()) setCurrentItem(*at);
  verticalScrollBar()->setValue(scroll);
  filling_ = false;
  measure();
}

void FunctionList::resizeEvent(QResizeEvent* event) {
  QTreeWidget::resizeEvent(event);
  fit();
}

int FunctionList::contentWidth(int column) {
  constexpr int most_measured = 300;
  int widest = header()->sectionSizeHint(column), measured = 0;
  for (QTreeWidgetItemIterator at(this); *at && measured < most_measured; ++at) {
    if ((*at)->isFirstColumnSpanned()) continue;
    const int depth = !(*at)->parent() ? 1 : !(*at)->parent()->parent() ? 2 : 3;
    const int indent = column == Signature ? indentation() * depth : 0;
    const QFontMetrics metrics((*at)->parent() || column != Signature ? font() : (*at)->font(column));
    widest = std::max(widest, indent + metrics.horizontalAdvance((*at)->text(column)) + text_margins);
    ++measured;
  }
  return widest;
}

void FunctionList::measure() {
  const auto before = wanted_;
  for (int column = 0; column < ColumnCount; ++column)
    wanted_[static_cast<std::size_t>(column)] = contentWidth(column);
  if (wanted_ != before) fit();
}

// Calls and Nodes are as wide as their texts, so is Traced at while there is room: its line comes first. The
// signature and the reason, which distinguish traces, have the rest.
void FunctionList::fit() {
  const auto wide = [this](const char* text) {
    return fontMetrics().horizontalAdvance(QLatin1String(text)) + text_margins;
  };
  const int room = viewport()->width() - wanted_[Calls] - wanted_[Nodes];
  const int line = std::min(wanted_[Made], wide("cell [88] line 888"));
  const int made = std::clamp(room - wanted_[Signature] - wanted_[Reason], line, wanted_[Made]);
  const int least = wide("step(x: float32 (3,))"), rest = std::max(room - made, 2 * least);
  int signature = rest / 2;
  if (wanted_[Reason] < rest - signature)
    signature = std::max(signature, std::min(wanted_[Signature], rest - std::max(least, wanted_[Reason])));
  else if (wanted_[Signature] < signature)
    signature = std::max(least, wanted_[Signature]);
  header()->resizeSection(Signature, signature);
  header()->resizeSection(Reason, rest - signature);
  header()->resizeSection(Calls, wanted_[Calls]);
  header()->resizeSection(Nodes, wanted_[Nodes]);
}

}  // namespace tapedeck::inspector
