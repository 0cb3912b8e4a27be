// Which part of a laid-out tape is drawn, and how.
#pragma once

#include <span>
#include <vector>

#include "inspector/panels/tape/layout_worker.h"
#include "inspector/ui/canvas/camera.h"
#include "inspector/ui/canvas/canvas_painter.h"

namespace tapedeck::inspector {

/// How much of a node can be read at a zoom.
enum class DetailLevel {
  boxes,   ///< colours, lines and the names of scopes only
  titles,  ///< ops' names, in letters that are larger than the zoom
  full
};
DetailLevel detailLevel(double zoom);

/// The items in a rectangle of the plane, by index. Plain data: culling is tested without drawing.
struct VisibleItems {
  std::vector<int> nodes;
  std::vector<int> edges;
  std::vector<int> frames;
  std::vector<int> lanes;
};
VisibleItems visibleItems(const LaidOutGraph& laid, const QRectF& world);

/// The node at a point of the plane; -1: none.
int nodeAt(const LaidOutGraph& laid, QPointF world);

class TapeScene {
 public:
  /// `path`: the nodes of an answer, which are hatched. `marks`: see marksOf.
  TapeScene(CanvasPainter& painter, const LaidOutGraph& laid, const Camera& camera, int hovered, int walked,
            std::span<const int> path = {}, std::span<const quint8> marks = {})
      : painter_(painter),
        laid_(laid),
        camera_(camera),
        hovered_(hovered),
        walked_(walked),
        path_(path),
        marks_(marks) {}
  void draw(const VisibleItems& items);

 private:
  void drawLane(const GraphLayout::Lane& lane);
  void drawFrame(const GraphLayout::Frame& frame);
  void drawEdge(int index);
  void drawEdgeLabel(int index);
  void drawApart();
  void drawNode(int index);
  void drawNodeText(int index, const QRectF& rect);
  void drawBadge(int index);
  void drawTitle(int index, const QRectF& rect);
  void drawOdd(const QRectF& rect);
  void drawMarks(int index, const QRectF& rect);
  quint8 mark(int node) const {
    return marks_.empty() || node < 0 ? 0 : marks_[static_cast<std::size_t>(node)];
  }
  bool emphasised(const GraphEdge& edge) const;
  bool labelled(const GraphEdge& edge) const;

  CanvasPainter& painter_;
  const LaidOutGraph& laid_;
  const Camera& camera_;
  int hovered_, walked_;
  std::span<const int> path_;
  std::span<const quint8> marks_;
  struct Arrow {
    QPointF tip, before;
    QColor color;
    bool open;
  };
  std::vector<Arrow> arrows_;
};

/// The legend is a band at the foot of the canvas, which has no room for the graph then.
void drawTapeLegend(CanvasPainter& painter);
double tapeLegendHeight(double width);

}  // namespace tapedeck::inspector
