#include "inspector/panels/tape/tape_canvas.h"

#include <QMouseEvent>
#include <QWheelEvent>
#include <cmath>

#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/tape_scene.h"

namespace tapedeck::inspector {

namespace {

constexpr double least_zoom = 0.02, most_zoom = 3.0;
constexpr double readable_zoom = 0.7;  ///< following never goes below it
constexpr double key_pan = 60, key_zoom = 1.25;
constexpr double drag_threshold = 4;

}  // namespace

TapeCanvas::TapeCanvas(QWidget* parent) : CanvasWidget(parent) {
  setAccessibleName(tr("Tape graph"));
  setAccessibleDescription(empty_sentence_);
}

void TapeCanvas::showGraph(std::shared_ptr<const LaidOutGraph> laid) {
  const bool first = !laid_ || laid_->graph.empty();
  quint64 walked_key = 0;
  if (laid_ && walked_ >= 0) walked_key = nodeKey(laid_->graph.nodes[walked_]);
  laid_ = std::move(laid);
  walked_ = hovered_ = -1;
  if (laid_ && walked_key)
    for (std::size_t i = 0; i < laid_->graph.nodes.size(); ++i)
      if (nodeKey(laid_->graph.nodes[i]) == walked_key) walked_ = static_cast<int>(i);
  if (laid_ && !laid_->graph.empty()) {
    if (first || (laid_->fresh && fitted_))
      keepCursorInSight(true);
    else if (follow_)
      keepCursorInSight(false);
  }
  describe();
  requestFrame();
}

void TapeCanvas::setEmptySentence(const QString& sentence) {
  if (empty_sentence_ == sentence) return;
  empty_sentence_ = sentence;
  describe();
  requestFrame();
}

void TapeCanvas::setCamera(const Camera& camera) {
  camera_ = camera;
  fitted_ = false;
  requestFrame();
  emit cameraChanged();
}

QRectF TapeCanvas::nodeRect(int node) const {
  if (!laid_ || node < 0 || node >= static_cast<int>(laid_->layout.nodes.size())) return {};
  return camera_.toWidget(laid_->layout.nodes[node]);
}

int TapeCanvas::currentNode() const {
  if (!laid_) return -1;
  for (std::size_t i = 0; i < laid_->graph.nodes.size(); ++i)
    if (laid_->graph.nodes[i].current) return static_cast<int>(i);
  return -1;
}

void TapeCanvas::fit() {
  if (!laid_) return;
  camera_.fit(laid_->layout.bounds, size(), least_zoom, 1.25);
  fitted_ = true;
  requestFrame();
  emit cameraChanged();
}

/// Shows the cursor's node with the least motion: none where it is in sight.
void TapeCanvas::keepCursorInSight(bool first) {
  const int node = currentNode();
  Camera whole;
  whole.fit(laid_->layout.bounds, size(), least_zoom, 1.0);
  if (first && (whole.zoom >= readable_zoom || node < 0)) {
    camera_ = whole;
    fitted_ = true;
    return emit cameraChanged();
  }
  if (node < 0) return;
  const QRectF rect = nodeRect(node);
  const QRectF sight = QRectF(QPointF(), size()).adjusted(24, 24, -24, -24);
  if (!first && sight.contains(rect)) return;
  if (fitted_ && whole.zoom >= readable_zoom) {
    camera_ = whole;
  } else {
    // A camera that the user moved keeps its zoom.
    if (first || fitted_) camera_.zoom = readable_zoom;
    camera_.centre(laid_->layout.nodes[node].center(), laid_->layout.bounds, size());
  }
  emit cameraChanged();
}

void TapeCanvas::centreOnCursor() {
  const int node = currentNode();
  if (node < 0) return;
  camera_.zoom = std::max(camera_.zoom, readable_zoom);
  pan(QPointF(width() / 2.0, height() / 2.0) - nodeRect(node).center());
}

void TapeCanvas::setFollowsCursor(bool follow) {
  follow_ = follow;
  if (follow && laid_ && !laid_->graph.empty()) keepCursorInSight(false);
  requestFrame();
}

void TapeCanvas::setLegendShown(bool shown) {
  legend_ = shown;
  requestFrame();
}

void TapeCanvas::pan(QPointF by) {
  camera_.offset += by;
  fitted_ = false;
  requestFrame();
  emit cameraChanged();
}

void TapeCanvas::zoom(double factor, QPointF at) {
  camera_.zoomAt(at, factor, least_zoom, most_zoom);
  fitted_ = false;
  requestFrame();
  emit cameraChanged();
}

void TapeCanvas::zoomIn() {
  zoom(key_zoom, QRectF(rect()).center());
}
void TapeCanvas::zoomOut() {
  zoom(1 / key_zoom, QRectF(rect()).center());
}

void TapeCanvas::paintCanvas(CanvasPainter& painter) {
  drawn_.clear();
  if (!laid_ || laid_->graph.empty()) {
    painter.paragraph(QRectF(QPointF(20, 0), painter.size() - QSizeF(40, 0)), empty_sentence_, 13,
                      painter.theme().faintText);
    return;
  }
  const VisibleItems items = visibleItems(*laid_, camera_.toWorld(QRectF(QPointF(), painter.size())));
  drawn_ = items.nodes;
  TapeScene(painter, *laid_, camera_, hovered_, hasFocus() ? walked_ : -1).draw(items);
  if (legend_) drawTapeLegend(painter);
  if (hovered_ >= 0 && !dragging_ && details_)
    painter.tooltip(last_at_, details_(laid_->graph.nodes[hovered_]));
}

void TapeCanvas::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton)
    return QWidget::mousePressEvent(event);
  pressed_ = event->button();
  pressed_at_ = last_at_ = event->position();
  dragging_ = space_ || pressed_ == Qt::MiddleButton;
  if (dragging_) setCursor(Qt::ClosedHandCursor);
}

void TapeCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (pressed_ != Qt::NoButton) {
    const QPointF moved = event->position() - pressed_at_;
    if (!dragging_ && std::hypot(moved.x(), moved.y()) > drag_threshold) {
      dragging_ = true;
      setCursor(Qt::ClosedHandCursor);
      last_at_ = pressed_at_;
    }
    if (dragging_) pan(event->position() - last_at_);
  }
  last_at_ = event->position();
  hover(last_at_);
}

void TapeCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != pressed_) return;
  const bool clicked = pressed_ == Qt::LeftButton && !dragging_;
  pressed_ = Qt::NoButton;
  dragging_ = false;
  unsetCursor();
  last_at_ = event->position();
  hover(last_at_);
  if (clicked && hovered_ >= 0) {
    walked_ = hovered_;
    pick(hovered_);
  }
}

void TapeCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  if (event->modifiers().testFlag(Qt::ShiftModifier))
    pan(QPointF(delta.x() + delta.y(), 0) * 0.5);
  else
    zoom(std::pow(1.0016, delta.y()), event->position());
  event->accept();
}

void TapeCanvas::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      return pan({key_pan, 0});
    case Qt::Key_Right:
      return pan({-key_pan, 0});
    case Qt::Key_Up:
      return pan({0, key_pan});
    case Qt::Key_Down:
      return pan({0, -key_pan});
    case Qt::Key_Home:
      return centreOnCursor();
    case Qt::Key_J:
    case Qt::Key_K:
    case Qt::Key_H:
    case Qt::Key_L:
      if (event->modifiers() == Qt::NoModifier) return walk(event->key());
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (event->modifiers() == Qt::NoModifier && walked_ >= 0) return pick(walked_);
      break;
    case Qt::Key_Space:
      if (event->isAutoRepeat()) return;
      space_ = true;
      return setCursor(Qt::OpenHandCursor);
    default:
      break;
  }
  CanvasWidget::keyPressEvent(event);
}

void TapeCanvas::keyReleaseEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Space || event->isAutoRepeat()) return CanvasWidget::keyReleaseEvent(event);
  space_ = false;
  unsetCursor();
}

void TapeCanvas::leaveEvent(QEvent* event) {
  hovered_ = -1;
  CanvasWidget::leaveEvent(event);
}

void TapeCanvas::resizeEvent(QResizeEvent* event) {
  CanvasWidget::resizeEvent(event);
  if (fitted_ && laid_ && !laid_->graph.empty()) keepCursorInSight(true);
}

void TapeCanvas::hover(QPointF at) {
  const int node = laid_ ? nodeAt(*laid_, camera_.toWorld(at)) : -1;
  hovered_ = node;
  requestFrame();
}

/// J and K along the edges, down and up; H and L within the row.
void TapeCanvas::walk(int key) {
  if (!laid_ || laid_->graph.empty()) return;
  const int from = walked_ >= 0 ? walked_ : currentNode();
  if (from < 0) return walkTo(static_cast<int>(laid_->graph.nodes.size()) - 1);
  int to = -1;
  if (key == Qt::Key_J || key == Qt::Key_K)
    to = neighbour(from, key == Qt::Key_J);
  else
    to = besides(from, key == Qt::Key_L);
  if (to >= 0) walkTo(to);
}

int TapeCanvas::neighbour(int node, bool downstream) const {
  for (const GraphEdge& edge : laid_->graph.edges) {
    const int here = downstream ? edge.from : edge.to, there = downstream ? edge.to : edge.from;
    if (here == node && there >= 0 && !laid_->layout.nodes[there].isNull()) return there;
  }
  return -1;
}

int TapeCanvas::besides(int node, bool right) const {
  const QRectF& from = laid_->layout.nodes[node];
  int best = -1;
  double nearest = 0;
  for (std::size_t i = 0; i < laid_->layout.nodes.size(); ++i) {
    const QRectF& to = laid_->layout.nodes[i];
    if (to.isNull() || to.bottom() < from.top() || to.top() > from.bottom()) continue;
    const double distance = (to.center().x() - from.center().x()) * (right ? 1 : -1);
    if (distance > 0 && (best < 0 || distance < nearest)) {
      best = static_cast<int>(i);
      nearest = distance;
    }
  }
  return best;
}

void TapeCanvas::walkTo(int node) {
  walked_ = node;
  const QRectF sight = QRectF(rect()).adjusted(24, 24, -24, -24);
  if (!sight.contains(nodeRect(node))) pan(sight.center() - nodeRect(node).center());
  describe();
  requestFrame();
}

void TapeCanvas::pick(int node) {
  const GraphNode& picked = laid_->graph.nodes[node];
  RecordNumber record = picked.record;
  for (const GraphEdge& edge : laid_->graph.edges) {
    if (record) break;
    if (edge.from == node && edge.to >= 0) record = laid_->graph.nodes[edge.to].record;
  }
  if (record) emit recordPicked(record);
}

void TapeCanvas::describe() {
  const int node = walked_ >= 0 ? walked_ : currentNode();
  setAccessibleDescription(node >= 0 ? spokenNode(laid_->graph.nodes[node]) : empty_sentence_);
}

}  // namespace tapedeck::inspector
