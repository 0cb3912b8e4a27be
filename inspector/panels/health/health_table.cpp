#include "inspector/panels/health/health_table.h"

#include <QHeaderView>
#include <QPainter>
#include <QResizeEvent>
#include <algorithm>
#include <array>
#include <cmath>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/panels/health/health_text.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

const std::array<std::string, 5> quantities = {"gradient", "update", "rank", "dead", "saturated"};
constexpr int name_width = 150, least_strip = 70;

/// The height of a value between 0 and 1.
double heightOf(const std::string& quantity, double value, std::pair<double, double> range) {
  if (!isLogarithmic(quantity)) {
    const double most = quantity == "rank" ? std::max(range.second, 1.0) : 1.0;
    return std::clamp(value / most, 0.0, 1.0);
  }
  if (!(value > 0)) return 0;
  const double low = std::log10(range.first) - 0.3, high = std::log10(range.second);
  return high > low ? std::clamp((std::log10(value) - low) / (high - low), 0.0, 1.0) : 0.5;
}

}  // namespace

HealthTableModel::HealthTableModel(HealthModel* model, QObject* parent)
    : QAbstractTableModel(parent), model_(model) {
  connect(model, &HealthModel::changed, this, &HealthTableModel::look);
  look();
}

void HealthTableModel::look() {
  const int now = model_->rowCount();
  if (now > rows_) {
    beginInsertRows({}, rows_, now - 1);
    rows_ = now;
    endInsertRows();
  } else if (now < rows_) {
    beginRemoveRows({}, now, rows_ - 1);
    rows_ = now;
    endRemoveRows();
  }
  if (rows_ > 0) emit dataChanged(index(0, 0), index(rows_ - 1, columnCount() - 1));
}

int HealthTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : rows_;
}
int HealthTableModel::columnCount(const QModelIndex&) const {
  return 1 + static_cast<int>(quantities.size());
}

const std::string& HealthTableModel::quantity(int column) {
  return quantities[static_cast<std::size_t>(column - 1)];
}

int HealthTableModel::rowOfSubject(HealthSubjectId subject) const {
  for (int row = 0; row < rows_; ++row)
    if (const protocol::HealthRow* here = model_->row(row); here && here->subject == subject) return row;
  return -1;
}

const protocol::HealthStrip* HealthTableModel::strip(const QModelIndex& index) const {
  const protocol::HealthRow* row = model_->row(index.row());
  if (!row || index.column() == 0) return nullptr;
  for (const protocol::HealthStrip& strip : row->strips)
    if (strip.quantity == quantity(index.column())) return &strip;
  return nullptr;
}

// The norms are those of the finite elements.
bool HealthTableModel::isBroken(const QModelIndex& index) const {
  const protocol::HealthStrip* cell = strip(index);
  if (!cell || (cell->quantity != "gradient" && cell->quantity != "update")) return false;
  return std::ranges::any_of(model_->row(index.row())->strips, [](const protocol::HealthStrip& other) {
    return other.quantity == "not finite" && other.newest > 0;
  });
}

QVariant HealthTableModel::data(const QModelIndex& index, int role) const {
  const protocol::HealthRow* row = model_->row(index.row());
  if (!row)
    return role == Qt::DisplayRole && index.column() == 0 ? QVariant(QStringLiteral("…")) : QVariant();
  const QString name = QString::fromStdString(row->name);
  if (index.column() == 0) {
    if (role == Qt::ToolTipRole) {
      const QString shape = row->shape.empty() ? QString() : QStringLiteral(" ") + shapeText(row->shape);
      return plainTip(name + shape + (row->line ? QStringLiteral(", line %1").arg(row->line) : QString()));
    }
    if (role != Qt::DisplayRole && role != Qt::AccessibleTextRole) return {};
    const bool shows = row->kind == protocol::HealthKind::loss && !row->strips.empty();
    return shows ? QStringLiteral("%1 = %2").arg(name, healthValueText("loss", row->strips[0].newest)) : name;
  }
  const protocol::HealthStrip* cell = strip(index);
  if (!cell) return {};
  const QString value =
      isBroken(index) ? QStringLiteral("NaN/inf") : healthValueText(cell->quantity, cell->newest);
  if (role == Qt::DisplayRole) return value;
  const QString whole = QStringLiteral("%1, %2: %3").arg(name, healthQuantityText(cell->quantity), value);
  if (role == Qt::ToolTipRole) return plainTip(whole + QLatin1Char('\n') + healthQuantityTip(cell->quantity));
  return role == Qt::AccessibleTextRole ? QVariant(whole) : QVariant();
}

QVariant HealthTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (section == 0) return role == Qt::DisplayRole ? QVariant(QStringLiteral("Layer")) : QVariant();
  if (role == Qt::DisplayRole) return healthQuantityText(quantity(section));
  return role == Qt::ToolTipRole ? QVariant(plainTip(healthQuantityTip(quantity(section)))) : QVariant();
}

