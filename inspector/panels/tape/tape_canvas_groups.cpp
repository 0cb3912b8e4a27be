// The canvas of the tape: folded groups, marks and the small map.
#include <QMouseEvent>

#include "inspector/panels/tape/tape_canvas.h"
#include "inspector/panels/tape/tape_scene.h"

namespace tapedeck::inspector {

void TapeCanvas::setMarks(const TapeMarks& marks) {
  if (marks == marks_) return;
  marks_ = marks;
  markNodes();
  requestFrame();
}

int TapeCanvas::shownNode(quint64 key) const {
  if (!laid_) return -1;
  for (std::size_t i = 0; i < laid_->whole.nodes.size(); ++i)
    if (nodeKey(laid_->whole.nodes[i]) == key) return laid_->shown[i];
  return -1;
}

void TapeCanvas::walkToKey(quint64 key, bool later) {
  if (later) {
    walk_later_ = key;
    return;
  }
  if (const int node = shownNode(key); node >= 0) walkTo(node);
}

void TapeCanvas::setMinimapShown(bool shown) {
  map_shown_ = shown;
  requestFrame();
}

QRectF TapeCanvas::minimapRect() const {
  return map_shown_ && laid_ && !laid_->graph.empty() ? map_.place(*laid_, camera_, room()) : QRectF();
}

/// What the pointer is at on the map comes into the middle.
void TapeCanvas::jumpByMap(QPointF at) {
  const QRectF map = minimapRect();
  if (map.isNull()) return;
  const QPointF world = TapeMinimap::toWorld(at, map, laid_->layout.bounds);
  pan(QRectF(QPointF(), room()).center() - camera_.toWidget(world));
}

/// The open group whose lane is there; empty: none.
QString TapeCanvas::groupAt(QPointF world) const {
  for (const GraphLayout::Lane& lane : laid_->layout.lanes) {
    if (!lane.rect.contains(world) && !lane.title.contains(world)) continue;
    for (std::size_t i = 0; i < laid_->graph.nodes.size(); ++i)
      if (lane.rect.contains(laid_->layout.nodes[i].center()) && !laid_->around[i].isEmpty())
        return laid_->around[i];
  }
  return {};
}

/// Opens the group below the pointer; on a lane, folds it.
void TapeCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !laid_ || minimapRect().contains(event->position()))
    return mousePressEvent(event);
  const QPointF world = camera_.toWorld(event->position());
  const int node = nodeAt(*laid_, world);
  if (node >= 0 && laid_->graph.nodes[static_cast<std::size_t>(node)].fold.isEmpty())
    return mousePressEvent(event);
  if (node >= 0) return pick(node);
  if (const QString group = groupAt(world); !group.isEmpty()) emit foldAsked(group, false);
}

}  // namespace tapedeck::inspector
