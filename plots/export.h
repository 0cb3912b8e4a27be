// Curves into files, with or without a window.
#pragma once

#include <QImage>
#include <QSize>
#include <QString>
#include <vector>

#include "inspector/model/runs/series_model.h"
#include "plots/plot_chart.h"

namespace tapedeck::plots {

struct ExportOptions {
  QSize size{960, 600};  ///< logical pixels
  double scale = 2;      ///< PNG: pixels per logical pixel
  bool logarithmic = false;
  std::optional<Range> steps, y;  ///< none: everything
  QString title;
};

/// Draw black on white; need a QApplication, on any platform (offscreen too), but no window. Empty, with
/// a sentence in `error`, where there is nothing to draw.
QByteArray svgOf(const std::vector<ChartSeries>& series, const ExportOptions& options, QString* error);
QImage imageOf(const std::vector<ChartSeries>& series, const ExportOptions& options, QString* error);

/// The SVG that Qt wrote, readable also where this machine's font is not.
QByteArray withGenericFont(const QByteArray& svg);

/// On any thread: replaces the file by the image as PNG.
bool replaceByPng(const QString& path, const QImage& image, QString* error);

/// The same in one go. The file appears whole or not at all. False, with a sentence in `error`, where there
/// is nothing to draw or it can't be written.
bool writeSvg(const std::vector<ChartSeries>& series, const ExportOptions& options, const QString& path,
              QString* error);
bool writePng(const std::vector<ChartSeries>& series, const ExportOptions& options, const QString& path,
              QString* error);

}  // namespace tapedeck::plots
