#include "inspector/model/ops/records_model.h"

#include <algorithm>

#include "engine/protocol/record_filter.h"
#include "inspector/model/format.h"
#include "inspector/model/ops/bookmarks.h"
#include "inspector/model/ops/lost_marks.h"
#include "inspector/model/ops/record_filter.h"

namespace tapedeck::inspector {

using protocol::Record;
using protocol::RecordState;

struct RecordsModel::Private {
  RecordsModel* q;
  Session* session;
  RecordFilter* filter;
  LostMarks* lost;
  Headings* headings;
  QHash<QString, QString> labels;
  int rows = 0;  ///< with headings, without what is folded away
  RecordNumber pending = 0;
  const Bookmarks* bookmarks = nullptr;

  const Bookmark* bookmark(RecordNumber number) const {
    return bookmarks ? bookmarks->find(number) : nullptr;
  }
  QString noteBehind(RecordNumber number) const {
    const Bookmark* at = bookmark(number);
    return !at || at->note.isEmpty() ? QString() : QStringLiteral("  “%1”").arg(at->note);
  }

  int listed = 0;              ///< records, or matches, that the rows are of
  RecordNumber corrected = 0;  ///< comes to the matches, or goes
  bool changing = false;

  /// What the session has, or what the filter found; nothing else is listed.
  int found() const {
    return filter->active() ? static_cast<int>(filter->matches().size())
                            : static_cast<int>(session->recordCount());
  }
  RecordNumber recordListed(int place) const {
    if (place < 0) return 0;
    if (!filter->active()) return static_cast<RecordNumber>(place) + 1;
    // A view may still ask about the old rows while the search starts over.
    const auto& matches = filter->matches();
    return static_cast<std::size_t>(place) < matches.size() ? matches[static_cast<std::size_t>(place)] : 0;
  }
  /// How many are listed with lower numbers.
  int listedBefore(RecordNumber number) const {
    const auto count = static_cast<RecordNumber>(listed);
    if (!filter->active()) return static_cast<int>(std::min(std::max<RecordNumber>(number, 1) - 1, count));
    const auto& matches = filter->matches();
    const auto end = matches.begin() + std::min<std::ptrdiff_t>(listed, std::ssize(matches));
    return static_cast<int>(std::lower_bound(matches.begin(), end, number) - matches.begin());
  }
  Listing listing() const {
    return {static_cast<std::uint32_t>(listed),
            [this](std::uint32_t position) { return recordListed(static_cast<int>(position)); },
            [this](std::uint64_t record) { return static_cast<std::uint32_t>(listedBefore(record)); }};
  }

  /// The rows are others already; views learn of it now.
  void tell(const RowChange& change) {
    changing = true;
    if (change.after > change.before) {
      q->beginInsertRows({}, change.row, change.row + change.after - change.before - 1);
      rows = change.after;
      q->endInsertRows();
    } else if (change.after < change.before) {
      // The rows at the end are those that were there before, whatever is above them.
      const int first = std::min(change.row, change.after);
      q->beginRemoveRows({}, first, first + change.before - change.after - 1);
      rows = change.after;
      q->endRemoveRows();
    }
    changing = false;
  }
  void tellFrom(const RowChange& change) {
    tell(change);
    if (change.row < rows) emit q->dataChanged(q->index(change.row, 0), q->index(rows - 1, ColumnCount - 1));
  }

  void grow() {
    const int count = found();
    if (count <= listed) return;
    const RecordNumber first = recordListed(listed);
    listed = count;
    tell(headings->update(first));
    tellHeadings(count - 1);
  }
  /// What the headings around the newest say of it.
  void tellHeadings(int place) {
    const HeadingRows& shown = headings->rows();
    for (std::uint32_t heading = shown.heading_of(static_cast<std::uint32_t>(place));
         heading != HeadingRows::none; heading = shown.parent_of(heading))
      if (const int row = shown.row_of(heading); row < rows)
        emit q->dataChanged(q->index(row, 0), q->index(row, ColumnCount - 1));
  }

  void regroup(RecordNumber from) {
    const RowChange change = headings->update(from);
    tellFrom(change);
    emit q->regrouped();
  }

  /// One that ran when it was looked at matches only now, or no longer.
  void correct(int by) {
    listed += by;
    tellFrom(headings->update(corrected));
  }

  void reset() {
    q->beginResetModel();
    listed = found();
    headings->setFiltered(filter->active());
    headings->startOver();
    rows = headings->rows().row_count();
    q->endResetModel();
  }

