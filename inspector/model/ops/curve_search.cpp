#include "inspector/model/ops/curve_search.h"

#include <algorithm>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr qsizetype most_titles = 4;

QString pointsText(quint64 count) {
  return count == 1 ? QStringLiteral("1 point") : QStringLiteral("%1 points").arg(countText(count));
}

}  // namespace

void CurveSearch::begin(const PastQuestion& question) {
  question_ = question;
  found_ = false;
  places_.clear();
  for (const QString& name : question.curves)
    if (const SeriesData* curve = curves_.series(name)) places_[name].anew = curve->anew;
}

std::optional<CurvePoint> CurveSearch::next(bool forward) {
  std::optional<CurvePoint> best;
  Place* of = nullptr;
  for (const QString& name : question_.curves) {
    const SeriesData* curve = curves_.series(name);
    if (!curve) continue;
    Place& place = places_[name];
    const int point = pointWhere(*curve, question_, place.reached, forward);
    if (point < 0) continue;
    const auto at = static_cast<std::size_t>(point);
    const RecordNumber record = curve->records[at];
    if (best) {
      const RecordNumber other = best->curve->records[best->at];
      if (forward ? record >= other : record <= other) continue;
    }
    best = CurvePoint{curve, at};
    of = &place;
  }
  if (!best) return best;
  of->reached = static_cast<int>(best->at);
  found_ = true;
  return best;
}

bool CurveSearch::outdated() const {
  return std::any_of(places_.begin(), places_.end(), [this](const auto& known) {
    const SeriesData* curve = curves_.series(known.first);
    return !curve || curve->anew != known.second.anew;
  });
}

QString CurveSearch::subject() const {
  QStringList titles;
  for (const QString& name : question_.curves)
    if (const SeriesData* curve = curves_.series(name)) titles << curve->title();
  if (titles.size() == 1) return titles.first();
  const qsizetype more = titles.size() - most_titles;
  const QString count = countText(static_cast<quint64>(titles.size()));
  if (more > 0) titles.resize(most_titles);
  QString list = titles.join(QStringLiteral("; "));
  if (more > 0) list += QStringLiteral("; %1 more").arg(more);
  return QStringLiteral("%1 curves (%2)").arg(count, list);
}

quint64 CurveSearch::points() const {
  quint64 count = 0;
  for (const QString& name : question_.curves)
    if (const SeriesData* curve = curves_.series(name)) count += curve->size();
  return count;
}

QString CurveSearch::leftOut() const {
  QString text;
  for (const QString& name : question_.curves) {
    const SeriesData* curve = curves_.series(name);
    if (!curve || curve->anew == 0) continue;
    const QString gone = curve->replaced ? pointsText(curve->replaced)
                                         : QStringLiteral("The points");  // drawn before one looked
    text +=
        QStringLiteral(" %1 of earlier runs of %2 were not looked at: the cell ran again and drew them anew.")
            .arg(gone, curve->title());
  }
  return text;
}

}  // namespace tapedeck::inspector