// The palette's own highlight is the colour of the bars.
void HealthStripDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const Theme theme = Theme::fromPalette(option->palette);
  option->palette.setColor(QPalette::Highlight, theme.selection);
  option->palette.setColor(QPalette::HighlightedText, theme.text);
}

void HealthStripDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                                const QModelIndex& index) const {
  if (index.column() == 0) return QStyledItemDelegate::paint(painter, option, index);
  const auto* rows = qobject_cast<const HealthTableModel*>(index.model());
  const protocol::HealthStrip* strip = rows ? rows->strip(index) : nullptr;
  QStyleOptionViewItem plain = option;
  initStyleOption(&plain, index);
  const Theme theme = Theme::fromPalette(option.palette);
  const bool selected = option.state.testFlag(QStyle::State_Selected);
  painter->fillRect(option.rect, selected ? theme.selection : theme.background);
  if (!strip) return;
  painter->save();
  const int textWidth = option.fontMetrics.horizontalAdvance(QStringLiteral("8.88e-08")) + 6;
  const QRect text = option.rect.adjusted(4, 0, 0, 0);
  const bool broken = rows->isBroken(index);
  const bool grave =
      broken || ((strip->quantity == "dead" || strip->quantity == "saturated") && strip->newest >= 0.4);
  painter->setPen(grave ? theme.error.stroke : theme.text);
  painter->drawText(QRect(text.left(), text.top(), textWidth, text.height()),
                    Qt::AlignVCenter | Qt::AlignLeft,
                    plain.text + (grave && !broken ? QStringLiteral(" ▲") : QString()));
  const QRect area = option.rect.adjusted(textWidth + 4, 3, -4, -3);
  const auto range = rows->model()->range(strip->quantity);
  const auto count = static_cast<int>(strip->values.size());
  const QColor bar = grave && !broken ? theme.error.stroke : theme.accent;
  double value = std::nan("");  // steps between two samples repeat the previous one
  for (int i = 0; i < count && area.width() > 8; ++i) {
    const double here = strip->values[static_cast<std::size_t>(i)];
    const bool sampled = !std::isnan(here);
    if (sampled) value = here;
    if (std::isnan(value)) continue;
    const int left = area.left() + area.width() * i / count,
              right = area.left() + area.width() * (i + 1) / count;
    if (std::isinf(value)) {
      painter->fillRect(left, area.top(), std::max(1, right - left), area.height(), theme.error.fill);
      continue;
    }
    const int height = std::max(1, static_cast<int>(heightOf(strip->quantity, value, range) * area.height()));
    painter->fillRect(left, area.bottom() + 1 - height, std::max(1, right - left), height,
                      sampled ? bar : mix(theme.background, bar, 0.45));
  }
  painter->restore();
}

HealthTable::HealthTable(HealthModel* model, QWidget* parent)
    : QTableView(parent), model_(model), rows_(new HealthTableModel(model, this)) {
  setModel(rows_);
  setObjectName(QStringLiteral("healthTable"));
  setAccessibleName(QStringLiteral("Gradients, weights and activations over the steps"));
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setShowGrid(false);
  setWordWrap(false);
  setFrameShape(QFrame::NoFrame);
  setTabKeyNavigation(false);
  verticalHeader()->hide();
  followFont(this, [this] { verticalHeader()->setDefaultSectionSize(fontMetrics().lineSpacing() + 8); });
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  horizontalHeader()->setMinimumSectionSize(40);
  setItemDelegate(new HealthStripDelegate(this));
  connect(model, &HealthModel::changed, this, &HealthTable::tellVisible);
  connect(model, &HealthModel::selectionChanged, this, [this] {
    const int row = rows_->rowOfSubject(model_->selected());
    if (row >= 0 && currentIndex().row() != row) setCurrentIndex(rows_->index(row, 0));
  });
}

void HealthTable::fit() {
  const int columns = rows_->columnCount() - 1;
  const int name = std::clamp(width() / 5, name_width * 2 / 3, 2 * name_width);
  const int each = std::max(least_strip, (viewport()->width() - name) / columns);
  setColumnWidth(0, name);
  for (int column = 1; column <= columns; ++column) setColumnWidth(column, each);
}

void HealthTable::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  fit();
  tellVisible();
}

void HealthTable::scrollContentsBy(int dx, int dy) {
  QTableView::scrollContentsBy(dx, dy);
  tellVisible();
}

void HealthTable::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableView::currentChanged(current, previous);
  if (const protocol::HealthRow* row = model_->row(current.row())) model_->select(row->subject);
}

void HealthTable::tellVisible() {
  const int first = std::max(0, rowAt(0));
  const int rows = viewport()->height() / std::max(1, verticalHeader()->defaultSectionSize()) + 2;
  model_->setVisibleRows(first, rows);
}

}  // namespace tapedeck::inspector
