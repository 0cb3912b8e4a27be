// Histograms over steps as a drawing: the layout, for the window and for files alike.
#pragma once

#include <QFont>
#include <QPainter>
#include <QPolygonF>
#include <vector>

#include "inspector/model/runs/picture_model.h"
#include "inspector/ui/theme.h"
#include "plots/ticks.h"

namespace tapedeck::plots {

/// The arrangement of histograms: a ridge for each step, the oldest behind; all on one baseline; or a
/// row for each step, the oldest at the top, whose darkness is the height.
enum class HistogramForm { ridges, overlay, heat };

/// A bin of a step that is drawn; -1: none.
struct HistogramPlace {
  int step = -1, bin = -1;
  bool operator==(const HistogramPlace&) const = default;
};

class HistogramDrawing {
 public:
  void setHistograms(inspector::Pictures<inspector::StepHistogram> all);
  void setForm(HistogramForm form);
  HistogramForm form() const { return form_; }
  /// Chooses as many steps as there is room for, evenly, the newest among them, and their positions.
  void layOut(const QSizeF& size, const QFont& font);

  struct Bin {
    double left = 0, right = 0;  ///< where it is drawn: not narrower than can be seen
    double from = 0, to = 0;     ///< what it counts
    double count = 0;
    double height() const { return count / (right - left); }
  };
  /// Bins that are too narrow to be seen count as one with those beside them.
  struct Shape {
    std::shared_ptr<const inspector::StepHistogram> histogram;
    std::vector<Bin> bins;  ///< empty: no value was finite
    double values = 0;      ///< in all bins
  };
  const std::vector<Shape>& shown() const { return shown_; }
  QRectF area() const { return area_; }  ///< of baselines and ridges
  QRectF rectOf(int step) const;         ///< of a step that is shown

  HistogramPlace placeAt(QPointF position) const;
  QPointF positionOf(HistogramPlace place) const;  ///< of the bin's top; heat: its middle
  QString readOut(HistogramPlace place) const;     ///< "step 12 · −0.31 to −0.25 · 48 of 1,000 values"
  /// "400 steps, every 4th drawn · 12 others were dropped · values that are not finite at 3 steps"
  QString summary() const;

  /// All but the header.
  void draw(QPainter& painter, const inspector::Theme& theme) const;
  /// `line`, in the text's or a faint colour, is above; a title before it.
  void drawHeader(QPainter& painter, const inspector::Theme& theme, const QString& title, const QString& line,
                  bool faint) const;
  void drawMark(QPainter& painter, const inspector::Theme& theme, HistogramPlace place) const;

 private:
  void choose();
  double roomAbove() const;
  double heightOf(const Bin& bin) const;
  double baseline(std::size_t step) const;
  QRectF row(std::size_t step) const;
  double across(double value) const;
  QRectF cell(std::size_t step, const Bin& bin) const;
  QPolygonF outline(std::size_t step) const;
  double nearness(std::size_t step) const;
  int stepAt(QPointF position) const;
  void drawValueAxis(QPainter& painter, const inspector::Theme& theme) const;
  void drawStepLabels(QPainter& painter, const inspector::Theme& theme) const;
  void drawStepRamp(QPainter& painter, const inspector::Theme& theme) const;
  void drawRidges(QPainter& painter, const inspector::Theme& theme) const;
  void drawHeat(QPainter& painter, const inspector::Theme& theme) const;

  inspector::Pictures<inspector::StepHistogram> all_;
  std::vector<Shape> shown_;
  std::size_t every_ = 1;  ///< one of so many is shown
  HistogramForm form_ = HistogramForm::ridges;
  QSizeF size_;
  QFont font_;
  QRectF area_;       ///< of baselines and ridges
  double ridge_ = 0;  ///< height of the highest
  double first_ = 0;  ///< baseline of the oldest
  Range values_;
  double highest_ = 0;  ///< counts for a unit of width
};

}  // namespace tapedeck::plots
