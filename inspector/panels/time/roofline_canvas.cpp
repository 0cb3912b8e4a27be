#include "inspector/panels/time/roofline_canvas.h"

#include <QLineF>
#include <QMouseEvent>
#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"
#include "inspector/model/runs/profile_text.h"
#include "inspector/panels/time/time_axis.h"

namespace tapedeck::inspector {

namespace {

constexpr double roof_text = 11, plot_left = 64, plot_bottom = 34, plot_top = 26, plot_right = 14;
constexpr double least_radius = 4, most_radius = 16;
constexpr std::size_t named_points = 8;
constexpr double lowest_power = -4;  ///< of the rates, GFLOP/s: slower ops are drawn at the lower edge

bool hasRoof(const protocol::ProfileRow& row) {
  return row.flops > 0 && row.bytes > 0 && row.self_ns > 0 && !row.device;  // the roofs are the host's
}

bool hasRoofs(const protocol::Peaks* peaks) {
  return peaks && peaks->known && peaks->memory_gbytes > 0 && peaks->cache_gbytes > 0 &&
         peaks->float32_gflops > 0 && peaks->float64_gflops > 0;
}

QRectF discOf(const RooflineCanvas::Point& point) {
  const double r = point.radius;
  return {point.at.x() - r, point.at.y() - r, 2 * r, 2 * r};
}

bool crosses(const QLineF& line, const QRectF& room) {
  if (room.contains(line.p1()) || room.contains(line.p2())) return true;
  const QLineF edges[] = {{room.topLeft(), room.topRight()},
                          {room.topRight(), room.bottomRight()},
                          {room.bottomRight(), room.bottomLeft()},
                          {room.bottomLeft(), room.topLeft()}};
  return std::any_of(std::begin(edges), std::end(edges), [&](const QLineF& edge) {
    return line.intersects(edge) == QLineF::BoundedIntersection;
  });
}

QString powerText(double value) {
  return value < 1 ? QString::number(value) : amountText(value, QString()).trimmed();
}

}  // namespace

RooflineCanvas::RooflineCanvas(ProfileModel* model, QWidget* parent) : CanvasWidget(parent), model_(model) {
  exposeParts();
  setAccessibleName(QStringLiteral("Roofline of the ops"));
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  for (const auto signal : {&ProfileModel::totalsChanged, &ProfileModel::peaksChanged})
    connect(model, signal, this, [this] {
      hovered_ = -1;
      tellPartsChanged(this);
      requestFrame();
    });
}

QPointF RooflineCanvas::Reach::at(double intensity, double gflops) const {
  const double x = (std::log10(intensity) - left) / (right - left);
  const double y = (std::log10(gflops) - bottom) / (top - bottom);
  return {plot.left() + x * plot.width(), plot.bottom() - y * plot.height()};
}

RooflineCanvas::Reach RooflineCanvas::reach(QSizeF size) const {
  Reach reach;
  reach.plot = QRectF(plot_left, plot_top, std::max(10.0, size.width() - plot_left - plot_right),
                      std::max(10.0, size.height() - plot_top - plot_bottom));
  double least_x = 0.1, most_x = 10, least_y = 1, most_y = 10;
  const auto note = [&](double x, double y) {
    if (!std::isfinite(x) || !std::isfinite(y)) return;  // the axes would have no end
    least_x = std::min(least_x, x);
    most_x = std::max(most_x, x);
    least_y = std::min(least_y, y);
    most_y = std::max(most_y, y);
  };
  if (const protocol::Peaks* peaks = model_->peaks(); peaks && peaks->known)
    note(4 * peaks->float32_gflops / peaks->memory_gbytes, peaks->float32_gflops);
  if (const protocol::ProfileTotals* ops = model_->ops())
    for (const protocol::ProfileRow& row : ops->rows)
      if (hasRoof(row)) note(row.flops / row.bytes, row.flops / static_cast<double>(row.self_ns));
  reach.left = std::floor(std::log10(least_x));
  reach.right = std::ceil(std::log10(most_x) + 0.05);
  reach.bottom = std::max(std::floor(std::log10(least_y)), lowest_power);
  reach.top = std::ceil(std::log10(most_y) + 0.05);
  return reach;
}

void RooflineCanvas::drawAxes(CanvasPainter& painter, const Reach& reach) {
  const Theme& theme = painter.theme();
  const QRectF& plot = reach.plot;
  for (double power = reach.left; power <= reach.right; ++power) {
    const double x = reach.at(std::pow(10, power), 1).x();
    painter.line({x, plot.top()}, {x, plot.bottom()}, theme.grid);
    painter.textIn(QRectF(x - 40, plot.bottom() + 2, 80, 14), powerText(std::pow(10, power)), roof_text,
                   theme.faintText);
  }
  for (double power = reach.bottom; power <= reach.top; ++power) {
    const double y = reach.at(1, std::pow(10, power)).y();
    painter.line({plot.left(), y}, {plot.right(), y}, theme.grid);
    painter.textIn(QRectF(0, y - 8, plot_left - 6, 16), powerText(std::pow(10, power)), roof_text,
                   theme.faintText, Qt::AlignRight);
  }
  painter.outline(plot, theme.axis);
  painter.textIn(QRectF(plot.left(), plot.bottom() + 16, plot.width(), 14),
                 QStringLiteral("operations per byte (FLOP/B)"), roof_text, theme.text);
  painter.textIn(QRectF(4, 4, plot.width(), 16), QStringLiteral("GFLOP/s"), roof_text, theme.text,
                 Qt::AlignLeft);
}

void RooflineCanvas::drawRoofs(CanvasPainter& painter, const Reach& reach) {
  const protocol::Peaks* peaks = model_->peaks();
  const Theme& theme = painter.theme();
  if (!hasRoofs(peaks)) {
    const QString text = peaks && peaks->problem ? QString::fromStdString(*peaks->problem)
                         : peaks && peaks->known ? QStringLiteral("The machine's peak was measured as 0.")
                                                 : QStringLiteral("The machine is being measured …");
    painter.textIn(QRectF(reach.plot.left() + 8, 4, reach.plot.width() - 8, 16), text, roof_text,
                   theme.warning.stroke, Qt::AlignRight);
    return;
  }
  const double least = std::pow(10, reach.left), most = std::pow(10, reach.right);
  painter.clip(reach.plot);
  const auto slope = [&](double rate, double top, const QColor& color, bool dashed) {
    const double ridge = top / rate;
    const QPointF line[] = {reach.at(least, least * rate), reach.at(ridge, top)};
    roofs_.push_back({line[0], line[1]});
    if (dashed)
      painter.dashed(line, color, 1.5, 6, 4);
    else
      painter.polyline(line, color, 2);
  };
  const auto flat = [&](double top, double from, const QColor& color, bool dashed) {
    const QPointF line[] = {reach.at(std::max(least, from), top), reach.at(most, top)};
    roofs_.push_back({line[0], line[1]});
    if (dashed)
      painter.dashed(line, color, 1.5, 6, 4);
    else
      painter.polyline(line, color, 2);
  };
  slope(peaks->memory_gbytes, peaks->float32_gflops, theme.axis, false);
  slope(peaks->cache_gbytes, peaks->float32_gflops, theme.axis, true);
  flat(peaks->float32_gflops, peaks->float32_gflops / peaks->cache_gbytes, theme.axis, false);
  flat(peaks->float64_gflops, peaks->float64_gflops / peaks->cache_gbytes, theme.axis, true);
  painter.unclip();
}

/// At the first of those places that is free, else where only lines pass, which its ground covers;
/// where all are taken, at the first if it must be said.
void RooflineCanvas::write(CanvasPainter& painter, const QString& text, std::vector<QPointF> places,
                           const QColor& color, const QRectF& plot, bool must) {
  if (places.empty()) return;
  const QSizeF size(painter.textWidth(text, roof_text), 16);
  const auto free = [&](QPointF at) {
    const QRectF room(at, size);
    return plot.contains(room) &&
           std::none_of(words_.begin(), words_.end(),
                        [&](const QRectF& word) { return word.intersects(room); }) &&
           std::none_of(points_.begin(), points_.end(),
                        [&](const Point& point) { return room.intersects(discOf(point)); });
  };
  const auto clear = [&](QPointF at) {
    const QRectF room(at, size);
    return free(at) && std::none_of(roofs_.begin(), roofs_.end(),
                                    [&](const QLineF& roof) { return crosses(roof, room); });
  };
  auto place = std::find_if(places.begin(), places.end(), clear);
  if (place == places.end() && !must) place = std::find_if(places.begin(), places.end(), free);
  if (place == places.end() && !must) return;
  std::vector<QPointF> others;  // the nearest first
  if (place == places.end()) {
    for (double y = plot.top(); y + size.height() <= plot.bottom(); y += size.height() / 2)
      for (double x = plot.left(); x + size.width() <= plot.right(); x += size.width() / 4)
        others.push_back({x, y});
    std::ranges::sort(others, {}, [&](QPointF at) { return QLineF(places.front(), at).length(); });
    place = std::find_if(others.begin(), others.end(), clear);
    if (place == others.end()) place = std::find_if(others.begin(), others.end(), free);
    if (place == others.end()) place = places.begin();
  }
  const QRectF room(*place, size);
  words_.push_back(room);
  painter.fill(room.adjusted(-2, 0, 2, 0), painter.theme().background, 2);  // the grid's lines end at it
  painter.textIn(room, text, roof_text, color, Qt::AlignLeft);
}

void RooflineCanvas::nameRoofs(CanvasPainter& painter, const Reach& reach) {
  const protocol::Peaks* peaks = model_->peaks();
  if (!hasRoofs(peaks)) return;
  const double least = std::pow(10, reach.left), most = std::pow(10, reach.right);
  const auto say = [&](const QString& text, const std::vector<QPointF>& places) {
    write(painter, text, places, painter.theme().faintText, reach.plot, true);
  };
  // From the right on to the left, above the line or below it.
  const auto along = [&](double top, const QString& text, bool above) {
    const QPointF corner = reach.at(most, top);
    const double width = painter.textWidth(text, roof_text);
    std::vector<QPointF> places;
    for (double x = corner.x() - width - 6; x > reach.at(top / peaks->memory_gbytes, top).x(); x -= width / 4)
      for (const bool side : {above, !above}) places.push_back({x, corner.y() + (side ? -17 : 2)});
    if (places.empty()) places.push_back({corner.x() - width - 6, corner.y() + (above ? -17 : 2)});
    say(text, places);
  };
  along(peaks->float32_gflops,
        QStringLiteral("float32: %1").arg(rateText(peaks->float32_gflops, QStringLiteral("FLOP"))), true);
  along(peaks->float64_gflops,
        QStringLiteral("float64: %1").arg(rateText(peaks->float64_gflops, QStringLiteral("FLOP"))), false);
  // Beside the slopes, from where they come into sight: to the right of memory's, to the left of the cache's.
  const auto beside = [&](double rate, const QString& text, bool right) {
    const double width = painter.textWidth(text, roof_text);
    const double start = std::max(least, std::pow(10, reach.bottom) / rate);
    const double needed = right ? 0.1 : (reach.right - reach.left) * (width + 12) / reach.plot.width();
    std::vector<QPointF> places;
    for (double decades = needed; start * std::pow(10, decades) * rate < peaks->float32_gflops;
         decades += 0.1) {
      const double intensity = start * std::pow(10, decades);
      const QPointF at = reach.at(intensity, intensity * rate);
      places.push_back(right ? QPointF(at.x() + 6, at.y() + 2) : QPointF(at.x() - width - 6, at.y() - 16));
    }
    say(text, places);
  };
  beside(peaks->memory_gbytes,
         QStringLiteral("memory: %1").arg(rateText(peaks->memory_gbytes, QStringLiteral("B"))), true);
  beside(peaks->cache_gbytes,
         QStringLiteral("cache: %1").arg(rateText(peaks->cache_gbytes, QStringLiteral("B"))), false);
}

void RooflineCanvas::drawPoints(CanvasPainter& painter, const Reach& reach) {
  const protocol::ProfileTotals* ops = model_->ops();
  const Theme& theme = painter.theme();
  if (!ops) return painter.paragraph(reach.plot, model_->waitingText(), 13, theme.faintText);
  const double whole = static_cast<double>(std::max<std::int64_t>(1, ops->self_ns));
  double moved = 0, on_gpus = 0;
  for (std::size_t i = 0; i < ops->rows.size(); ++i) {
    const protocol::ProfileRow& row = ops->rows[i];
    if (!hasRoof(row)) {
      (row.device ? on_gpus : moved) += static_cast<double>(row.self_ns);
      continue;
    }
    const double share = static_cast<double>(row.self_ns) / whole;
    QPointF at = reach.at(row.flops / row.bytes, row.flops / static_cast<double>(row.self_ns));
    at.setY(std::min(at.y(), reach.plot.bottom()));
    points_.push_back({at, least_radius + (most_radius - least_radius) * std::sqrt(share), i});
  }
  // The small ones in front of the large ones.
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Point& point = points_[i];
    const protocol::ProfileRow& row = ops->rows[point.row];
    const Tint& tint = roleTint(theme, row.role);
    const double r = point.radius;
    const QRectF box = discOf(point);
    const bool is_walked = static_cast<int>(i) == walked_ && hasFocus();
    if (row.role == protocol::ProfileRole::backward) {
      painter.triangle({point.at.x(), point.at.y() - r}, {point.at.x() - r, point.at.y() + r},
                       {point.at.x() + r, point.at.y() + r}, tint.stroke);
    } else if (row.role == protocol::ProfileRole::update) {
      painter.fill(box, tint.fill);
      painter.outline(box, tint.stroke, 1.5);
    } else {
      painter.fill(box, tint.fill, r);
      painter.outline(box, tint.stroke, 1.5, r);
    }
    if (is_walked || static_cast<int>(i) == hovered_)
      painter.outline(box.adjusted(-3, -3, 3, 3), is_walked ? theme.accent : theme.text, 2);
  }
  QStringList left_out;
  if (moved > 0)
    left_out
        << QStringLiteral("%1 of the time went into what does no arithmetic").arg(shareText(moved / whole));
  if (on_gpus > 0)
    left_out
        << QStringLiteral("%1 into ops on GPUs, which were not measured").arg(shareText(on_gpus / whole));
  if (left_out.isEmpty()) return;
  const QString rest = left_out.join(QStringLiteral(", "));
  const QPointF corner = reach.plot.bottomRight() - QPointF(painter.textWidth(rest, roof_text) + 8, 18);
  write(painter, rest, {corner}, theme.faintText, reach.plot, true);
}

