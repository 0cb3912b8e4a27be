// A question about the past as the user types it: "loss < 0.1", "W[0, 3] == 7.3", "norm(W) > 10", or any
// condition.
#pragma once

#include <QString>
#include <optional>

#include "engine/protocol/conditions/condition.h"
#include "engine/protocol/messages.h"
#include "inspector/model/runs/series_model.h"

namespace tapedeck::inspector {

struct PastQuestion {
  QString problem;     ///< why the text is not a question; empty: it is one
  QStringList curves;  ///< what SeriesModel knows them by: all of that name; empty: the records are searched
  QString subject;     ///< as it was typed: the curve, the variable; empty: a condition of its own
  protocol::Comparison comparison = protocol::Comparison::equal;  ///< of a curve
  double value = 0;
  protocol::FindHit search;  ///< without its place and direction
};

/// A name is that of curves, where there are some of that name, or of the one that is labelled so ("loss,
/// cell [3]"); else of a variable: of one with many elements some element must compare so.
PastQuestion readPastQuestion(const QString& text, const SeriesModel& curves);

/// The curve's point that compares so: the newest before the point `from` (-1: of all), or with `forward` the
/// oldest after it. -1: none.
int pointWhere(const SeriesData& curve, const PastQuestion& question, int from, bool forward);

}  // namespace tapedeck::inspector
