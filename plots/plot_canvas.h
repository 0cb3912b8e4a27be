// The chart in a window: zoom, pan, read-out, clicks.
#pragma once

#include <QChartView>

#include "inspector/ui/accessible_parts.h"
#include "plots/plot_chart.h"

namespace tapedeck::plots {

class PlotCanvas : public QChartView, public inspector::AccessibleParts {
  Q_OBJECT
 public:
  explicit PlotCanvas(PlotChart* chart, QWidget* parent = nullptr);
  PlotChart* plotChart() const { return chart_; }

  /// The curves that are not hidden.
  int accessiblePartCount() const override;
  inspector::AccessiblePart accessiblePart(int index) const override;

 public slots:
  void zoomIn();
  void zoomOut();
  void resetZoom();

 signals:
  void pointClicked(int series, int index);
  /// Left and right arrow: to the point before or after the cursor's.
  void pointStepped(int delta);

 protected:
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  enum class Drag { none, pressed, band, pan };
  std::vector<int> shownCurves() const;
  QRectF rectOf(const Curve& curve) const;
  QPointF inChart(QPointF position) const;
  bool inPlot(QPointF position) const;
  void zoomAround(QPointF center, double factor, bool steps, bool values);
  void panBy(QPointF pixels);
  void finishBand(QPointF position);

  PlotChart* chart_;
  QRubberBand* band_;
  Drag drag_ = Drag::none;
  QPointF pressed_, last_;
};

}  // namespace tapedeck::plots