/// The ops that took the most time: beside their points, below or above them, where there is room.
void RooflineCanvas::namePoints(CanvasPainter& painter, const Reach& reach) {
  const protocol::ProfileTotals* ops = model_->ops();
  for (std::size_t i = 0; ops && i < points_.size() && i < named_points; ++i) {
    const protocol::ProfileRow& row = ops->rows[points_[i].row];
    const QString text = roleGlyph(row.role) + u' ' + QString::fromStdString(row.name);
    const double width = painter.textWidth(text, roof_text);
    const QPointF at = points_[i].at;
    const double away = points_[i].radius + 3;
    write(painter, text,
          {{at.x() + away, at.y() - 8},
           {at.x() - away - width, at.y() - 8},
           {at.x() - width / 2, at.y() + away},
           {at.x() - width / 2, at.y() - away - 16},
           {at.x() + away, at.y() + away - 4},
           {at.x() + away, at.y() - away - 12},
           {at.x() - away - width, at.y() + away - 4},
           {at.x() - away - width, at.y() - away - 12}},
          painter.theme().text, reach.plot, false);
  }
}

void RooflineCanvas::paintCanvas(CanvasPainter& painter) {
  points_.clear();
  words_.clear();
  roofs_.clear();
  const Reach area = reach(painter.size());
  drawAxes(painter, area);
  drawRoofs(painter, area);
  drawPoints(painter, area);
  nameRoofs(painter, area);
  namePoints(painter, area);
  const protocol::ProfileRow* walked = hasFocus() ? rowOf(walked_) : nullptr;
  if (const protocol::ProfileRow* row = rowOf(hovered_))
    painter.tooltip(last_at_, details(*row));
  else if (walked)
    painter.tooltip(points_[static_cast<std::size_t>(walked_)].at, details(*walked));
}

