#include "inspector/panels/tape/tape_canvas.h"

#include <QMouseEvent>
#include <QWheelEvent>
#include <cmath>
#include <unordered_map>

#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/tape_scene.h"

namespace tapedeck::inspector {

namespace {

constexpr double least_zoom = 0.02, most_zoom = 3.0;
constexpr double readable_zoom = 0.7;  ///< following never goes below it
constexpr double key_step = 60, key_zoom = 1.25;
constexpr double drag_threshold = 4;

}  // namespace

TapeCanvas::TapeCanvas(QWidget* parent) : CanvasWidget(parent) {
  exposeParts();
  setAccessibleName(QStringLiteral("Tape graph"));
  setAccessibleDescription(empty_sentence_);
}

void TapeCanvas::showGraph(std::shared_ptr<const LaidOutGraph> laid) {
  const bool first = !laid_ || laid_->graph.empty();
  quint64 walked_key = 0;
  if (laid_ && walked_ >= 0) {
    const GraphNode& walked = laid_->graph.nodes[walked_];
    // After "more" was opened, the walked node is beside the new ones.
    walked_key = walked.kind == NodeKind::more ? walked.page * 2 : nodeKey(walked);
  }
  const std::shared_ptr<const LaidOutGraph> before = std::exchange(laid_, std::move(laid));
  walked_ = hovered_ = -1;
  if (laid_ && !first && laid_->graph.tape == before->graph.tape) holdStill(*before);
  if (laid_ && walked_key)
    for (std::size_t i = 0; i < laid_->graph.nodes.size(); ++i)
      if (nodeKey(laid_->graph.nodes[i]) == walked_key) walked_ = static_cast<int>(i);
  if (laid_ && !laid_->graph.empty()) {
    if (first || (fitted_ && laid_->graph.tape != before->graph.tape))
      keepCursorInSight(true);
    else if (follow_ && laid_->graph.cursor != before->graph.cursor)
      keepCursorInSight(false);
  }
  markNodes();
  if (const quint64 key = std::exchange(walk_later_, 0)) walkToKey(key, false);
  describe();
  requestFrame();
}

/// Another part of the same tape: nodes that were visible and are in it stay where they are.
void TapeCanvas::holdStill(const LaidOutGraph& before) {
  std::unordered_map<quint64, std::size_t> now;
  for (std::size_t i = 0; i < laid_->graph.nodes.size(); ++i) now[nodeKey(laid_->graph.nodes[i])] = i;
  for (const int node : drawn_) {
    const auto index = static_cast<std::size_t>(node);
    if (index >= before.graph.nodes.size() || before.graph.nodes[index].kind == NodeKind::more) continue;
    const auto same = now.find(nodeKey(before.graph.nodes[index]));
    if (same == now.end()) continue;
    const QPointF moved = before.layout.nodes[index].center() - laid_->layout.nodes[same->second].center();
    if (!moved.isNull()) fitted_ = false;
    camera_.offset += moved * camera_.zoom;
    return;
  }
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

QSizeF TapeCanvas::room() const {
  const QSizeF size = canvasSize();
  return {size.width(), size.height() - (legend_ ? tapeLegendHeight(size.width()) : 0)};
}

void TapeCanvas::fit() {
  if (!laid_) return;
  camera_.fit(laid_->layout.bounds, room(), least_zoom, 1.25);
  fitted_ = true;
  requestFrame();
  emit cameraChanged();
}

/// Shows the cursor's node with the least motion: none where it is visible.
void TapeCanvas::keepCursorInSight(bool first) {
  const int node = currentNode();
  Camera whole;
  whole.fit(laid_->layout.bounds, room(), least_zoom, 1.0);
  if (first && (whole.zoom >= readable_zoom || node < 0)) {
    camera_ = whole;
    fitted_ = true;
    return emit cameraChanged();
  }
  if (node < 0) return;
  const QRectF rect = nodeRect(node);
  const QRectF sight = QRectF(QPointF(), room()).adjusted(24, 24, -24, -24);
  if (!first && sight.contains(rect)) return;
  if (fitted_ && whole.zoom >= readable_zoom) {
    camera_ = whole;
  } else {
    // A camera that the user moved keeps its zoom.
    if (first || fitted_) camera_.zoom = readable_zoom;
    camera_.centre(laid_->layout.nodes[node].center(), laid_->layout.bounds, room());
  }
  emit cameraChanged();
}

void TapeCanvas::centreOnCursor() {
  const int node = currentNode();
  if (node < 0) return;
  camera_.zoom = std::max(camera_.zoom, readable_zoom);
  pan(QRectF(QPointF(), room()).center() - nodeRect(node).center());
}

void TapeCanvas::setFollowsCursor(bool follow) {
  follow_ = follow;
  if (follow && laid_ && !laid_->graph.empty()) keepCursorInSight(false);
  requestFrame();
}

void TapeCanvas::setLegendShown(bool shown) {
  legend_ = shown;
  if (laid_ && !laid_->graph.empty() && (fitted_ || follow_)) keepCursorInSight(fitted_);
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
  zoom(key_zoom, QRectF(QPointF(), canvasSize()).center());
}
void TapeCanvas::zoomOut() {
  zoom(1 / key_zoom, QRectF(QPointF(), canvasSize()).center());
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
  const std::vector<int> path = pathNodes();
  TapeScene(painter, *laid_, camera_, hovered_, hasFocus() || !marks_.hits.isEmpty() ? walked_ : -1, path,
            node_marks_)
      .draw(items);
  if (legend_) drawTapeLegend(painter);
  if (map_shown_) {
    if (!map_dragged_) map_.stepAside(*laid_, camera_, room());  // not from under the mouse
    map_.draw(painter, laid_, camera_, room());
  }
  if (hovered_ >= 0 && !dragging_ && details_) {
    QStringList details = details_(laid_->graph.nodes[hovered_]);
    if (const QString text = bookmarkText(hovered_); !text.isEmpty()) details << text;
    painter.tooltip(last_at_, details);
  }
}

void TapeCanvas::setBookmarks(const QHash<RecordNumber, QString>& notes) {
  if (notes == bookmarks_) return;
  bookmarks_ = notes;
  markNodes();
  describe();
  requestFrame();
}

void TapeCanvas::markNodes() {
  node_marks_ = laid_ ? marksOf(*laid_, marks_) : std::vector<quint8>();
  bookmark_texts_ = laid_ ? bookmarksOf(*laid_, bookmarks_) : QHash<int, QString>();
  if (bookmark_texts_.isEmpty()) return;
  node_marks_.resize(laid_->graph.nodes.size());
  for (auto node = bookmark_texts_.keyBegin(); node != bookmark_texts_.keyEnd(); ++node)
    node_marks_[static_cast<std::size_t>(*node)] |= bookmark_mark;
}

void TapeCanvas::setPath(const std::vector<RecordNumber>& records) {
  if (records == path_) return;
  path_ = records;
  requestFrame();
}

std::vector<int> TapeCanvas::pathNodes() const {
  std::vector<int> nodes;
  if (!laid_) return nodes;
  for (const RecordNumber record : path_)
    if (const int node = laid_->graph.nodeOf(record); node >= 0) nodes.push_back(node);
  return nodes;
}

// By the mouse for what is below it, by the key for the node that the keys or the cursor are at.
void TapeCanvas::contextMenuEvent(QContextMenuEvent* event) {
  if (!laid_) return;
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const int node = by_key ? actedNode() : nodeAt(*laid_, camera_.toWorld(QPointF(event->pos())));
  if (node < 0) return;
  walked_ = node;  // what the menu offers acts on it
  requestFrame();
  emit menuAsked(laid_->graph.nodes[node],
                 by_key ? mapToGlobal(nodeRect(node).center().toPoint()) : event->globalPos());
}

void TapeCanvas::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton)
    return QWidget::mousePressEvent(event);
  pressed_ = event->button();
  pressed_at_ = last_at_ = event->position();
  map_dragged_ = pressed_ == Qt::LeftButton && minimapRect().contains(pressed_at_);
  if (map_dragged_) return jumpByMap(pressed_at_);
  dragging_ = space_ || pressed_ == Qt::MiddleButton;
  if (dragging_) setCursor(Qt::ClosedHandCursor);
}

void TapeCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (map_dragged_) return jumpByMap(event->position());
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
  const bool clicked = pressed_ == Qt::LeftButton && !dragging_ && !std::exchange(map_dragged_, false);
  pressed_ = Qt::NoButton;
  dragging_ = false;
  unsetCursor();
  last_at_ = event->position();
  hover(last_at_);
  if (clicked && hovered_ >= 0) {
    walked_ = hovered_;
    emit walkedTo();
    if (laid_->graph.nodes[static_cast<std::size_t>(hovered_)].fold.isEmpty()) return pick(hovered_);
    describe();  // a group is opened by a second click
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
  const bool plain = event->modifiers() == Qt::NoModifier || event->modifiers() == Qt::KeypadModifier;
  switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (plain) return walk(event->key());
      if (event->modifiers() == Qt::ShiftModifier) return panBy(event->key());
      break;
    case Qt::Key_J:
    case Qt::Key_K:
      if (plain) return walk(event->key());
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (plain && walked_ >= 0) return pick(walked_);
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
  const bool on_graph = laid_ && at.y() < room().height() && !minimapRect().contains(at);
  const int node = on_graph ? nodeAt(*laid_, camera_.toWorld(at)) : -1;
  hovered_ = node;
  requestFrame();
}

void TapeCanvas::panBy(int key) {
  pan(QPointF(key == Qt::Key_Left    ? key_step
              : key == Qt::Key_Right ? -key_step
                                     : 0,
              key == Qt::Key_Up     ? key_step
              : key == Qt::Key_Down ? -key_step
                                    : 0));
}

