#include "inspector/model/variables/frames_model.h"

#include <QFileInfo>
#include <utility>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"

namespace tapedeck::inspector {

namespace {

constexpr std::uint32_t frames_at_once = 100;
const QString frames_channel = QStringLiteral("frames");

/// A traced function's, whose names have the values of its run (_session/traced.py).
bool isTraced(const protocol::Frame& frame) {
  return frame.function.ends_with(" (traced)");
}

}  // namespace

FramesModel::FramesModel(Session* session, CellNames* cells, QObject* parent)
    : QAbstractListModel(parent), session_(session), cells_(cells) {
  connect(session, &Session::statusChanged, this, &FramesModel::look);
  connect(session, &Session::liveChanged, this, &FramesModel::look);
  connect(session, &Session::cursorChanged, this, &FramesModel::look);
  connect(session, &Session::cleared, this, [this] {
    cellsEnded_.reset();
    look();
  });
  connect(cells, &CellNames::changed, this, [this] {
    if (!frames_.empty()) emit dataChanged(index(0), index(rowCount() - 1));
    look();
  });
  look();
}

bool FramesModel::readable() const {
  const protocol::Status& status = session_->status();
  return session_->live() && !status.trace_file && (stop_ != 0 || !status.running_cell);
}

// A cell that ends between two notices is in the count.
void FramesModel::look() {
  const protocol::Status& status = session_->status();
  bool news = false;
  const RecordNumber stop = session_->live() ? session_->stop() : 0;
  const RecordNumber moment = session_->live() && !status.trace_file ? session_->moment() : 0;
  if (stop != stop_ || moment != moment_) {
    news = stop != 0 || moment != 0 || moment != moment_;
    stop_ = stop;
    moment_ = moment;
    current_ = 0;
    session_->drop(frames_channel);
    if (readable() && (stop_ || moment_)) fetch(0);
  }
  if (!stop_ && !moment_ && readable() && !frames_.empty()) take(protocol::Frames());
  if (readable() && cellsEnded_ != status.cells_ended) {
    cellsEnded_ = status.cells_ended;
    news = true;
    if (moment_ && !known()) fetch(0);
  }
  if (const QString text = placeText(); text != place_) {
    place_ = text;
    emit placeChanged();
  }
  if (news) emit moved();
}

void FramesModel::fetch(int first) {
  session_->request<protocol::Frames>(
      protocol::GetFrames{protocol::if_there(stop_), static_cast<std::uint32_t>(first), frames_at_once,
                          protocol::if_there(moment_)},
      this,
      [this](const protocol::Frames& answer) {
        if (answer.stop == stop_ && answer.moment.value_or(0) == moment_) take(answer);
      },
      [](const protocol::Failure&) {},  // the program went on: the next stop has other frames
      frames_channel);
}

void FramesModel::take(const protocol::Frames& answer) {
  beginResetModel();
  frames_.resize(std::min<std::size_t>(frames_.size(), answer.first));
  frames_.insert(frames_.end(), answer.frames.begin(), answer.frames.end());
  total_ = static_cast<int>(answer.total);
  framesOf_ = {answer.stop, answer.moment.value_or(0)};
  noted_ = answer;
  noted_.frames.clear();
  endResetModel();
  place_ = placeText();
  emit placeChanged();
}

void FramesModel::fetchMoreFrames() {
  if ((stop_ || moment_) && known() && rowCount() < total_) fetch(rowCount());
}

int FramesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(frames_.size());
}

const protocol::Frame* FramesModel::frame(int row) const {
  return row >= 0 && row < rowCount() ? &frames_[static_cast<std::size_t>(row)] : nullptr;
}

QString FramesModel::frameText(const protocol::Frame& frame) const {
  const QString place = frame.cell.empty()
                            ? QFileInfo(QString::fromStdString(frame.file)).fileName()
                            : cells_->name(QString::fromStdString(frame.cell), session_->recordCount() + 1);
  const QString name =
      frame.has_locals ? QString::fromStdString(frame.function) : QStringLiteral("the cell itself");
  return QStringLiteral("%1, %2 line %3").arg(name, place).arg(frame.line);
}

QVariant FramesModel::data(const QModelIndex& index, int role) const {
  const protocol::Frame* one = frame(index.row());
  if (!one) return {};
  if (role == Qt::DisplayRole) return frameText(*one);
  if (role == Qt::ToolTipRole)
    return plainTip(QStringLiteral("%1\nA click shows its line and its variables").arg(frameText(*one)));
  return {};
}

QString FramesModel::placeText() const {
  if (!problem_.isEmpty()) return problem_;
  if (!session_->live())
    return cellsEnded_ ? QStringLiteral("The session has ended: values as they were last") : QString();
  if (moment_ && readable()) {
    const QString when = QStringLiteral("At op %1, in the past").arg(countText(moment_));
    const protocol::Frame* one = currentFrame();
    if (!known()) return when;
    if (one && isTraced(*one)) return QStringLiteral("%1, in %2").arg(when, frameText(*one));
    if (!noted_.noted)
      return QStringLiteral("%1: no stop was earlier, so Python's own values are those of now").arg(when);
    QString where = one ? QStringLiteral(", in ") + frameText(*one) : QString();
    if (const QString function = unknownFunction(); !function.isEmpty())
      where = QStringLiteral("; the locals of %1 are not known: no stop had been made there by then")
                  .arg(function);
    return QStringLiteral("%1: Python's own values are %2%3").arg(when, notedText(), where);
  }
  if (stop_) {
    const protocol::Frame* one = currentFrame();
    return one ? QStringLiteral("Paused in %1").arg(frameText(*one)) : QStringLiteral("Paused");
  }
  if (session_->status().trace_file)
    return QStringLiteral("A trace file: no Python runs whose variables these were");
  return readable() ? QStringLiteral("No cell runs") : QStringLiteral("Running: values as they were before");
}

QString FramesModel::unknownFunction() const {
  return moment_ && known() ? QString::fromStdString(noted_.unknown_function.value_or("")) : QString();
}

QString FramesModel::notedText() const {
  if (!moment_ || !known()) return {};
  if (!noted_.noted) return QStringLiteral("as now");
  // Above all records' numbers it is a stop before a line: that of its innermost frame.
  if (!noted_.noted_cell && *noted_.noted >> 32 != 0) {
    const protocol::Frame* at = frame(0);
    return at ? QStringLiteral("as of the stop at line %1").arg(at->line)
              : QStringLiteral("as of the stop at a line");
  }
  if (!noted_.noted_cell)
    return QStringLiteral("as of the stop %1 op %2")
        .arg(noted_.noted_after ? QStringLiteral("after") : QStringLiteral("before"),
             countText(*noted_.noted));
  const QString cell = QString::fromStdString(*noted_.noted_cell).trimmed();
  return QStringLiteral("as of the beginning of %1")
      .arg(cell.isEmpty() ? QStringLiteral("a cell") : cells_->name(cell));
}

void FramesModel::setProblem(const QString& sentence) {
  if (problem_ == sentence) return;
  problem_ = sentence;
  look();
}

void FramesModel::setCurrent(int row) {
  if (row == current_ || !frame(row) || !known()) return;
  current_ = row;
  place_ = placeText();
  emit placeChanged();
  emit currentChanged();
}

}  // namespace tapedeck::inspector
