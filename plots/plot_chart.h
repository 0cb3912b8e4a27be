// The chart itself, for the window and for files alike: axes, legend, curves, the cursor's line.
#pragma once

#include <QChart>
#include <QString>
#include <QStringList>
#include <memory>
#include <optional>
#include <vector>

#include "inspector/model/runs/series_model.h"
#include "plots/curves.h"
#include "plots/plot_style.h"

namespace tapedeck::plots {

struct ChartSeries {
  const inspector::SeriesData* data = nullptr;  ///< must live until the next setSeries
  bool visible = true;
  bool listed = true;  ///< false: it is over another axis than the chart's, which neither draws nor names it
  int branchOf = -1;   ///< of a branch's curve: the position of the original's, whose colour it has; else -1
  bool drawn() const { return visible && listed; }
};

/// A point of a series; series -1: none.
struct ChartPoint {
  int series = -1;
  int index = -1;
};

class PlotChart : public QChart {
  Q_OBJECT
 public:
  explicit PlotChart(QGraphicsItem* parent = nullptr);
  ~PlotChart() override;

  void setTheme(const inspector::Theme& theme);
  /// Axes, legend and title, how many times as large as the desktop has text.
  void setLetters(double times);
  const inspector::Theme& theme() const;
  /// Positions in the list decide colours and dashes; the first one that is listed names the axis.
  void setSeries(std::vector<ChartSeries> series);
  const std::vector<ChartSeries>& series() const;
  void setLogarithmic(bool on);
  bool logarithmic() const;
  /// The part that is shown, y in axis coordinates; none: everything.
  void setZoom(std::optional<Range> steps, std::optional<Range> y);
  bool zoomed() const;
  Range stepsShown() const;
  Range yShown() const;
  /// The newest point of each series at or before the record; 0: no line.
  void setCursorRecord(quint64 record);
  std::optional<double> cursorStep() const;
  /// The read-out's step; none: no read-out.
  void setHover(std::optional<double> step);

  /// Computes what the plot area shows; called by setters through the event loop, and directly before drawing
  /// at once.
  void refresh();
  const std::vector<Curve>& curves() const;  ///< one per series; empty ones for those that are not visible
  QString axis() const;                      ///< what x is: "step"
  /// A sentence about values without a place on a log axis; empty: none.
  QString notice() const;
  QString hoverText() const;

  QPointF toScene(QPointF axes) const;  ///< (step, y) to the chart's coordinates
  QPointF toAxes(QPointF chart) const;
  /// Nearest visible point within `reach` pixels of a position in the chart.
  ChartPoint pointNear(QPointF position, double reach) const;

 signals:
  void legendClicked(int series);
  void refreshed();

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::plots