/// Arrows to the next node that way; J and K along the edges, down and up.
void TapeCanvas::walk(int key) {
  if (!laid_ || laid_->graph.empty()) return;
  const int from = actedNode();
  if (from < 0) return walkTo(static_cast<int>(laid_->graph.nodes.size()) - 1);
  const bool along = key == Qt::Key_J || key == Qt::Key_K;
  const int to = along ? neighbour(from, key == Qt::Key_J) : towards(from, key);
  if (to >= 0) walkTo(to);
}

int TapeCanvas::neighbour(int node, bool downstream) const {
  for (const GraphEdge& edge : laid_->graph.edges) {
    const int here = downstream ? edge.from : edge.to, there = downstream ? edge.to : edge.from;
    if (here == node && there >= 0 && !laid_->layout.nodes[there].isNull()) return there;
  }
  return -1;
}

/// The nearest node that way; one straight on is nearer than one aside.
int TapeCanvas::towards(int node, int key) const {
  const GridCell from = laid_->layout.cells[static_cast<std::size_t>(node)];
  int best = -1, least = 0;
  for (std::size_t i = 0; i < laid_->layout.cells.size(); ++i) {
    const int down = laid_->layout.cells[i].row - from.row,
              right = laid_->layout.cells[i].column - from.column;
    const bool sideways = key == Qt::Key_Left || key == Qt::Key_Right;
    const int ahead = key == Qt::Key_Down   ? down
                      : key == Qt::Key_Up   ? -down
                      : key == Qt::Key_Left ? -right
                                            : right;
    const int aside = std::abs(sideways ? down : right);
    if (ahead <= 0 || (sideways && aside > 0)) continue;
    const int distance = ahead + 2 * aside;
    if (best >= 0 && distance >= least) continue;
    least = distance;
    best = static_cast<int>(i);
  }
  return best;
}

void TapeCanvas::walkTo(int node) {
  walked_ = node;
  const QRectF sight = QRectF(QPointF(), room()).adjusted(24, 24, -24, -24);
  if (!sight.contains(nodeRect(node))) pan(sight.center() - nodeRect(node).center());
  describe();
  requestFrame();
  emit walkedTo();
}

void TapeCanvas::pick(int node) {
  const GraphNode& picked = laid_->graph.nodes[node];
  if (!picked.fold.isEmpty())
    emit foldAsked(picked.fold, true);
  else if (picked.kind == NodeKind::more)
    emit morePicked(picked.page);
  else if (picked.record)
    emit recordPicked(picked.record);
  else if (picked.tensor)
    emit tensorPicked(picked.leaf);
}

int TapeCanvas::accessiblePartCount() const {
  return laid_ ? static_cast<int>(laid_->graph.nodes.size() + laid_->layout.lanes.size()) : 0;
}

AccessiblePart TapeCanvas::accessiblePart(int index) const {
  const auto scaled = [this](const QRectF& rect) {
    return QRectF(rect.topLeft() * letters(), rect.size() * letters());
  };
  const auto place = static_cast<std::size_t>(index);
  const std::size_t nodes = laid_->graph.nodes.size();
  if (place < nodes) return {spoken(index), {}, scaled(nodeRect(index)), QAccessible::ListItem};
  const GraphLayout::Lane& lane = laid_->layout.lanes[place - nodes];
  int inside = 0;
  for (std::size_t i = 0; i < nodes; ++i) inside += lane.rect.contains(laid_->layout.nodes[i].center());
  return {QStringLiteral("scope %1").arg(lane.scope), QStringLiteral("%1 nodes").arg(inside),
          scaled(camera_.toWidget(lane.rect)), QAccessible::Grouping};
}

QString TapeCanvas::spoken(int node) const {
  const QString text = spokenNode(laid_->graph.nodes[static_cast<std::size_t>(node)]);
  const QString bookmark = bookmarkText(node);
  return bookmark.isEmpty() ? text : text + QStringLiteral(", ") + bookmark;
}

void TapeCanvas::describe() {
  tellCurrentPart(this);
  const int node = actedNode();
  setAccessibleDescription(node >= 0 ? spoken(node) : empty_sentence_);
}

}  // namespace tapedeck::inspector
