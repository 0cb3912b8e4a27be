#include "inspector/model/runs/picture_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/protocol/record_filter.h"

namespace tapedeck::inspector {

namespace {

const QString picture_channel = QStringLiteral("pictures");
constexpr std::int64_t most_side = 1 << 20;
constexpr quint64 most_number = quint64{1} << 53;

qint64 bytesOf(const StepHistogram& histogram) {
  return static_cast<qint64>(sizeof histogram +
                             sizeof(double) * (histogram.limits.size() + histogram.counts.size()));
}
qint64 bytesOf(const StepImages& images) {
  qint64 bytes = sizeof images;
  for (const QByteArray& png : images.pngs) bytes += static_cast<qint64>(sizeof png) + png.size();
  return bytes;
}

/// Why the numbers can't be drawn; empty where they can.
QString problemOf(const std::vector<double>& limits, const std::vector<double>& counts) {
  const std::size_t due = counts.empty() ? 0 : counts.size() + 1;
  if (limits.size() != due)
    return QStringLiteral("%1 limits for %2 counts").arg(limits.size()).arg(counts.size());
  for (std::size_t i = 0; i < limits.size(); ++i)
    if (!std::isfinite(limits[i]) || (i && !(limits[i - 1] <= limits[i])))
      return QStringLiteral("limit %1 is %2; limits must rise, and be finite").arg(i).arg(limits[i]);
  if (due && !std::isfinite(limits.back() - limits.front()))
    return QStringLiteral("the limits %1 and %2 are too far apart").arg(limits.front()).arg(limits.back());
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (!(counts[i] >= 0 && std::isfinite(counts[i])))
      return QStringLiteral("count %1 is %2").arg(i).arg(counts[i]);
  return {};
}

QString problemOf(const protocol::Picture& picture) {
  if (!std::isfinite(picture.step)) return QStringLiteral("its step is not a number");
  if (picture.number > most_number) return QStringLiteral("its number is %1").arg(picture.number);
  if (picture.pngs.empty()) {
    if (picture.counts.empty() && picture.limits.empty() && picture.not_finite == 0)
      return QStringLiteral("it is empty");
    return problemOf(picture.limits, picture.counts);
  }
  if (!picture.limits.empty() || !picture.counts.empty())
    return QStringLiteral("it is both a histogram and images");
  if (picture.width < 1 || picture.height < 1 || picture.width > most_side || picture.height > most_side)
    return QStringLiteral("its images have %1×%2 pixels").arg(picture.width).arg(picture.height);
  return {};
}

template <class Rows>
const auto& picturesOf(const Rows& rows, const QString& name) {
  static const decltype(rows.begin()->second.pictures) none;
  const auto found = rows.find(name);
  return found == rows.end() ? none : found->second.pictures;
}

}  // namespace

PictureModel::PictureModel(Session* session, QObject* parent, qint64 most_bytes)
    : QObject(parent), session_(session), mostBytes_(most_bytes) {
  connect(session, &Session::statusChanged, this, [this] { ask(); });
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (live) ask();
  });
  connect(session, &Session::cleared, this, [this] {
    histograms_.clear();
    images_.clear();
    histogramNames_.clear();
    imageNames_.clear();
    keys_.clear();
    origins_.clear();
    next_ = 0;
    bytes_ = 0;
    emit namesChanged();
    emit changed();
  });
  ask();
}

const Pictures<StepHistogram>& PictureModel::histograms(const QString& name) const {
  return picturesOf(histograms_, name);
}

const Pictures<StepImages>& PictureModel::images(const QString& name) const {
  return picturesOf(images_, name);
}

QString PictureModel::keyOf(const QString& there, const QString& name) {
  if (const auto known = keys_.constFind(there); known != keys_.constEnd()) return *known;
  return keys_[there] = keys_.values().contains(name) ? there : name;
}

QString PictureModel::label(const QString& name) const {
  const Origin origin = origins_.value(name);
  const auto same = std::count_if(origins_.begin(), origins_.end(),
                                  [&](const Origin& other) { return other.name == origin.name; });
  if (same == 0) return name;
  if (same == 1 || origin.cell.isEmpty()) return origin.name;
  const QString cell = origin.execution ? QString::fromStdString(protocol::execution_label(origin.execution))
                                        : origin.cell.section(QLatin1Char('/'), -1);
  return QStringLiteral("%1, %2").arg(origin.name, cell);
}

bool PictureModel::loading() const {
  return session_->asking(picture_channel);
}

void PictureModel::ask() {
  if (session_->asking(picture_channel) || session_->status().pictures <= next_) return;
  session_->request<protocol::Pictures>(
      protocol::GetPictures{next_}, this, [this](const protocol::Pictures& answer) { take(answer); },
      [this](const protocol::Failure& failure) { emit failed(QString::fromStdString(failure.reason)); },
      picture_channel);
}