  void changed(RecordNumber first, RecordNumber last) {
    int top = q->rowOf(first);
    const int bottom = std::min(q->rowOf(last), rows - 1);
    if (top < 0) top = 0;
    if (bottom < 0 || top > bottom) return;
    emit q->dataChanged(q->index(top, 0), q->index(bottom, ColumnCount - 1));
  }

  /// What runs next; a stop after an op has nothing of the kind.
  RecordNumber pendingNow() const { return session->status().stopped_after ? 0 : session->stoppedBefore(); }

  void statusChanged() {
    grow();
    const RecordNumber now = pendingNow();
    if (now == pending) return;
    const RecordNumber before = pending;
    pending = now;
    if (before) changed(before, before);
    if (now) changed(now, now);
  }

  QString place(const Record& record) const {
    if (record.cell.empty() && record.file.empty()) return {};
    const QString where = record.cell.empty()
                              ? QString::fromStdString(record.file).section(QLatin1Char('/'), -1)
                              : q->cellLabel(record);
    return record.line ? where + QLatin1Char(':') + QString::number(record.line) : where;
  }

  QString text(const Record& record, int column) const;
  QString toolTip(const Record& record) const;
  /// One that was forgotten says so itself.
  bool isLost(const Record& record) const { return !isForgotten(record) && lost->isLost(record.number); }
  static bool isForgotten(const Record& record) {
    return record.state == RecordState::failed && record.op == "forgotten";
  }
};

namespace {

QString namesOf(const Record& record) {
  QStringList names;
  for (const auto* tensors : {&record.outputs, &record.inputs}) {
    for (const auto& tensor : *tensors) {
      const QString name = QString::fromStdString(tensor.name);
      if (!name.isEmpty() && !names.contains(name)) names << name;
    }
  }
  return names.join(QStringLiteral(", "));
}

QString shapesOf(const std::vector<protocol::TensorInfo>& tensors) {
  QStringList shapes;
  for (const auto& tensor : tensors)
    shapes << (tensor.id == 0 && tensor.dtype.empty() ? QStringLiteral("none") : shapeText(tensor.shape));
  return shapes.join(QStringLiteral(", "));
}

QString firstOf(const Record& record, std::string protocol::TensorInfo::*member) {
  for (const auto* tensors : {&record.outputs, &record.inputs})
    for (const auto& tensor : *tensors)
      if (!(tensor.*member).empty()) return QString::fromStdString(tensor.*member);
  return {};
}

QString attributesOf(const Record& record) {
  QStringList attributes;
  for (const auto& attribute : record.attributes)
    attributes << QString::fromStdString(attribute.name) + QLatin1Char('=') +
                      QString::fromStdString(attribute.value);
  return attributes.join(QStringLiteral(", "));
}

}  // namespace

QString RecordsModel::Private::text(const Record& record, int column) const {
  switch (column) {
    case Number:
      return countText(record.number);
    case Op:
      return QString(static_cast<qsizetype>(record.depth) * 2, QChar(0x2002)) + kindGlyph(record) +
             QLatin1Char(' ') + opText(record) + noteBehind(record.number);
    case Name:
      return namesOf(record);
    case Shapes:
      return shapesOf(record.inputs) + QStringLiteral(" → ") + shapesOf(record.outputs) +
             (isLost(record) ? QStringLiteral(" · values lost") : QString());
    case DType:
      return firstOf(record, &protocol::TensorInfo::dtype);
    case Device:
      return firstOf(record, &protocol::TensorInfo::device);
    case Place:
      return place(record);
    case Duration:
      if (record.state == RecordState::pending)
        return record.number == pending ? QStringLiteral("next") : QStringLiteral("waiting");
      if (record.state == RecordState::running) return QStringLiteral("running");
      return record.state == RecordState::failed ? QStringLiteral("failed") : workText(record);
    case Attributes:
      return attributesOf(record);
    case Scope:
      return QString::fromStdString(record.scope);
    default:
      return {};
  }
}

QString RecordsModel::Private::toolTip(const Record& record) const {
  QStringList lines;
  lines << QStringLiteral("op %1: %2, %3")
               .arg(countText(record.number), QString::fromStdString(record.op), kindText(record));
  if (const Bookmark* at = bookmark(record.number))
    lines << (at->note.isEmpty() ? QStringLiteral("bookmark") : QStringLiteral("bookmark: ") + at->note);
  if (const QString reason = deviceCopy(record).reason; !reason.isEmpty())
    lines << QStringLiteral("why: ") + reason;
  if (const QString work = workSentence(record); !work.isEmpty()) lines << QStringLiteral("time: ") + work;
  if (!record.scope.empty()) lines << QStringLiteral("scope: ") + QString::fromStdString(record.scope);
  for (const auto& input : record.inputs) lines << QStringLiteral("in: ") + tensorText(input);
  for (const auto& output : record.outputs) lines << QStringLiteral("out: ") + tensorText(output);
  if (!record.vjp_formula.empty())
    lines << QStringLiteral("VJP: ") + QString::fromStdString(record.vjp_formula);
  if (record.forward) lines << QStringLiteral("of op ") + countText(record.forward);
  if (!record.error.empty()) lines << QStringLiteral("error: ") + QString::fromStdString(record.error);
  if (isLost(record)) lines << LostMarks::sentence();
  return lines.join(QLatin1Char('\n'));
}

RecordsModel::RecordsModel(Session* session, QObject* parent)
    : QAbstractTableModel(parent),
      d_(std::make_unique<Private>(Private{
          this, session, new RecordFilter(session, this), new LostMarks(session, this), nullptr, {}})) {
  d_->headings = new Headings(
      session, [this] { return d_->listing(); }, this);
  d_->listed = static_cast<int>(session->recordCount());
  d_->headings->startOver();
  d_->rows = d_->headings->rows().row_count();
  d_->pending = d_->pendingNow();
  connect(session, &Session::statusChanged, this, [this] { d_->statusChanged(); });
  connect(session, &Session::recordsChanged, this, [this](RecordNumber first, RecordNumber last) {
    d_->grow();
    d_->changed(first, last);
  });
  connect(session, &Session::liveChanged, this, [this] {
    if (d_->rows) emit dataChanged(index(0, 0), index(d_->rows - 1, ColumnCount - 1));
  });
  connect(session, &Session::cleared, this, [this] {
    d_->pending = 0;
    d_->filter->restart();
    d_->reset();
  });
  connect(d_->lost, &LostMarks::changed, this,
          [this](RecordNumber first, RecordNumber last) { d_->changed(first, last); });
  connect(d_->headings, &Headings::grouped, this, [this](RecordNumber from) { d_->regroup(from); });
  connect(d_->filter, &RecordFilter::aboutToInsert, this,
          [this](int, RecordNumber number) { d_->corrected = number; });
  connect(d_->filter, &RecordFilter::inserted, this, [this] { d_->correct(1); });
  connect(d_->filter, &RecordFilter::aboutToRemove, this,
          [this](int, RecordNumber number) { d_->corrected = number; });
  connect(d_->filter, &RecordFilter::removed, this, [this] { d_->correct(-1); });
  connect(d_->filter, &RecordFilter::progressed, this, [this] {
    d_->grow();
    emit filterProgress();
  });
}

RecordsModel::~RecordsModel() = default;

void RecordsModel::setBookmarks(const Bookmarks* bookmarks) {
  if (d_->bookmarks) d_->bookmarks->disconnect(this);
  d_->bookmarks = bookmarks;
  const auto show = [this] {
    if (d_->rows) emit dataChanged(index(0, 0), index(d_->rows - 1, ColumnCount - 1));
  };
  if (bookmarks) connect(bookmarks, &Bookmarks::changed, this, show);
  show();
}

int RecordsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : d_->rows;
}
int RecordsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : ColumnCount;
}

