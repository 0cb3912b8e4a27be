// The marks of a time axis, and their texts.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "inspector/panels/time/profile_colors.h"

namespace tapedeck::inspector {

struct TimeMark {
  double at = 0;  ///< nanoseconds
  QString text;
};

/// Marks at round times of [from, to], at most one every `apart` pixels of `width`. Texts tell neighbours
/// apart and have one unit.
std::vector<TimeMark> timeMarks(double from, double to, double width, double apart);

/// An op as a box of a picture: filled by its role, which a sign (or, where that has no room, a pattern)
/// shows, too.
struct OpBox {
  QRectF rect;
  protocol::ProfileRole role = protocol::ProfileRole::forward;
  QString text;
  double density = 1;  ///< how much of it is filled: boxes of many records have holes
  bool marked = false, hovered = false;
};
void drawOpBox(CanvasPainter& painter, const OpBox& box);

}  // namespace tapedeck::inspector