const protocol::ProfileRow* RooflineCanvas::rowOf(int point) const {
  const protocol::ProfileTotals* ops = model_->ops();
  if (!ops || point < 0 || point >= static_cast<int>(points_.size())) return nullptr;
  const std::size_t row = points_[static_cast<std::size_t>(point)].row;
  return row < ops->rows.size() ? &ops->rows[row] : nullptr;
}

QStringList RooflineCanvas::details(const protocol::ProfileRow& row) const {
  const auto time = static_cast<double>(row.self_ns);
  QStringList lines{roleGlyph(row.role) + u' ' + QString::fromStdString(row.name),
                    QStringLiteral("time\t%1, %2 calls").arg(durationText(row.self_ns), countText(row.calls)),
                    QStringLiteral("rate\t%1, %2")
                        .arg(rateText(row.flops / time, QStringLiteral("FLOP")),
                             rateText(row.bytes / time, QStringLiteral("B"))),
                    QStringLiteral("work\t%1 operations per byte").arg(row.flops / row.bytes, 0, 'g', 3)};
  if (row.roof_ns)
    lines << QStringLiteral("roof\t%1 of the machine's peak").arg(shareText(*row.roof_ns / time))
          << QStringLiteral("bound by\t%1").arg(boundText(row.bound));
  return lines;
}

