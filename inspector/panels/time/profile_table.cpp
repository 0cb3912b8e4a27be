#include "inspector/panels/time/profile_table.h"

#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/runs/profile_text.h"

namespace tapedeck::inspector {

namespace {

using protocol::ProfileGroup;
using protocol::ProfileOrder;

double part(std::int64_t some, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(some) / static_cast<double>(whole) : 0;
}

qint64 meanOf(std::int64_t total, std::uint64_t count) {
  return count > 0 ? total / static_cast<std::int64_t>(count) : 0;
}

}  // namespace

ProfileTable::ProfileTable(ProfileModel* model, CellNames* cells, QObject* parent)
    : QAbstractTableModel(parent), model_(model), cells_(cells) {
  connect(model, &ProfileModel::totalsChanged, this, &ProfileTable::take);
  connect(model, &ProfileModel::overviewChanged, this, [this] {
    if (gaps_) take();
  });
  connect(cells, &CellNames::changed, this, &ProfileTable::take);
}

void ProfileTable::setGaps(bool gaps) {
  if (gaps_ == gaps) return;
  gaps_ = gaps;
  take();
  emit headerDataChanged(Qt::Horizontal, 0, column_count - 1);
}

// Rows that stay where they are keep who looks at them.
void ProfileTable::take() {
  const int before = rowCount();
  std::vector<protocol::ProfileGap> gaps;
  if (gaps_ && model_->overview()) gaps = model_->overview()->gaps;
  const auto measure = [this](const protocol::ProfileGap& gap) -> double {
    switch (gap_column_) {
      case calls_column:
        return static_cast<double>(gap.count);
      case mean_column:
        return static_cast<double>(meanOf(gap.total_ns, gap.count));
      case max_column:
        return static_cast<double>(gap.max_ns);
      default:
        return static_cast<double>(gap.total_ns);
    }
  };
  std::stable_sort(gaps.begin(), gaps.end(), [&](const auto& a, const auto& b) {
    return gap_order_ == Qt::DescendingOrder ? measure(a) > measure(b) : measure(a) < measure(b);
  });
  const int after = static_cast<int>(gaps_ ? gaps.size() : model_->rows().size());
  if (after > before) beginInsertRows({}, before, after - 1);
  if (after < before) beginRemoveRows({}, after, before - 1);
  gap_rows_ = std::move(gaps);
  rows_ = gaps_ ? std::vector<protocol::ProfileRow>{} : model_->rows();
  if (after > before) endInsertRows();
  if (after < before) endRemoveRows();
  if (after > 0) emit dataChanged(index(0, 0), index(after - 1, column_count - 1));
  emit headerDataChanged(Qt::Horizontal, name_column, name_column);  // of what the rows are
}

int ProfileTable::rowCount(const QModelIndex& parent) const {
  if (parent.isValid()) return 0;
  return static_cast<int>(gaps_ ? gap_rows_.size() : rows_.size());
}

RecordNumber ProfileTable::slowest(int row) const {
  if (row < 0 || row >= rowCount()) return 0;
  const auto at = static_cast<std::size_t>(row);
  return gaps_ ? gap_rows_[at].record : rows_[at].slowest;
}

QString ProfileTable::nameOf(const protocol::ProfileRow& row) const {
  const CellName name = [this](const QString& id, RecordNumber record) { return cells_->name(id, record); };
  switch (model_->rowsGroup()) {
    case ProfileGroup::op:
      return roleGlyph(row.role) + u' ' + QString::fromStdString(row.name) +
             (row.device ? QStringLiteral(" · ") + QString::fromStdString(*row.device) : QString());
    case ProfileGroup::scope:
      return row.name.empty() ? QStringLiteral("(no scope)") : QString::fromStdString(row.name);
    case ProfileGroup::line:
    case ProfileGroup::cell:
      break;
  }
  QString text = placeText(row.cell, row.file, row.line, row.slowest, name);
  if (text.isEmpty()) text = QStringLiteral("(no line)");
  const QString code =
      row.cell.empty() || row.line == 0
          ? QString()
          : cells_->code(QString::fromStdString(row.cell), static_cast<int>(row.line), row.slowest);
  return code.isEmpty() ? text : text + QStringLiteral(": ") + code;
}

QString ProfileTable::missingTimesText(const protocol::ProfileRow& row) const {
  QStringList lines;
  if (row.pending > 0)
    lines << QStringLiteral("… the GPU has not reported the time of %1 of the calls yet: they are in no sum.")
                 .arg(countText(row.pending));
  if (row.lost > 0)
    lines << QStringLiteral("The GPU never reported the time of %1 of the calls: they are in no sum.")
                 .arg(countText(row.lost));
  return lines.join(u'\n');
}

QString ProfileTable::rowText(const protocol::ProfileRow& row, int column) const {
  const auto self = static_cast<double>(row.self_ns);
  const std::uint64_t untold = row.pending + row.lost;
  const auto time = [&](std::int64_t sum) {
    if (untold == 0) return durationText(sum);
    const QString sign = row.pending > 0 ? QStringLiteral("…") : QStringLiteral("?");
    return sum > 0 ? durationText(sum) + u' ' + sign : sign;
  };
  switch (column) {
    case name_column:
      return nameOf(row);
    case calls_column:
      return countText(row.calls);
    case self_column:
      return time(row.self_ns);
    case share_column:
      return shareText(part(row.self_ns, model_->rowsTime()));
    case total_column:
      return time(row.total_ns);
    case mean_column:
      return row.calls > untold ? durationText(meanOf(row.total_ns, row.calls - untold)) : time(0);
    case max_column:
      return row.calls > untold ? durationText(row.max_ns) : time(0);
    case flops_column:
      return row.flops > 0 && self > 0 ? rateText(row.flops / self, QStringLiteral("FLOP")) : QString();
    case bytes_column:
      return row.bytes > 0 && self > 0 ? rateText(row.bytes / self, QStringLiteral("B")) : QString();
    case roof_column:
      return row.roof_ns && self > 0 ? shareText(*row.roof_ns / self) : QString();
    case bound_column:
      return boundText(row.bound);
    default:
      return {};
  }
}

QString ProfileTable::gapRowText(const protocol::ProfileGap& gap, int column) const {
  switch (column) {
    case name_column: {
      QString text =
          gapText(gap, [this](const QString& id, RecordNumber record) { return cells_->name(id, record); });
      const QString code =
          gap.to_cell.empty() || !gap.to_line
              ? QString()
              : cells_->code(QString::fromStdString(gap.to_cell), static_cast<int>(*gap.to_line), gap.record);
      if (!code.isEmpty()) text += QStringLiteral(" → ") + code;
      return QStringLiteral("○ ") + text;
    }
    case calls_column:
      return countText(gap.count);
    case self_column:
      return durationText(gap.total_ns);
    case share_column:
      return shareText(part(gap.total_ns, model_->overview() ? model_->overview()->run_ns : 0));
    case mean_column:
      return durationText(meanOf(gap.total_ns, gap.count));
    case max_column:
      return durationText(gap.max_ns);
    default:
      return {};
  }
}

QVariant ProfileTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const auto at = static_cast<std::size_t>(index.row());
  if (role == Qt::TextAlignmentRole)
    return index.column() == name_column || index.column() == bound_column
               ? QVariant(static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter))
               : QVariant(static_cast<int>(Qt::AlignRight | Qt::AlignVCenter));
  if (role == Qt::ToolTipRole && index.column() != name_column && !gaps_)
    return plainTip(missingTimesText(rows_[at]));
  if (role == Qt::ToolTipRole && index.column() == name_column)
    return plainTip(this->index(index.row(), name_column).data().toString() +
                    QStringLiteral("\nEnter, or a double click, goes to the longest: op %1.")
                        .arg(countText(slowest(index.row()))));
  if (role != Qt::DisplayRole && role != Qt::AccessibleTextRole) return {};
  return gaps_ ? gapRowText(gap_rows_[at], index.column()) : rowText(rows_[at], index.column());
}

