// Histograms and images into files, with or without a window.
#pragma once

#include <QImage>
#include <QString>

#include "plots/histogram_drawing.h"
#include "plots/image_grid.h"

namespace tapedeck::plots {

/// Draw black on white, the name above; need a QApplication, but no window. There must be histograms.
QByteArray svgOf(const QString& name, HistogramDrawing histograms);
QImage imageOf(const QString& name, HistogramDrawing histograms);

/// All images in one, pixel for pixel, in so many columns with white between them. There must be images. On
/// any thread.
QImage imageOf(const DecodedImages& images, int columns);
QByteArray svgOf(const QString& name, const DecodedImages& images, int columns);

}  // namespace tapedeck::plots