int RooflineCanvas::pointAt(QPointF at) const {
  int best = -1;
  double nearest = 6;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const double away =
        std::hypot(points_[i].at.x() - at.x(), points_[i].at.y() - at.y()) - points_[i].radius;
    if (away >= nearest) continue;
    nearest = away;
    best = static_cast<int>(i);
  }
  return best;
}

void RooflineCanvas::mouseMoveEvent(QMouseEvent* event) {
  last_at_ = event->position();
  hovered_ = pointAt(last_at_);
  requestFrame();
}

void RooflineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const int point = pointAt(event->position());
  if (point < 0) return;
  walked_ = point;
  goToSlowest();
  requestFrame();
}

void RooflineCanvas::keyPressEvent(QKeyEvent* event) {
  const bool back = event->key() == Qt::Key_Left || event->key() == Qt::Key_Up;
  const bool on = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down;
  if ((!back && !on) || points_.empty()) return CanvasWidget::keyPressEvent(event);
  walked_ = std::clamp(walked_ + (on ? 1 : -1), 0, static_cast<int>(points_.size()) - 1);
  if (const protocol::ProfileRow* row = rowOf(walked_))
    setAccessibleDescription(details(*row).join(QStringLiteral(", ")).replace(u'\t', u' '));
  tellCurrentPart(this);
  requestFrame();
}

