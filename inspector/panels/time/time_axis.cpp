#include "inspector/panels/time/time_axis.h"

#include <algorithm>
#include <cmath>

#include "inspector/model/runs/profile_text.h"

namespace tapedeck::inspector {

namespace {

constexpr double box_text = 11, least_text_width = 26, least_hatch_width = 5, least_outlined = 3;

struct TimeUnit {
  double length;
  const char* name;
};
constexpr TimeUnit time_units[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};

}  // namespace

std::vector<TimeMark> timeMarks(double from, double to, double width, double apart) {
  std::vector<TimeMark> marks;
  if (!(to > from) || width <= 0) return marks;
  const double least = (to - from) * apart / width;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  double step = power * 10;
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= least) {
      step = power * factor;
      break;
    }
  step = std::max(step, 1.0);
  const TimeUnit* unit = time_units;
  for (const TimeUnit& one : time_units)
    if (std::max(std::abs(from), std::abs(to)) >= one.length) unit = &one;
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step / unit->length) - 1e-9)), 0, 9);
  for (double i = std::ceil(from / step - 1e-9); i * step <= to + step * 1e-9; ++i)
    marks.push_back({i * step, QString::number(i * step / unit->length, 'f', decimals) + u' ' +
                                   QString::fromUtf8(unit->name)});
  return marks;
}

void drawOpBox(CanvasPainter& painter, const OpBox& box) {
  const Theme& theme = painter.theme();
  const Tint& tint = roleTint(theme, box.role);
  QRectF rect = box.rect;
  rect.setWidth(std::max(1.0, rect.width()));
  // A box without room for an outline is as dark as one, so that it is visible at all.
  const bool narrow = rect.width() < least_outlined;
  const double density = std::clamp(box.density, 0.0, 1.0);
  painter.fill(rect, mix(theme.background, narrow ? tint.stroke : tint.fill,
                         (narrow ? 0.45 : 0.25) + (narrow ? 0.55 : 0.75) * density));
  if (box.role == protocol::ProfileRole::backward && rect.width() >= least_hatch_width)
    painter.hatch(rect, mix(tint.fill, tint.stroke, 0.35), 6);
  if (!narrow) painter.outline(rect.adjusted(0, 0, -1, -1), tint.stroke, 1);
  if (box.marked) painter.outline(rect.adjusted(-1, -1, 0, 0), theme.accent, 2.5);
  if (box.hovered) painter.outline(rect.adjusted(-1, -1, 0, 0), theme.text, 1.5);
  if (rect.width() < least_text_width || box.text.isEmpty()) return;
  const QString text = roleGlyph(box.role) + u' ' + box.text;
  const QRectF room = rect.adjusted(4, 0, -3, 0);
  const double width = std::min(room.width(), painter.textWidth(text, box_text) + 4);
  // On a pattern letters need a quiet ground.
  if (box.role == protocol::ProfileRole::backward)
    painter.fill(QRectF(room.left() - 2, rect.top() + 2, width, rect.height() - 4), tint.fill);
  painter.textIn(room, text, box_text, theme.text, Qt::AlignLeft);
}

}  // namespace tapedeck::inspector
