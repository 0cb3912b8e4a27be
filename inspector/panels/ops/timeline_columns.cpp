#include "inspector/panels/ops/timeline_columns.h"

#include <QHeaderView>
#include <QRegularExpression>
#include <QScrollBar>
#include <QSettings>
#include <QTableView>
#include <QTimer>
#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/ops/records_model.h"

namespace tapedeck::inspector {

namespace {

constexpr int sides = 14;         ///< pixels around a cell's text
constexpr int most_letters = 40;  ///< that a column takes by itself
constexpr int least_op = 140;     ///< pixels in which most ops' names can be read
constexpr int first_shape = 60;   ///< and an input
constexpr int least_shapes = 90;  ///< and a result

}  // namespace

TimelineColumns::TimelineColumns(QTableView* table) : QObject(table), table_(table) {
  const QSettings settings;
  for (int column = 0; column < RecordsModel::ColumnCount; ++column)
    if (const int width = settings.value(key(column)).toInt(); width > 0) chosen_[column] = width;
  QHeaderView* header = table_->horizontalHeader();
  header->setMinimumSectionSize(28);
  // What an op took is asked for more often than where it ran.
  header->moveSection(header->visualIndex(RecordsModel::Duration), 2);
  header->moveSection(header->visualIndex(RecordsModel::Scope), 4);
  connect(header, &QHeaderView::sectionResized, this,
          [this](int column, int, int width) { sectionResized(column, width); });
  connect(header, &QHeaderView::sectionHandleDoubleClicked, this, [this](int column) {
    chosen_.remove(column);
    QSettings().remove(key(column));
    fitNow();
  });
  for (QScrollBar* bar : {table_->verticalScrollBar(), table_->horizontalScrollBar()})
    connect(bar, &QScrollBar::valueChanged, this, [this] { fit(newest_); });
  table_->viewport()->installEventFilter(this);
  restart();
}

QString TimelineColumns::key(int column) const {
  return QStringLiteral("ops/width/%1")
      .arg(table_->model()->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().toLower());
}

void TimelineColumns::restart() {
  newest_ = 0;
  wanted_.fill(0);
  fitNow();
}

void TimelineColumns::fit(quint64 newest) {
  newest_ = std::max(newest_, newest);
  if (due_) return;
  due_ = true;
  // Once for all rows that come in one turn.
  QTimer::singleShot(0, this, &TimelineColumns::fitNow);
}

void TimelineColumns::fitNow() {
  due_ = false;
  fitting_ = true;
  for (int column = 0; column < RecordsModel::ColumnCount; ++column) {
    wanted_[column] = std::max(wanted_[column], wanted(column));
    // Most programs open no scope, and need no column for it.
    if (column == RecordsModel::Scope) table_->setColumnHidden(column, wanted_[column] == 0);
    table_->setColumnWidth(column, chosen_.value(column, wanted_[column]));
  }
  // In a narrow panel one long name does not push durations out of sight, and the shapes end where it does:
  // their results stay in sight.
  const int others = table_->columnWidth(RecordsModel::Number) + table_->columnWidth(RecordsModel::Duration);
  const int for_op = std::max(least_op, table_->viewport()->width() - others - first_shape);
  if (!chosen_.contains(RecordsModel::Op) && for_op < wanted_[RecordsModel::Op])
    table_->setColumnWidth(RecordsModel::Op, for_op);
  int before = 0;
  for (const int column : {RecordsModel::Number, RecordsModel::Op, RecordsModel::Duration})
    before += table_->columnWidth(column);
  const int room = table_->viewport()->width() - before;
  if (!chosen_.contains(RecordsModel::Shapes) && room >= least_shapes && room < wanted_[RecordsModel::Shapes])
    table_->setColumnWidth(RecordsModel::Shapes, room);
  fitting_ = false;
}

bool TimelineColumns::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) fit(newest_);
  return QObject::eventFilter(watched, event);
}

int TimelineColumns::wanted(int column) const {
  QFont bold = table_->font();
  bold.setBold(true);  // as the pending row is
  const QFontMetrics metrics(bold);
  const QAbstractItemModel* model = table_->model();
  const int first = std::max(0, table_->rowAt(0));
  const int seen =
      table_->viewport()->height() / std::max(1, table_->verticalHeader()->defaultSectionSize()) + 1;
  const int last = std::min(model->rowCount(), first + seen);
  const auto says = [&](int row) { return model->index(row, column).data().toString(); };
  if (column == RecordsModel::Scope) {
    bool any = false;
    for (int row = first; row < last && !any; ++row)
      any = model->index(row, column).data(RecordsModel::HereRole).toBool() && !says(row).isEmpty();
    if (!any) return 0;
  }
  int text = metrics.horizontalAdvance(model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
  if (column == RecordsModel::Number) {
    // The arrow of the pending row stands before its number. Digits are alike wide, so no row needs
    // measuring.
    text = std::max(text, metrics.horizontalAdvance(
                              QStringLiteral("▶ ") +
                              countText(std::max<quint64>(newest_, 999))
                                  .replace(QRegularExpression(QStringLiteral("\\d")), QStringLiteral("0"))));
    return text + sides;
  }
  if (column == RecordsModel::Duration)
    text = std::max(text, metrics.horizontalAdvance(QStringLiteral("▶ next")));
  for (int row = first; row < last; ++row) text = std::max(text, metrics.horizontalAdvance(says(row)));
  return std::min(text, most_letters * metrics.averageCharWidth()) + sides;
}

void TimelineColumns::sectionResized(int column, int width) {
  // The last column in sight takes the rest by itself.
  const QHeaderView* header = table_->horizontalHeader();
  if (fitting_ || header->visualIndex(column) == header->count() - 1) return;
  if (!header->isVisible() || width <= 0) return;
  chosen_[column] = width;
  QSettings().setValue(key(column), width);
}

}  // namespace tapedeck::inspector