QVariant RecordsModel::data(const QModelIndex& index, int role) const {
  const RecordNumber number = index.isValid() ? recordAt(index.row()) : 0;
  if (number == 0) return headingData(index, role);
  if (role == RecordRole) return QVariant::fromValue(number);
  if (role == PendingRole) return number == d_->pending;
  if (role == Qt::TextAlignmentRole) {
    const bool right = index.column() == Number || index.column() == Duration;
    return QVariant((right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  const Record* record = d_->session->record(number);
  switch (role) {
    case HereRole:
      return record != nullptr;
    case BookmarkRole:
      return d_->bookmark(number) != nullptr;
    case BackwardRole:
      return record && record->backward;
    case ScopeBeginsRole: {
      const RecordNumber above = recordAt(index.row() - 1);
      const Record* before = above ? d_->session->record(above) : nullptr;
      return record && !(before && before->scope == record->scope);
    }
    case LostRole:
      return record && d_->isLost(*record);
    case FailedRole:
      return record && record->state == RecordState::failed;
    case Qt::DisplayRole:
      if (index.column() == Number) return countText(number);
      if (record) return d_->text(*record, index.column());
      if (d_->session->live()) return QStringLiteral("…");
      return index.column() == Op ? QStringLiteral("not fetched") : QString();
    case Qt::ToolTipRole:  // as it is: TimelineDelegate makes a plain tip of more than this
      if (record) return d_->toolTip(d_->session->looked(*record));
      return d_->session->live() ? QVariant() : notFetchedText(number);
    case Qt::AccessibleTextRole: {
      // Its own: what the whole row says is the description.
      const QString title = headerData(index.column(), Qt::Horizontal, Qt::DisplayRole).toString();
      if (index.column() == Number)
        return QStringLiteral("op %1").arg(countText(number)) +
               (d_->bookmark(number) ? QStringLiteral(", bookmark") : QString());
      if (!record)
        return d_->session->live() ? QStringLiteral("%1: loading").arg(title)
                                   : QStringLiteral("%1: not fetched").arg(title);
      const QString text = index.column() == Op ? opText(*record) + d_->noteBehind(number)
                                                : d_->text(*record, index.column()).simplified();
      return QStringLiteral("%1: %2").arg(title, text.isEmpty() ? QStringLiteral("none") : text);
    }
    case Qt::AccessibleDescriptionRole:
      if (record) return d_->toolTip(d_->session->looked(*record));
      return d_->session->live() ? QStringLiteral("op %1, loading").arg(countText(number))
                                 : notFetchedText(number);
    default:
      return {};
  }
}

QVariant RecordsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole)
    return QVariant((section == Number || section == Duration ? Qt::AlignRight : Qt::AlignLeft) |
                    Qt::AlignVCenter);
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  static const char* const titles[] = {"#",      "Op",    "Shapes",   "Names",      "dtype",
                                       "Device", "Where", "Duration", "Attributes", "Scope"};
  return section >= 0 && section < ColumnCount ? QString::fromUtf8(titles[section]) : QVariant();
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

void RecordsModel::setCellLabels(const QHash<QString, QString>& labels) {
  if (labels == d_->labels) return;
  d_->labels = labels;
  d_->filter->setCellLabels(labels);
  d_->headings->setCellLabels(labels);
  if (d_->rows) emit dataChanged(index(0, Place), index(d_->rows - 1, Place));
}

QString RecordsModel::cellLabel(const Record& record) const {
  if (record.execution) return QString::fromStdString(protocol::execution_label(record.execution));
  const QString cell = QString::fromStdString(record.cell);
  const auto found = d_->labels.find(cell);
  if (found != d_->labels.end()) return *found;
  return cell.startsWith('/') ? cell.section('/', -1)
                              : cell.left(8);  // a program's file, or a cell that went
}

void RecordsModel::setFilter(const QString& text, Direction direction) {
  if (text == filterText() && direction == this->direction()) return;
  d_->filter->set(text, direction);
  d_->reset();
  emit filterChanged();
}

QString RecordsModel::filterText() const {
  return d_->filter->text();
}
Direction RecordsModel::direction() const {
  return d_->filter->direction();
}
bool RecordsModel::filtered() const {
  return d_->filter->active();
}
RecordNumber RecordsModel::scanned() const {
  return d_->filter->scanned();
}
bool RecordsModel::scanning() const {
  return d_->filter->active() && !d_->filter->stopped() && scanned() < d_->session->recordCount();
}
bool RecordsModel::filterAsksForValues() const {
  return d_->filter->asksForValues();
}
void RecordsModel::stopFilter() {
  d_->filter->stop();
}
bool RecordsModel::filterStopped() const {
  return d_->filter->stopped();
}
quint64 RecordsModel::lostByFilter() const {
  return d_->filter->lost();
}

RecordNumber RecordsModel::matchBeside(RecordNumber number, bool after) const {
  return listedRecord(after ? d_->listedBefore(number + 1) : d_->listedBefore(number) - 1);
}

// ---- headings

HeadingLevel RecordsModel::headingLevel() const {
  return d_->headings->level();
}

void RecordsModel::setHeadingLevel(HeadingLevel level) {
  if (level == headingLevel()) return;
  beginResetModel();
  d_->headings->setLevel(level);
  d_->rows = d_->headings->rows().row_count();
  endResetModel();
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
  d_->tell(d_->headings->setFolded(d_->headings->rows().heading_at(heading_row), folded));
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
