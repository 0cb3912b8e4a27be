#include "inspector/panels/time/flame_canvas.h"

#include <QMouseEvent>
#include <algorithm>
#include <utility>

#include "inspector/model/format.h"
#include "inspector/model/runs/profile_text.h"
#include "inspector/panels/time/time_axis.h"

namespace tapedeck::inspector {

namespace {

constexpr double flame_row = 24, flame_text = 11.5, least_box = 1.5;
constexpr int wheel_row = 40;  // eighths of a degree: three rows a notch, as in lists

}  // namespace

FlameCanvas::FlameCanvas(ProfileModel* model, CellNames* cells, QWidget* parent)
    : CanvasWidget(parent), model_(model), cells_(cells), bar_(Qt::Vertical, this) {
  exposeParts();
  setAccessibleName(QStringLiteral("Flame of the ops' time"));
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  connect(model, &ProfileModel::flameChanged, this, &FlameCanvas::take);
  connect(cells, &CellNames::changed, this, [this] { requestFrame(); });
  connect(model->session(), &Session::cursorChanged, this, [this] { requestFrame(); });
  bar_.setFocusPolicy(Qt::NoFocus);
  bar_.hide();
  connect(&bar_, &QScrollBar::valueChanged, this, [this] {
    hovered_ = -1;
    requestFrame();
  });
}

const protocol::ProfileNode& FlameCanvas::at(std::size_t node) const {
  return nodes_[node];
}

void FlameCanvas::take() {
  const std::vector<QString> zoomed = nodes_.empty() ? std::vector<QString>{} : path(zoomed_);
  const std::vector<QString> walked = nodes_.empty() ? std::vector<QString>{} : path(walked_);
  const protocol::ProfileFlame* flame = model_->flame();
  nodes_ = flame ? flame->nodes : std::vector<protocol::ProfileNode>{};
  children_.assign(nodes_.size(), {});
  for (std::size_t i = 1; i < nodes_.size(); ++i)
    if (nodes_[i].parent < i) children_[nodes_[i].parent].push_back(i);
  for (auto& some : children_)
    std::stable_sort(some.begin(), some.end(), [this](std::size_t a, std::size_t b) {
      return nodes_[a].total_ns > nodes_[b].total_ns;
    });
  zoomed_ = find(zoomed);
  walked_ = find(walked);
  boxes_.clear();  // they are of the flame before
  hovered_ = -1;
  fitBar();
  describe();
  requestFrame();
}

/// The number of rows of the zoomed part and its ancestors, and how many of them are visible.
void FlameCanvas::fitBar() {
  std::vector<std::size_t> depths(nodes_.size(), 0);
  std::size_t rows = 0;
  for (std::size_t node = zoomed_; node < nodes_.size(); ++node) {
    const std::size_t parent = at(node).parent;
    if (node != zoomed_ && (parent >= node || depths[parent] == 0)) continue;
    depths[node] = node == zoomed_ ? depthOf(node) + 1 : depths[parent] + 1;
    rows = std::max(rows, depths[node]);
  }
  const int seen = std::max(1, static_cast<int>(canvasSize().height() / flame_row));
  bar_.setRange(0, std::max(0, static_cast<int>(rows) - seen));
  bar_.setPageStep(seen);
  bar_.setVisible(bar_.maximum() > 0);
  const int width = bar_.sizeHint().width();
  bar_.setGeometry(this->width() - width, 0, width, height());
}

/// The box walked to comes into sight.
void FlameCanvas::reveal() {
  fitBar();
  const int row = static_cast<int>(depthOf(walked_));
  bar_.setValue(std::clamp(bar_.value(), row - bar_.pageStep() + 1, row));
}

std::size_t FlameCanvas::depthOf(std::size_t node) const {
  std::size_t depth = 0;
  for (; node != 0; node = at(node).parent) ++depth;
  return depth;
}

QString FlameCanvas::label(std::size_t node) const {
  const protocol::ProfileNode& one = at(node);
  if (node == 0) return QStringLiteral("all");
  if (one.op)
    return roleGlyph(one.role) + u' ' + QString::fromStdString(one.name) +
           (one.device ? QStringLiteral(" · ") + QString::fromStdString(*one.device) : QString());
  if (!one.name.empty()) return QString::fromStdString(one.name);
  if (one.line == 0) {
    const QString place =
        placeText(one.cell, one.file, 0, one.slowest,
                  [this](const QString& id, RecordNumber record) { return cells_->name(id, record); });
    return place.isEmpty() ? QStringLiteral("no line") : place;
  }
  const QString code = one.cell.empty() ? QString()
                                        : cells_->code(QString::fromStdString(one.cell),
                                                       static_cast<int>(one.line), one.slowest);
  return QStringLiteral("line %1").arg(one.line) + (code.isEmpty() ? QString() : QStringLiteral(": ") + code);
}

std::vector<QString> FlameCanvas::path(std::size_t node) const {
  std::vector<QString> names;
  for (; node != 0 && node < nodes_.size(); node = at(node).parent)
    names.push_back(
        QString::fromStdString(at(node).name + '\n' + at(node).cell + '\n' + at(node).file + '\n') +
        QString::number(at(node).line));
  std::reverse(names.begin(), names.end());
  return names;
}

/// As far as there is such a path now.
std::size_t FlameCanvas::find(const std::vector<QString>& wanted) const {
  std::size_t node = 0;
  if (nodes_.empty()) return node;
  for (std::size_t depth = 0; depth < wanted.size(); ++depth) {
    const auto child = std::find_if(children_[node].begin(), children_[node].end(),
                                    [&](std::size_t one) { return path(one).back() == wanted[depth]; });
    if (child == children_[node].end()) break;
    node = *child;
  }
  return node;
}

void FlameCanvas::place(std::size_t node, double left, double width, double top, bool only) {
  if (width < least_box) return;
  boxes_.push_back({QRectF(left, top, width, flame_row), node});
  if (only) return;
  double x = left;
  const double whole = static_cast<double>(std::max<std::int64_t>(1, at(node).total_ns));
  for (const std::size_t child : children_[node]) {
    const double part = width * static_cast<double>(at(child).total_ns) / whole;
    place(child, x, part, top + flame_row, false);
    x += part;
  }
}

/// The zoomed one as wide as the canvas, and above it what it is a part of.
void FlameCanvas::placeAll() {
  const double width = canvasSize().width() - (bar_.isHidden() ? 0 : bar_.width() / letters());
  std::vector<std::size_t> above;
  for (std::size_t node = zoomed_; node != 0; node = at(node).parent) above.push_back(at(node).parent);
  double top = -bar_.value() * flame_row;
  for (auto node = above.rbegin(); node != above.rend(); ++node, top += flame_row)
    place(*node, 0, width, top, true);
  place(zoomed_, 0, width, top, false);
}

void FlameCanvas::draw(CanvasPainter& painter, const Box& box) const {
  const Theme& theme = painter.theme();
  const protocol::ProfileNode& node = at(box.node);
  const QString share = shareText(static_cast<double>(node.total_ns) / static_cast<double>(at(0).total_ns));
  const QRectF rect = box.rect.adjusted(0, 1, -1, -1);
  const bool walked = box.node == walked_ && hasFocus();
  const bool hovered = static_cast<int>(box.node) == hovered_;
  if (node.op) {
    OpBox op;
    op.rect = rect;
    op.role = node.role;
    op.text = QString::fromStdString(node.name) + QStringLiteral("  ") + share;
    op.marked = walked;
    op.hovered = hovered;
    return drawOpBox(painter, op);
  }
  painter.fill(rect, theme.panel);
  painter.outline(rect, theme.border);
  if (walked) painter.outline(rect, theme.accent, 2.5);
  if (hovered) painter.outline(rect, theme.text, 1.5);
  if (rect.width() > 20)
    painter.textIn(rect.adjusted(5, 0, -4, 0), label(box.node) + QStringLiteral("  ") + share, flame_text,
                   theme.text, Qt::AlignLeft);
}

void FlameCanvas::paintCanvas(CanvasPainter& painter) {
  boxes_.clear();
  const Theme& theme = painter.theme();
  if (nodes_.empty() || at(0).total_ns <= 0) {
    painter.paragraph(
        QRectF(QPointF(20, 0), painter.size() - QSizeF(40, 0)),
        model_->flame() ? QStringLiteral("No op ran in this part of the run.") : model_->waitingText(), 13,
        theme.faintText);
    return;
  }
  placeAll();
  for (const Box& box : boxes_)
    if (box.rect.bottom() > 0 && box.rect.top() < painter.size().height()) draw(painter, box);
  if (hovered_ >= 0) painter.tooltip(last_at_, details(static_cast<std::size_t>(hovered_)));
}

QStringList FlameCanvas::details(std::size_t node) const {
  const protocol::ProfileNode& one = at(node);
  QStringList lines{label(node), QStringLiteral("time\t%1").arg(durationText(one.total_ns))};
  if (one.op) lines << QStringLiteral("role\t%1").arg(roleText(one.role));
  if (node == 0 && model_->flame() && model_->flame()->pending > 0)
    lines << QStringLiteral("left out\t%1 ops on GPUs, whose times are not known yet")
                 .arg(countText(model_->flame()->pending));
  lines << QStringLiteral("calls\t%1").arg(countText(one.calls));
  if (one.slowest)
    lines << QStringLiteral("slowest\t%1, op %2").arg(durationText(one.max_ns), countText(one.slowest))
          << QStringLiteral("a click zooms in, a double click goes to the slowest");
  return lines;
}

int FlameCanvas::boxAt(QPointF at) const {
  for (const Box& box : boxes_)
    if (box.rect.contains(at)) return static_cast<int>(box.node);
  return -1;
}

void FlameCanvas::mouseMoveEvent(QMouseEvent* event) {
  last_at_ = event->position();
  hovered_ = boxAt(last_at_);
  requestFrame();
}

void FlameCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const int node = boxAt(event->position());
  if (std::exchange(double_click_, false)) return;
  if (event->button() == Qt::LeftButton && node >= 0) zoomTo(static_cast<std::size_t>(node));
}

void FlameCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  // The first click has zoomed: what is below it now is what was clicked.
  if (event->button() != Qt::LeftButton) return;
  double_click_ = true;
  goToSlowest();
}

void FlameCanvas::leaveEvent(QEvent* event) {
  hovered_ = -1;
  CanvasWidget::leaveEvent(event);
  requestFrame();
}

void FlameCanvas::zoomTo(std::size_t node) {
  zoomed_ = walked_ = node;
  reveal();
  describe();
  requestFrame();
}

void FlameCanvas::zoomOut() {
  if (!nodes_.empty()) zoomTo(at(zoomed_).parent);
}

void FlameCanvas::zoomAll() {
  if (!nodes_.empty()) zoomTo(0);
}

void FlameCanvas::goToSlowest() {
  if (!nodes_.empty() && at(walked_).slowest) model_->session()->setCursor(at(walked_).slowest);
}

void FlameCanvas::keyPressEvent(QKeyEvent* event) {
  const bool plain = event->modifiers() == Qt::NoModifier || event->modifiers() == Qt::KeypadModifier;
  if (!plain || nodes_.empty()) return CanvasWidget::keyPressEvent(event);
  switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
      return walk(event->key());
    case Qt::Key_Space:
      return zoomTo(walked_);
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
      return bar_.setValue(bar_.value() + (event->key() == Qt::Key_PageDown ? 1 : -1) * bar_.pageStep());
    default:
      return CanvasWidget::keyPressEvent(event);
  }
}