QVariant ProfileTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section >= column_count) return {};
  static const char* const titles[] = {"Op",  "Calls",  "Self",    "Share", "Total",   "Mean",
                                       "Max", "FLOP/s", "Bytes/s", "Roof",  "Bound by"};
  static const char* const tips[] = {"What the row is of",
                                     "How often it ran",
                                     "Time in it, without what ran inside",
                                     "Of the self time of all ops of the span; of gaps, of the run's time",
                                     "Time in it, with what ran inside",
                                     "Of one call",
                                     "The longest call",
                                     "Operations a second",
                                     "Bytes read and written a second",
                                     "How close that is to the machine's peak",
                                     "What limits its speed: arithmetic, memory, or the cost of each call"};
  if (role == Qt::ToolTipRole) return plainTip(QString::fromUtf8(tips[section]));
  if (role != Qt::DisplayRole) return {};
  if (gaps_ && section == name_column) return QStringLiteral("Python between ops");
  if (gaps_ && section == self_column) return QStringLiteral("Time");
  if (gaps_ && section == calls_column) return QStringLiteral("Times");
  if (section == name_column) switch (model_->rowsGroup()) {
      case ProfileGroup::line:
        return QStringLiteral("Line");
      case ProfileGroup::cell:
        return QStringLiteral("Cell");
      case ProfileGroup::scope:
        return QStringLiteral("Scope");
      case ProfileGroup::op:
        break;
    }
  return QString::fromUtf8(titles[section]);
}

bool ProfileTable::canFetchMore(const QModelIndex& parent) const {
  return !parent.isValid() && !gaps_ && rows_.size() < model_->rowsTotal();
}

void ProfileTable::fetchMore(const QModelIndex&) {
  model_->fetchMoreRows();
}

void ProfileTable::sort(int column, Qt::SortOrder order) {
  gap_column_ = column;
  gap_order_ = order;
  if (gaps_) return take();
  static constexpr ProfileOrder orders[] = {ProfileOrder::name, ProfileOrder::calls, ProfileOrder::self,
                                            ProfileOrder::self, ProfileOrder::total, ProfileOrder::mean,
                                            ProfileOrder::max,  ProfileOrder::flops, ProfileOrder::flops,
                                            ProfileOrder::roof, ProfileOrder::roof};
  if (column >= 0 && column < column_count) model_->setOrder(orders[column], order == Qt::AscendingOrder);
}

}  // namespace tapedeck::inspector
