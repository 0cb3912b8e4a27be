// Draws curves, marks, the cursor's line and the read-out into the chart's plot area.
#pragma once

#include <QGraphicsItem>
#include <QStringList>

#include "plots/curves.h"
#include "plots/plot_style.h"

namespace tapedeck::plots {

/// Everything in the chart's coordinates, made by PlotChart::refresh.
struct CurvePicture {
  struct Line {
    int series = 0;
    int style = 0;        ///< position that decides colour and marker
    bool branch = false;  ///< dashed, with hollow markers
    std::vector<QList<QPointF>> runs;
    std::vector<std::pair<double, LostKind>> lost;  ///< x
    std::optional<QPointF> cursor;                  ///< the cursor's point
    std::optional<QPointF> hover;
  };
  QRectF area;
  std::vector<Line> lines;
  std::optional<double> cursorX, hoverX;
  /// First line: the step; then "name: value" of each series, in the order of readOutLines.
  QStringList readOut;
  std::vector<std::size_t> readOutLines;  ///< positions in `lines`
  QString notice;
};

/// Whether each point of a run has a marker: where they are far enough apart. Markers on some points only
/// would look as if these were all the data.
bool hasMarkers(const QList<QPointF>& run);

class CurvesItem : public QGraphicsItem {
 public:
  explicit CurvesItem(QGraphicsItem* parent);
  void setPicture(CurvePicture picture, const inspector::Theme& theme);
  QRectF boundingRect() const override { return picture_.area.adjusted(-8, -8, 8, 8); }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  /// Whether it is in the plot area, whose edge is part of it.
  bool shows(QPointF point) const;
  void paintRuns(QPainter* painter, const CurvePicture::Line& line);
  void paintMarkers(QPainter* painter, const CurvePicture::Line& line);
  void paintCursor(QPainter* painter, const CurvePicture::Line& line);
  void paintLost(QPainter* painter, const CurvePicture::Line& line);
  void paintReadOut(QPainter* painter);
  void paintNotice(QPainter* painter);

  CurvePicture picture_;
  inspector::Theme theme_ = inspector::Theme::light();
};

}  // namespace tapedeck::plots
