// Keys and mouse of the track: the visible part of the run, and the selection in it.
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "inspector/panels/time/track_canvas.h"

namespace tapedeck::inspector {

namespace {

constexpr double drag_distance = 4, key_zoom = 1.6, key_move = 0.25;
constexpr qint64 shortest_view = 200;  // nanoseconds

}  // namespace

// ---- moving

void TrackCanvas::setView(double from, double to) {
  const double length = std::max(to - from, static_cast<double>(shortest_view));
  const TimeSpan whole = model_->whole();
  // Never so far that no part of the run is visible.
  const double most = std::max(static_cast<double>(whole.length()) * 4, length);
  from = std::clamp(from, static_cast<double>(whole.from) - most, static_cast<double>(whole.to) + most);
  model_->setView({static_cast<qint64>(std::llround(from)), static_cast<qint64>(std::llround(from + length))},
                  static_cast<int>(trackWidth()));
}

void TrackCanvas::zoom(double factor, double x) {
  const auto [from, to] = runningView();
  const double length = (to - from) / factor;
  const double share = (x - left_edge) / (trackWidth() - left_edge);
  if (length > static_cast<double>(model_->whole().length()) * 8 + 1e6) return;
  const double kept = std::max(length, static_cast<double>(shortest_view));
  const double at = from + share * (to - from);
  const RunningTime& running = model_->running();
  setView(running.timeOf(at - share * kept), running.timeOf(at + (1 - share) * kept));
}

void TrackCanvas::pan(double pixels) {
  const auto [from, to] = runningView();
  const double time = pixels / trackWidth() * (to - from);
  setView(model_->running().timeOf(from + time), model_->running().timeOf(to + time));
}

void TrackCanvas::zoomIn() {
  zoom(key_zoom, trackWidth() / 2);
}
void TrackCanvas::zoomOut() {
  zoom(1 / key_zoom, trackWidth() / 2);
}
void TrackCanvas::moveLeft() {
  pan(-key_move * trackWidth());
}
void TrackCanvas::moveRight() {
  pan(key_move * trackWidth());
}
void TrackCanvas::fit() {
  const TimeSpan whole = model_->whole();
  scroll_ = 0;
  setView(static_cast<double>(whole.from), static_cast<double>(whole.to));
}

void TrackCanvas::show(TimeSpan span) {
  const double margin = static_cast<double>(std::max<qint64>(span.length(), shortest_view)) / 2;
  setView(static_cast<double>(span.from) - margin, static_cast<double>(span.to) + margin);
}

void TrackCanvas::centreCursor() {
  const protocol::Record* record = model_->session()->cachedRecord(model_->session()->cursor());
  if (!record) return;
  model_->setRunAt(record->start_ns);  // figures and axis are of the run that is shown
  const auto [from, to] = runningView();
  const double half = (to - from) / 2;
  const RunningTime& running = model_->running();
  const double at =
      running.of(static_cast<double>(record->start_ns) + static_cast<double>(record->call_ns) / 2);
  setView(running.timeOf(at - half), running.timeOf(at + half));
}

void TrackCanvas::selectView() {
  model_->setSelection(model_->view());
}

// ---- mouse

void TrackCanvas::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton)
    return QWidget::mousePressEvent(event);
  pressed_ = true;
  pressed_at_ = last_at_ = event->position();
  dragging_ = false;
  selecting_ = event->button() == Qt::LeftButton && event->modifiers().testFlag(Qt::ShiftModifier);
}

void TrackCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (pressed_ && selecting_) {
    const double a = timeAt(pressed_at_.x()), b = timeAt(at.x());
    selected_ = TimeSpan{static_cast<qint64>(std::min(a, b)), static_cast<qint64>(std::max(a, b)) + 1};
    requestFrame();
  } else if (pressed_) {
    const QPointF moved = at - pressed_at_;
    dragging_ = dragging_ || std::hypot(moved.x(), moved.y()) > drag_distance;
    if (dragging_) {
      setCursor(Qt::ClosedHandCursor);
      const double room = stepsTop() - axis_height;
      scroll_ = std::clamp(scroll_ - (at.y() - last_at_.y()), 0.0, std::max(0.0, rowsHeight() - room));
      pan(last_at_.x() - at.x());
      requestFrame();
    }
  }
  last_at_ = at;
  hover(at);
}

void TrackCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (!pressed_) return;
  pressed_ = false;
  unsetCursor();
  last_at_ = event->position();
  if (selecting_) {
    selecting_ = false;
    const std::optional<TimeSpan> span = std::exchange(selected_, std::nullopt);
    // A click without a drag takes the selection back.
    const bool drawn = std::abs(last_at_.x() - pressed_at_.x()) > drag_distance;
    model_->setSelection(drawn ? span : std::nullopt);
    return requestFrame();
  }
  const bool clicked = !std::exchange(dragging_, false) && event->button() == Qt::LeftButton;
  hover(last_at_);
  if (!clicked) return;
  if (hovered_) model_->session()->setCursor(hovered_);
  if (hovered_step_ >= 0 && model_->steps())
    model_->session()->setCursor(model_->steps()->records[static_cast<std::size_t>(hovered_step_)]);
}

void TrackCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(delta.x()) > std::abs(delta.y()))
    pan(-(delta.x() + delta.y()) * 0.5);
  else
    zoom(std::pow(1.0020, delta.y()), event->position().x());
  event->accept();
}

void TrackCanvas::leaveEvent(QEvent* event) {
  hovered_ = 0;
  hovered_step_ = -1;
  CanvasWidget::leaveEvent(event);
  requestFrame();
}

void TrackCanvas::resizeEvent(QResizeEvent* event) {
  CanvasWidget::resizeEvent(event);
  if (model_->view().length() > 0) model_->setView(model_->view(), static_cast<int>(trackWidth()));
}

void TrackCanvas::hover(QPointF at) {
  hovered_ = 0;
  hovered_step_ = -1;
  const protocol::ProfileTrack* track = model_->track();
  if (at.y() >= stepsTop() && model_->steps()) {
    const protocol::ProfileSteps& steps = *model_->steps();
    const double time = timeAt(at.x()) - static_cast<double>(model_->stepsFrom());
    for (std::size_t i = 0; i < steps.starts.size(); ++i)
      if (steps.starts[i] <= time && time < steps.ends[i]) hovered_step_ = static_cast<int>(i);
  } else if (track) {
    double nearest = 3;  // boxes of a pixel are hard to hit
    for (const Shown& one : shown_) {
      if (at.y() < one.rect.top() || at.y() > one.rect.bottom() || one.lane >= track->lanes.size()) continue;
      const double beside = std::max({0.0, one.rect.left() - at.x(), at.x() - one.rect.right()});
      const protocol::ProfileLane& lane = track->lanes[one.lane];
      if (beside >= nearest || one.box >= lane.starts.size()) continue;
      nearest = beside;
      hovered_ = one.record;
      hovered_count_ = one.count;
      hovered_time_ = static_cast<qint64>(lane.ends[one.box] - lane.starts[one.box]);
      if (beside == 0) break;
    }
  }
  requestFrame();
}

}  // namespace tapedeck::inspector
