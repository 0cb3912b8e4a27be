// Curves and histograms as text for spreadsheets and other programs: RFC 4180, numbers in full.
#pragma once

#include <QByteArray>
#include <QString>
#include <vector>

#include "inspector/model/runs/picture_model.h"
#include "inspector/model/runs/series_model.h"

namespace tapedeck::plots {

/// A row for each point: curve, step, value, record; curves are of one axis, which names the second column.
/// On any thread.
QByteArray csvOf(const std::vector<inspector::SeriesData>& curves);

/// A row for each bin: histogram, step, from, to, count; and one without limits for the values of a step that
/// are not finite. On any thread.
QByteArray csvOf(const QString& name, const inspector::Pictures<inspector::StepHistogram>& histograms);

}  // namespace tapedeck::plots