void FlameCanvas::wheelEvent(QWheelEvent* event) {
  turned_ += event->angleDelta().y();
  const int rows = turned_ / wheel_row;
  turned_ -= rows * wheel_row;
  bar_.setValue(bar_.value() - rows);
  event->accept();
}

void FlameCanvas::resizeEvent(QResizeEvent* event) {
  CanvasWidget::resizeEvent(event);
  fitBar();
}

void FlameCanvas::walk(int key) {
  if (key == Qt::Key_Up) return walkTo(at(walked_).parent);
  if (key == Qt::Key_Down) {
    if (!children_[walked_].empty()) walkTo(children_[walked_].front());
    return;
  }
  if (walked_ == 0) return;
  const std::vector<std::size_t>& row = children_[at(walked_).parent];
  const auto here = std::find(row.begin(), row.end(), walked_);
  if (key == Qt::Key_Left && here != row.begin()) walkTo(*(here - 1));
  if (key == Qt::Key_Right && here != row.end() && here + 1 != row.end()) walkTo(*(here + 1));
}

void FlameCanvas::walkTo(std::size_t node) {
  walked_ = node;
  // Out of the zoomed part: the zoom goes out as far.
  const auto inside = [this](std::size_t one) {
    for (;; one = at(one).parent) {
      if (one == zoomed_) return true;
      if (one == 0) return false;
    }
  };
  while (!inside(walked_)) zoomed_ = at(zoomed_).parent;
  reveal();
  describe();
  requestFrame();
}

AccessiblePart FlameCanvas::accessiblePart(int index) const {
  const Box& box = boxes_[static_cast<std::size_t>(index)];
  const protocol::ProfileNode& node = at(box.node);
  return {label(box.node),
          QStringLiteral("%1, %2 calls").arg(durationText(node.total_ns), countText(node.calls)),
          QRectF(box.rect.topLeft() * letters(), box.rect.size() * letters()), QAccessible::TreeItem};
}

int FlameCanvas::currentAccessiblePart() const {
  const auto walked =
      std::find_if(boxes_.begin(), boxes_.end(), [this](const Box& box) { return box.node == walked_; });
  return walked == boxes_.end() ? -1 : static_cast<int>(walked - boxes_.begin());
}

void FlameCanvas::describe() {
  tellCurrentPart(this);
  setAccessibleDescription(nodes_.empty() ? QString()
                                          : QStringLiteral("%1, %2, %3 calls")
                                                .arg(label(walked_), durationText(at(walked_).total_ns),
                                                     countText(at(walked_).calls)));
}

}  // namespace tapedeck::inspector