int RooflineCanvas::accessiblePartCount() const {
  return static_cast<int>(points_.size() + (hasRoofs(model_->peaks()) ? 4 : 0));
}

AccessiblePart RooflineCanvas::accessiblePart(int index) const {
  const auto at = [this](const QRectF& place) {
    return QRectF(place.topLeft() * letters(), place.size() * letters());
  };
  if (const protocol::ProfileRow* row = rowOf(index)) {
    QStringList lines = details(*row);
    const QString name = lines.takeFirst();
    return {name, lines.join(QStringLiteral(", ")).replace(u'\t', u' '),
            at(discOf(points_[static_cast<std::size_t>(index)])), QAccessible::ListItem};
  }
  const protocol::Peaks* peaks = model_->peaks();
  const std::size_t roof = static_cast<std::size_t>(index) - points_.size();
  if (!hasRoofs(peaks) || roof > 3) return {};
  struct Roof {
    const char* name;
    double rate;
    const char* unit;
  };
  const Roof roofs[] = {{"Roof: arithmetic in float32", peaks->float32_gflops, "FLOP"},
                        {"Roof: arithmetic in float64", peaks->float64_gflops, "FLOP"},
                        {"Roof: memory", peaks->memory_gbytes, "B"},
                        {"Roof: cache", peaks->cache_gbytes, "B"}};
  return {QString::fromUtf8(roofs[roof].name),
          rateText(roofs[roof].rate, QString::fromUtf8(roofs[roof].unit)), QRectF(QPointF(), QSizeF(size())),
          QAccessible::StaticText};
}

void RooflineCanvas::leaveEvent(QEvent* event) {
  hovered_ = -1;
  CanvasWidget::leaveEvent(event);
  requestFrame();
}

void RooflineCanvas::goToSlowest() {
  if (const protocol::ProfileRow* row = rowOf(walked_)) model_->session()->setCursor(row->slowest);
}

}  // namespace tapedeck::inspector
