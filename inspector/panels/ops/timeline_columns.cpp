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
#include "inspector/ui/follow_font.h"

namespace tapedeck::inspector {

namespace {

constexpr int sides = 14;         ///< pixels around a cell's text
constexpr int most_letters = 40;  ///< that a column takes by itself
constexpr int least_op = 17;      ///< letters in which most ops' names can be read
constexpr int least_shapes = 13;  ///< and a result
constexpr int least_call = 14;    ///< and the beginning of a call
constexpr int short_call = 9;     ///< and which function it is of

bool is_hidden_where_empty(int column) {
  return column == RecordsModel::Scope || column == RecordsModel::Call;
}

}  // namespace

TimelineColumns::TimelineColumns(QTableView* table) : QObject(table), table_(table) {
  const QSettings settings;
  for (int column = 0; column < RecordsModel::ColumnCount; ++column)
    if (const int width = settings.value(key(column)).toInt(); width > 0) chosen_[column] = width;
  QHeaderView* header = table_->horizontalHeader();
  header->setMinimumSectionSize(28);
  // What an op took is asked for more often than where it ran.
  header->moveSection(header->visualIndex(RecordsModel::Call), 2);
  header->moveSection(header->visualIndex(RecordsModel::Duration), 3);
  header->moveSection(header->visualIndex(RecordsModel::Scope), 5);
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
  followFont(table_, [this] {
    wanted_.fill(0);
    results_ = 0;
    fit(newest_);
  });
}

QString TimelineColumns::key(int column) const {
  return QStringLiteral("ops/width/%1")
      .arg(table_->model()->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().toLower());
}

void TimelineColumns::restart() {
  newest_ = 0;
  results_ = 0;
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
    // Most programs open no scope, and need no column for it; those in C++ have no calls.
    if (is_hidden_where_empty(column)) table_->setColumnHidden(column, wanted_[column] == 0);
    table_->setColumnWidth(column, chosen_.value(column, wanted_[column]));
  }
  share();
  fitting_ = false;
}

/// In a narrow panel one long name or call pushes neither durations nor shapes out of sight: the shapes end
/// where the panel does, and are cut on their left, so that the results stay.
void TimelineColumns::share() {
  const int letter = table_->fontMetrics().averageCharWidth();
  const int others = table_->columnWidth(RecordsModel::Number) + table_->columnWidth(RecordsModel::Duration);
  int room = table_->viewport()->width() - others;
  const bool op_is_chosen = chosen_.contains(RecordsModel::Op);
  const int op_wanted = op_is_chosen ? chosen_[RecordsModel::Op] : wanted_[RecordsModel::Op];
  const int least = op_is_chosen ? op_wanted : std::min(op_wanted, least_op * letter + sides);
  const int shapes_wanted = wanted_[RecordsModel::Shapes];
  const int shapes_least = std::min(shapes_wanted, least_shapes * letter + sides);
  results_ = std::max(results_, resultWidth());
  room -= shareWithCall(room - least - std::max(shapes_least, std::min(results_, shapes_wanted)),
                        room - op_wanted - shapes_wanted);
  // First all results, then the names, then what went in.
  const int for_shapes = std::max(room - op_wanted, std::min(results_, room - least));
  const int shapes = std::clamp(for_shapes, shapes_least, shapes_wanted);
  if (!op_is_chosen)
    table_->setColumnWidth(RecordsModel::Op, std::clamp(room - shapes, least, std::max(least, op_wanted)));
  if (!chosen_.contains(RecordsModel::Shapes)) table_->setColumnWidth(RecordsModel::Shapes, shapes);
}

/// Calls are beside the ops' names where there is room for the name of a function at least, else behind the
/// shapes. `most`: what names and results leave; `spare`: what nothing else wants. Returns what it takes.
int TimelineColumns::shareWithCall(int most, int spare) {
  const int wanted = wanted_[RecordsModel::Call];
  if (wanted == 0) return 0;
  const int letter = table_->fontMetrics().averageCharWidth();
  const bool is_chosen = chosen_.contains(RecordsModel::Call);
  const int width = is_chosen ? chosen_[RecordsModel::Call]
                              : std::min({wanted, most, std::max(spare, least_call * letter + sides)});
  const bool fits = width <= most && (is_chosen || width >= std::min(wanted, short_call * letter + sides));
  QHeaderView* header = table_->horizontalHeader();
  const int place = fits ? 2 : 4;
  if (const int now = header->visualIndex(RecordsModel::Call); now != place) header->moveSection(now, place);
  if (!fits) return 0;
  table_->setColumnWidth(RecordsModel::Call, width);
  return width;
}

/// Of the widest result among the visible rows, as it is shown where the inputs are cut off.
int TimelineColumns::resultWidth() const {
  const QFontMetrics metrics = table_->fontMetrics();
  const QAbstractItemModel* model = table_->model();
  const int first = std::max(0, table_->rowAt(0));
  const int last = std::min(model->rowCount(), first + rowsInSight());
  int widest = 0;
  for (int row = first; row < last; ++row) {
    const QString text = model->index(row, RecordsModel::Shapes).data().toString();
    const qsizetype arrow = text.indexOf(QStringLiteral("→"));
    if (arrow < 0) continue;
    const QString result = QStringLiteral("… ") + text.mid(arrow);
    widest = std::max(widest, metrics.horizontalAdvance(arrow > 1 ? result : text));
  }
  return std::min(widest, most_letters * metrics.averageCharWidth()) + sides;
}

int TimelineColumns::rowsInSight() const {
  return table_->viewport()->height() / std::max(1, table_->verticalHeader()->defaultSectionSize()) + 1;
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
  const int last = std::min(model->rowCount(), first + rowsInSight());
  const auto says = [&](int row) { return model->index(row, column).data().toString(); };
  if (is_hidden_where_empty(column)) {
    bool any = false;
    for (int row = first; row < last && !any; ++row)
      any = model->index(row, column).data(RecordsModel::HereRole).toBool() && !says(row).isEmpty();
    if (!any) return 0;
  }
  int text = metrics.horizontalAdvance(model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
  if (column == RecordsModel::Number) {
    // The arrow of the pending row is before its number. Digits are alike wide, so no row needs
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
  // The last visible column takes the rest by itself.
  const QHeaderView* header = table_->horizontalHeader();
  if (fitting_ || header->visualIndex(column) == header->count() - 1) return;
  if (!header->isVisible() || width <= 0) return;
  chosen_[column] = width;
  QSettings().setValue(key(column), width);
}

}  // namespace tapedeck::inspector
