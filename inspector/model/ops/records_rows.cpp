// Which row is which record or heading, and how views learn that it is another one.
#include "inspector/model/ops/records_model_private.h"

namespace tapedeck::inspector {

template <class Apply>
void RecordsModel::Private::tell(const RowChange& change, Apply apply) {
  changing = true;
  if (change.after > change.before) {
    q->beginInsertRows({}, change.row, change.row + change.after - change.before - 1);
    apply();
    rows = change.after;
    q->endInsertRows();
  } else if (change.after < change.before) {
    const int first = std::min(change.row, change.after);
    q->beginRemoveRows({}, first, first + change.before - change.after - 1);
    apply();
    rows = change.after;
    q->endRemoveRows();
  } else {
    apply();
  }
  changing = false;
}

void RecordsModel::Private::tell(const RowChange& change) {
  tell(change, [] {});
}

void RecordsModel::Private::tellFrom(const RowChange& change) {
  tell(change);
  if (change.row < rows) emit q->dataChanged(q->index(change.row, 0), q->index(rows - 1, ColumnCount - 1));
}

void RecordsModel::Private::grow() {
  const int count = found();
  if (count <= listed) return;
  const RecordNumber first = recordListed(listed);
  listed = count;
  tell(headings->update(first));
  tellHeadings(count - 1);
}

/// What the headings around the newest say of it.
void RecordsModel::Private::tellHeadings(int place) {
  const HeadingRows& shown = headings->rows();
  for (std::uint32_t heading = shown.heading_of(static_cast<std::uint32_t>(place));
       heading != HeadingRows::none; heading = shown.parent_of(heading))
    if (const int row = shown.row_of(heading); row < rows)
      emit q->dataChanged(q->index(row, 0), q->index(row, ColumnCount - 1));
}

void RecordsModel::Private::regroup(RecordNumber from) {
  tellFrom(headings->update(from));
  emit q->regrouped();
}

// One that was running when it was examined matches only now, or no longer. Without headings that is one row;
// with them its heading may come or go with it.
void RecordsModel::Private::aboutToCorrect(int place, RecordNumber number, bool inserts) {
  corrected = number;
  if (headings->level() != HeadingLevel::none) return;
  changing = true;
  if (inserts)
    q->beginInsertRows({}, place, place);
  else
    q->beginRemoveRows({}, place, place);
}

void RecordsModel::Private::correct(bool inserts) {
  listed += inserts ? 1 : -1;
  const RowChange change = headings->update(corrected);
  if (headings->level() != HeadingLevel::none) return tellFrom(change);
  rows = change.after;
  if (inserts)
    q->endInsertRows();
  else
    q->endRemoveRows();
  changing = false;
}

void RecordsModel::Private::reset() {
  q->beginResetModel();
  listed = found();
  headings->setFiltered(filter->active());
  headings->startOver();
  rows = headings->rows().row_count();
  q->endResetModel();
}

RecordNumber RecordsModel::recordAt(int row) const {
  const HeadingRows& shown = d_->headings->rows();
  if (row < 0 || row >= d_->rows || shown.heading_at(row) != HeadingRows::none) return 0;
  return d_->recordListed(static_cast<int>(shown.position_at(row)));
}

int RecordsModel::rowOf(RecordNumber number) const {
  const int place = d_->listedBefore(number + 1) - 1;
  return place < 0 ? -1 : d_->headings->rows().row_of_position(static_cast<std::uint32_t>(place));
}

bool RecordsModel::changingRows() const {
  return d_->changing;
}
int RecordsModel::listedCount() const {
  return d_->listed;
}
RecordNumber RecordsModel::listedRecord(int place) const {
  return place < d_->listed ? d_->recordListed(place) : 0;
}

RecordNumber RecordsModel::matchBeside(RecordNumber number, bool after) const {
  return listedRecord(after ? d_->listedBefore(number + 1) : d_->listedBefore(number) - 1);
}

// ---- headings

HeadingLevel RecordsModel::headingLevel() const {
  return d_->headings->level();
}

void RecordsModel::setHeadingLevel(HeadingLevel level) {
  if (level != nextHeadingLevel()) d_->headings->setLevel(level);
}

HeadingLevel RecordsModel::nextHeadingLevel() const {
  return d_->headings->nextLevel();
}

std::optional<int> RecordsModel::headingProgress() const {
  return d_->headings->progress();
}

std::optional<Heading> RecordsModel::headingAt(int row) const {
  const std::uint32_t heading =
      row < 0 || row >= d_->rows ? HeadingRows::none : d_->headings->rows().heading_at(row);
  if (heading == HeadingRows::none) return std::nullopt;
  return d_->headings->at(heading);
}

QList<int> RecordsModel::headingsAround(int row) const {
  QList<int> all;
  if (row < 0 || row >= d_->rows) return all;
  const HeadingRows& shown = d_->headings->rows();
  for (std::uint32_t heading = shown.heading_around(row); heading != HeadingRows::none;
       heading = shown.parent_of(heading))
    all.prepend(shown.row_of(heading));
  return all;
}

void RecordsModel::setFolded(int heading_row, bool folded) {
  if (!headingAt(heading_row)) return;
  const std::uint32_t heading = d_->headings->rows().heading_at(heading_row);
  // How many rows it is of is known when it is done; views are notified before.
  const RowChange change = d_->headings->setFolded(heading, folded);
  if (change.after == change.before) return;
  d_->headings->setFolded(heading, !folded);
  d_->tell(change, [&] { d_->headings->setFolded(heading, folded); });
  emit dataChanged(index(heading_row, 0), index(heading_row, ColumnCount - 1));
}

void RecordsModel::setAllFolded(int heading_row, bool folded) {
  if (!headingAt(heading_row)) return;
  const std::uint32_t heading = d_->headings->rows().heading_at(heading_row);
  d_->tellFrom(d_->headings->setAllFolded(d_->headings->kindOf(heading), folded));
  emit regrouped();
}

RecordsModel::HeadingPlace RecordsModel::headingPlace(int heading_row) const {
  const auto heading = headingAt(heading_row);
  if (!heading) return {};
  const HeadingRows& shown = d_->headings->rows();
  const std::uint32_t node = shown.node_of(shown.heading_at(heading_row));
  return {d_->headings->tree().nodes()[node].first, heading->depth};
}

int RecordsModel::rowOfHeading(const HeadingPlace& place) const {
  const int position = d_->listedBefore(place.first);
  if (place.first == 0 || position >= d_->listed) return -1;
  const HeadingRows& shown = d_->headings->rows();
  for (std::uint32_t heading = shown.heading_of(static_cast<std::uint32_t>(position));
       heading != HeadingRows::none; heading = shown.parent_of(heading)) {
    const GroupTree::Node& node = d_->headings->tree().nodes()[shown.node_of(heading)];
    if (node.first == place.first && node.depth == place.depth) return shown.row_of(heading);
  }
  return -1;
}

bool RecordsModel::reveal(RecordNumber number) {
  const int place = d_->listedBefore(number);
  if (listedRecord(place) != number) return false;
  const HeadingRows& shown = d_->headings->rows();
  const auto position = static_cast<std::uint32_t>(place);
  bool any = false;
  // From the outside in: what is hidden has no row of its own to be unfolded at.
  while (shown.hidden(position)) {
    any = true;
    setFolded(shown.row_of_position(position), false);
  }
  return any;
}

QVariant RecordsModel::headingData(const QModelIndex& index, int role) const {
  const auto heading = index.isValid() ? headingAt(index.row()) : std::nullopt;
  if (!heading) return {};
  switch (role) {
    case HeadingRole:
      return heading->text();
    case HereRole:
      return true;
    case Qt::ToolTipRole:
      return QStringLiteral("%1\nA click, Enter, Left and Right fold and unfold it.")
          .arg(heading->holdsCursor ? heading->text() + QStringLiteral(" · the cursor's op is in it")
                                    : heading->text());
    case Qt::AccessibleTextRole: {
      QString spoken = QStringLiteral("%1, %2").arg(heading->name, heading->count);
      if (!heading->state.isEmpty()) spoken += QStringLiteral(", %1").arg(heading->state);
      spoken += heading->folded ? QStringLiteral(", folded") : QStringLiteral(", unfolded");
      if (heading->holdsCursor) spoken += QStringLiteral(", holds the cursor's op");
      return QStringLiteral("Heading: %1").arg(spoken);
    }
    case Qt::AccessibleDescriptionRole:
      return QStringLiteral("level %1; Enter folds and unfolds it").arg(heading->depth + 1);
    default:
      return {};
  }
}

}  // namespace tapedeck::inspector