template <class Picture>
QString PictureModel::put(Rows<Picture>& rows, QStringList& names, const QString& name, Picture picture,
                          bool* newName) {
  const auto [row, isNew] = rows.try_emplace(name);
  if (isNew) {
    names << name;
    *newName = true;
  }
  Pictures<Picture>& pictures = row->second.pictures;
  if (!pictures.empty() && picture.number <= pictures.back()->number)
    return QStringLiteral("its number %1 is not above %2").arg(picture.number).arg(pictures.back()->number);
  const qint64 size = bytesOf(picture);
  bytes_ += size;
  row->second.bytes += size;
  pictures.push_back(std::make_shared<const Picture>(std::move(picture)));
  return {};
}

template <class Picture>
void PictureModel::restart(Rows<Picture>& rows, const QString& name) {
  const auto found = rows.find(name);
  if (found == rows.end()) return;
  bytes_ -= found->second.bytes;
  found->second = {};
}

QString PictureModel::takeOne(const protocol::Picture& picture, bool* newName) {
  if (QString problem = problemOf(picture); !problem.isEmpty()) return problem;
  const QString called = QString::fromStdString(picture.name);
  const QString name = keyOf(QString::fromStdString(protocol::drawn_key(picture.name, picture.cell)), called);
  Origin& origin = origins_[name];
  // The text of a name changes where a second cell begins to use it, and with the cell's execution.
  *newName = *newName || origin.execution != picture.execution;
  origin = {called, QString::fromStdString(picture.cell), picture.execution};
  if (picture.pngs.empty())
    return put(histograms_, histogramNames_, name,
               StepHistogram{picture.execution, picture.step, picture.record.value_or(0), picture.number,
                             picture.limits, picture.counts, picture.not_finite},
               newName);
  StepImages images{picture.execution,
                    picture.step,
                    picture.record.value_or(0),
                    picture.number,
                    {static_cast<int>(picture.width), static_cast<int>(picture.height)},
                    {}};
  for (const std::string& png : picture.pngs)
    images.pngs.push_back(
        QByteArray::fromBase64(QByteArray::fromRawData(png.data(), static_cast<qsizetype>(png.size()))));
  return put(images_, imageNames_, name, std::move(images), newName);
}

void PictureModel::take(const protocol::Pictures& answer) {
  for (const std::string& name : answer.restarted) {
    const QString there = QString::fromStdString(name), key = keys_.value(there, there);
    restart(histograms_, key);
    restart(images_, key);
  }
  bool newNames = false;
  QString problem;  // the first one; those that follow are of its kind
  for (const protocol::Picture& picture : answer.pictures) {
    const QString wrong = takeOne(picture, &newNames);
    if (problem.isEmpty() && !wrong.isEmpty())
      problem = QStringLiteral("The session sent a picture \"%1\" at step %2 that can't be shown: %3.")
                    .arg(QString::fromStdString(picture.name))
                    .arg(picture.step)
                    .arg(wrong);
  }
  const bool advanced = answer.next > next_;
  next_ = std::max<quint64>(next_, answer.next);
  if (keepBounded() || newNames) emit namesChanged();
  // An answer that brings nothing new is not asked for again until the session says that there is more.
  if (advanced) ask();
  emit changed();
  if (!problem.isEmpty()) emit refused(problem);
}

/// That takes most of those with one between the first and the newest.
template <class Picture>
PictureModel::Row<Picture>* PictureModel::largest(Rows<Picture>& rows) {
  Row<Picture>* found = nullptr;
  for (auto& [name, row] : rows)
    if (row.pictures.size() > 2 && (!found || row.bytes > found->bytes)) found = &row;
  return found;
}

/// What it freed.
template <class Picture>
qint64 PictureModel::thinOut(Row<Picture>& row) {
  // First those that came since at the spacing of the others; a wider one only where that frees nothing.
  const qint64 before = row.bytes;
  const auto first = row.pictures.front(), newest = row.pictures.back();
  for (; row.bytes == before; row.spacing *= 2)
    std::erase_if(row.pictures, [&](const auto& picture) {
      if (picture == first || picture == newest || (picture->number - first->number) % row.spacing == 0)
        return false;
      row.bytes -= bytesOf(*picture);
      return true;
    });
  row.spacing /= 2;
  return before - row.bytes;
}

bool PictureModel::keepBounded() {
  if (bytes_ <= mostBytes_) return false;
  bool namesWent = false;
  while (bytes_ > mostBytes_ - mostBytes_ / 8) {
    auto* const histograms = largest(histograms_);
    auto* const images = largest(images_);
    if (histograms || images) {
      const bool ofImages = images && (!histograms || images->bytes > histograms->bytes);
      bytes_ -= ofImages ? thinOut(*images) : thinOut(*histograms);
      continue;
    }
    // There are so many names that two of each are too much: the oldest name is dropped.
    if (histogramNames_.size() + imageNames_.size() < 2) break;
    const auto drop = [this](auto& rows, QStringList& names) {
      restart(rows, names.first());
      rows.erase(names.takeFirst());
    };
    histogramNames_.size() > imageNames_.size() ? drop(histograms_, histogramNames_)
                                                : drop(images_, imageNames_);
    namesWent = true;
  }
  return namesWent;
}

}  // namespace tapedeck::inspector
