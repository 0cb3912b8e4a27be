#include <algorithm>

#include "engine/protocol/record_filter.h"
#include "inspector/model/format.h"
#include "inspector/model/ops/records_model_private.h"

namespace tapedeck::inspector {

using protocol::Record;
using protocol::RecordState;

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
    case Call:
      return callText(record);
    default:
      return {};
  }
}

QString RecordsModel::Private::toolTip(const Record& record) const {
  QStringList lines;
  lines << QStringLiteral("op %1: %2, %3")
               .arg(countText(record.number), QString::fromStdString(record.op), kindText(record));
  if (!record.call.empty())
    lines << (record.call_is_line ? QStringLiteral("line: ") : QStringLiteral("call: ")) +
                 QString::fromStdString(record.call);
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
  connect(d_->headings, &Headings::progressed, this, &RecordsModel::headingsProgressed);
  connect(d_->headings, &Headings::ready, this, [this] {
    beginResetModel();
    d_->headings->arrive();
    d_->rows = d_->headings->rows().row_count();
    endResetModel();
    emit headingsProgressed();
  });
  connect(d_->filter, &RecordFilter::aboutToInsert, this,
          [this](int place, RecordNumber number) { d_->aboutToCorrect(place, number, true); });
  connect(d_->filter, &RecordFilter::inserted, this, [this] { d_->correct(true); });
  connect(d_->filter, &RecordFilter::aboutToRemove, this,
          [this](int place, RecordNumber number) { d_->aboutToCorrect(place, number, false); });
  connect(d_->filter, &RecordFilter::removed, this, [this] { d_->correct(false); });
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
    const bool otherRows =
        d_->filter->setBookmarked(d_->bookmarks ? d_->bookmarks->here() : std::vector<RecordNumber>());
    if (otherRows) {
      d_->filter->restart();
      d_->reset();
      emit filterChanged();
    } else if (d_->rows) {
      emit dataChanged(index(0, 0), index(d_->rows - 1, ColumnCount - 1));
    }
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
      if (record) return d_->toolTip(d_->session->withShownPreviews(*record));
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
      if (record) return d_->toolTip(d_->session->withShownPreviews(*record));
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
  static const char* const titles[] = {"#",     "Op",       "Shapes",     "Names", "dtype", "Device",
                                       "Where", "Duration", "Attributes", "Scope", "Call"};
  return section >= 0 && section < ColumnCount ? QString::fromUtf8(titles[section]) : QVariant();
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

}  // namespace tapedeck::inspector
