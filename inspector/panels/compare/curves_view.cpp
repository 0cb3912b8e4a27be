#include "inspector/panels/compare/curves_view.h"

#include <QComboBox>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/accessible_parts.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

constexpr double side_room = 56, low_room = 22, top_room = 22, near_enough = 12;  // pixels
constexpr std::size_t most_marks = 60;  // with more points a line says as much

}  // namespace

class CompareCurvesView::Chart : public QWidget, public AccessibleParts {
 public:
  struct ChartRange {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void take(double value) {
      if (!std::isfinite(value)) return;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    bool empty() const { return !(low <= high); }
    double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
  };

  Chart(CompareModel* model, QWidget* parent) : QWidget(parent), model_(model) {
    exposeParts();
    setObjectName(QStringLiteral("compareChart"));
    setMinimumHeight(60);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
  }

  /// Their places in the model's list; -1: none.
  void setCurves(int left, int right) {
    const auto& all = model_->curves();
    shown_.reset();
    if (left >= 0 && left < static_cast<int>(all.size())) {
      shown_ = all[static_cast<std::size_t>(left)];
      rightName_ = QString::fromStdString(shown_->name);
      if (right >= 0 && right < static_cast<int>(all.size()) && right != left) {
        const protocol::ComparedCurve& other = all[static_cast<std::size_t>(right)];
        shown_->right = other.right;
        rightName_ = QString::fromStdString(other.name);
      }
    }
    ChartRange steps, values;
    if (const auto* shown = this->curve())
      for (const auto* part : {&shown->left, &shown->right}) {
        for (const double step : part->steps) steps.take(step);
        for (const double value : part->values) values.take(value);
      }
    steps_ = steps;
    values_ = values;
    fillWalk();
    describe();
    tellPartsChanged(this);
    update();
  }

  /// The two curves, and the step that keys or mouse walked to.
  int accessiblePartCount() const override { return !curve() ? 0 : walked_ < 0 ? 2 : 3; }
  AccessiblePart accessiblePart(int index) const override {
    const protocol::ComparedCurve* shown = curve();
    if (index == 2) {
      const double x = place(walk_[static_cast<std::size_t>(walked_)], values_.low).x();
      const QString text = told();
      return {text.section(QStringLiteral(": "), 0, 0), text.section(QStringLiteral(": "), 1),
              QRectF(x - 4, area().top(), 8, area().height()), QAccessible::ListItem};
    }
    const protocol::CurvePart& part = index == 0 ? shown->left : shown->right;
    const QString name = index == 0 ? QStringLiteral("left: ") + QString::fromStdString(shown->name)
                                    : QStringLiteral("right: ") + rightName_;
    return {name, spoken(part), rectOf(part), QAccessible::ListItem};
  }
  int currentAccessiblePart() const override { return curve() && walked_ >= 0 ? 2 : -1; }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = Theme::fromPalette(palette());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const protocol::ComparedCurve* shown = curve();
    if (!shown || steps_.empty() || values_.empty()) {
      painter.setPen(theme.faintText);
      painter.drawText(rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap,
                       QStringLiteral("Neither side drew a curve."));
      return;
    }
    drawAxes(painter, theme);
    draw(painter, shown->left, theme.backward.stroke, Qt::SolidLine, false);
    draw(painter, shown->right, theme.forward.stroke, Qt::DashLine, true);
    drawLegend(painter, theme);
    if (!hasFocus()) return;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.accent, 2));
    painter.drawRect(rect().adjusted(1, 1, -1, -1));
  }

  void mousePressEvent(QMouseEvent* event) override {
    const protocol::ComparedCurve* shown = curve();
    if (!shown || event->button() != Qt::LeftButton) return;
    double best = near_enough * near_enough;
    double record = 0;
    for (const auto* part : {&shown->left, &shown->right})
      for (std::size_t i = 0; i < part->steps.size() && i < part->values.size(); ++i) {
        const QPointF away = place(part->steps[i], part->values[i]) - event->position();
        const double distance = QPointF::dotProduct(away, away);
        if (distance > best) continue;
        best = distance;
        record = i < part->records.size() ? part->records[i] : 0;
      }
    if (record > 0) model_->session()->setCursor(static_cast<RecordNumber>(record));
  }

  /// The numbers are those of the step under the mouse.
  void mouseMoveEvent(QMouseEvent* event) override {
    if (walk_.empty()) return;
    const QRectF room = area();
    const double share = (event->position().x() - room.left()) / std::max(1.0, room.width());
    const double step = steps_.low + share * (steps_.high - steps_.low);
    const auto nearest =
        std::ranges::min_element(walk_, {}, [&](double one) { return std::abs(one - step); });
    walkTo(nearest - walk_.begin());
  }

  void keyPressEvent(QKeyEvent* event) override {
    const auto last = static_cast<std::ptrdiff_t>(walk_.size()) - 1;
    switch (event->key()) {
      case Qt::Key_Left:
        return walkTo(std::max<std::ptrdiff_t>(0, walked_ - 1));
      case Qt::Key_Right:
        return walkTo(std::min(last, walked_ + 1));
      case Qt::Key_Home:
        return walkTo(std::min<std::ptrdiff_t>(0, last));
      case Qt::Key_End:
        return walkTo(last);
      case Qt::Key_Return:
      case Qt::Key_Enter:
        return go(event->modifiers().testFlag(Qt::AltModifier));
      default:
        return QWidget::keyPressEvent(event);
    }
  }

 private:
  /// The steps of both sides, in order.
  void fillWalk() {
    const bool walked = walked_ >= 0;
    const double before = walked ? walk_[static_cast<std::size_t>(walked_)] : 0;
    walk_.clear();
    if (const auto* shown = curve())
      for (const auto* part : {&shown->left, &shown->right})
        std::ranges::copy_if(part->steps, std::back_inserter(walk_),
                             [](double step) { return std::isfinite(step); });
    std::ranges::sort(walk_);
    walk_.erase(std::ranges::unique(walk_).begin(), walk_.end());
    const auto found = std::ranges::find(walk_, before);
    walked_ = walked && found != walk_.end() ? found - walk_.begin() : -1;
  }

  void walkTo(std::ptrdiff_t at) {
    if (at == walked_) return;
    walked_ = at;
    setAccessibleDescription(told());
    tellCurrentPart(this);
    update();
  }

  /// "120 points, step 1 to 120, between 0.4 and 2.3, the last 0.4".
  static QString spoken(const protocol::CurvePart& part) {
    const std::size_t count = std::min(part.steps.size(), part.values.size());
    if (count == 0) return QStringLiteral("no points");
    const auto number = [](double value) { return QString::number(value, 'g', 4); };
    ChartRange steps, values;
    for (std::size_t i = 0; i < count; ++i) {
      steps.take(part.steps[i]);
      values.take(part.values[i]);
    }
    QStringList texts{count == 1 ? QStringLiteral("1 point")
                                 : QStringLiteral("%1 points").arg(countText(count))};
    if (!steps.empty())
      texts << QStringLiteral("%1 %2 to %3")
                   .arg(QString::fromStdString(part.x), number(steps.low), number(steps.high));
    if (!values.empty())
      texts << QStringLiteral("between %1 and %2").arg(number(values.low), number(values.high));
    return (texts << QStringLiteral("the last %1").arg(number(part.values[count - 1])))
               .join(QStringLiteral(", ")) +
           oddText(part);
  }

  /// The part of the chart that its points take; of one without points the whole.
  QRectF rectOf(const protocol::CurvePart& part) const {
    QRectF rect;
    for (std::size_t i = 0; i < std::min(part.steps.size(), part.values.size()); ++i)
      if (std::isfinite(part.steps[i]) && std::isfinite(part.values[i]))
        rect = rect.united(QRectF(place(part.steps[i], part.values[i]) - QPointF(2, 2), QSizeF(4, 4)));
    return rect.isEmpty() ? area() : rect;
  }

  /// Where the side's part has the step walked to.
  std::optional<std::size_t> walkedIn(const protocol::CurvePart& part) const {
    if (walked_ < 0) return {};
    const auto found = std::ranges::find(part.steps, walk_[static_cast<std::size_t>(walked_)]);
    const auto at = static_cast<std::size_t>(found - part.steps.begin());
    if (found == part.steps.end() || at >= part.values.size()) return {};
    return at;
  }

  /// To the op of the left side's point, or the right side's; where one has none, to the other's.
  void go(bool right) {
    const protocol::ComparedCurve* shown = curve();
    if (!shown) return;
    const auto recordIn = [&](const protocol::CurvePart& part) -> double {
      const auto at = walkedIn(part);
      return at && *at < part.records.size() ? part.records[*at] : 0;
    };
    const double first = recordIn(right ? shown->right : shown->left);
    const double record = first > 0 ? first : recordIn(right ? shown->left : shown->right);
    if (record > 0) model_->session()->setCursor(static_cast<RecordNumber>(record));
  }

  /// "step", or "step left, hit right": what lies side by side may not belong together.
  QString axis() const {
    const protocol::ComparedCurve* shown = curve();
    if (!shown) return {};
    const QString left = QString::fromStdString(shown->left.x),
                  right = QString::fromStdString(shown->right.x);
    if (shown->right.steps.empty() || left == right) return left;
    if (shown->left.steps.empty()) return right;
    return QStringLiteral("%1 left, %2 right").arg(left, right);
  }

  /// "step 5: left 1.13, right 1.12, right − left -0.01".
  QString told() const {
    const protocol::ComparedCurve* shown = curve();
    if (!shown || walked_ < 0) return {};
    const auto left = walkedIn(shown->left), right = walkedIn(shown->right);
    const auto number = [](double value) { return QString::number(value, 'g', 5); };
    QString text = QStringLiteral("%1 %2: ").arg(axis(), number(walk_[static_cast<std::size_t>(walked_)])) +
                   QStringLiteral("left %1, right %2")
                       .arg(left ? number(shown->left.values[*left]) : QStringLiteral("–"),
                            right ? number(shown->right.values[*right]) : QStringLiteral("–"));
    if (left && right)
      text += QStringLiteral(", right − left %1")
                  .arg(number(shown->right.values[*right] - shown->left.values[*left]));
    return text;
  }

  const protocol::ComparedCurve* curve() const { return shown_ ? &*shown_ : nullptr; }
  QRectF area() const { return QRectF(rect()).adjusted(sideRoom(), top_room, -12, -low_room); }
  static QString valueText(double number) { return QString::number(number, 'g', 3); }
  /// For the whole of the numbers beside the axis.
  double sideRoom() const {
    double room = side_room;
    if (!values_.empty())
      for (const double number : {values_.low, values_.high})
        room = std::max(room, 8.0 + fontMetrics().horizontalAdvance(valueText(number)));
    return room;
  }
  /// " (11 NaN or infinite)": the line has gaps there.
  static QString oddText(const protocol::CurvePart& part) {
    const auto odd = std::ranges::count_if(part.values, [](double value) { return !std::isfinite(value); });
    return odd == 0 ? QString() : QStringLiteral(" (%1 NaN or infinite)").arg(odd);
  }
  QPointF place(double step, double value) const {
    const QRectF room = area();
    return {room.left() + steps_.share(step) * room.width(),
            room.bottom() - values_.share(value) * room.height()};
  }

  void drawAxes(QPainter& painter, const Theme& theme) {
    const QRectF room = area();
    painter.setPen(theme.grid);
    for (int i = 0; i <= 2; ++i) {
      const double y = room.top() + room.height() * i / 2;
      painter.drawLine(QPointF(room.left(), y), QPointF(room.right(), y));
    }
    painter.setPen(theme.axis);
    painter.drawLine(room.bottomLeft(), room.bottomRight());
    painter.setPen(theme.faintText);
    const auto value = [&](double y, double number) {
      painter.drawText(QRectF(0, y - 10, sideRoom() - 6, 20), Qt::AlignRight | Qt::AlignVCenter,
                       valueText(number));
    };
    value(room.top(), values_.high);
    value(room.bottom(), values_.low);
    const QRectF below(room.left(), room.bottom() + 2, room.width(), low_room - 2);
    painter.drawText(below, Qt::AlignLeft | Qt::AlignTop, QString::number(steps_.low, 'g', 6));
    painter.drawText(below, Qt::AlignRight | Qt::AlignTop, QString::number(steps_.high, 'g', 6));
    if (walked_ < 0) {
      painter.drawText(below, Qt::AlignHCenter | Qt::AlignTop, axis());
      return;
    }
    const double x = place(walk_[static_cast<std::size_t>(walked_)], values_.low).x();
    painter.setPen(QPen(theme.text, 1, Qt::DashLine));
    painter.drawLine(QPointF(x, room.top()), QPointF(x, room.bottom()));
    painter.drawText(below, Qt::AlignHCenter | Qt::AlignTop, told());
  }

  void draw(QPainter& painter, const protocol::CurvePart& part, const QColor& color, Qt::PenStyle style,
            bool square) {
    QPainterPath path;
    bool down = false;
    const std::size_t count = std::min(part.steps.size(), part.values.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(part.values[i]) || !std::isfinite(part.steps[i])) {
        down = false;  // a gap says that there was no number
        continue;
      }
      const QPointF at = place(part.steps[i], part.values[i]);
      down ? path.lineTo(at) : path.moveTo(at);
      down = true;
    }
    painter.setPen(QPen(color, 2, style));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
    if (count > most_marks) return;
    painter.setPen(QPen(color, 1.5));
    painter.setBrush(palette().base());
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(part.values[i])) continue;
      const QRectF mark(place(part.steps[i], part.values[i]) - QPointF(3, 3), QSizeF(6, 6));
      square ? painter.drawRect(mark) : painter.drawEllipse(mark);
    }
  }

  void drawLegend(QPainter& painter, const Theme& theme) {
    double x = sideRoom();
    const auto entry = [&](const std::optional<CompareChoice>& choice, const QString& name, const QString& of,
                           const QColor& color, Qt::PenStyle style) {
      painter.setPen(QPen(color, 2, style));
      painter.drawLine(QPointF(x, top_room / 2), QPointF(x + 26, top_room / 2));
      painter.setPen(theme.text);
      const QString text = choice ? QStringLiteral("%1: %2, %3").arg(name, choice->brief, of) : name;
      painter.drawText(QPointF(x + 32, top_room / 2 + fontMetrics().ascent() / 2.0 - 1), text);
      x += 32 + fontMetrics().horizontalAdvance(text) + 20;
    };
    entry(model_->left(), QStringLiteral("left"),
          QString::fromStdString(curve()->name) + oddText(curve()->left), theme.backward.stroke,
          Qt::SolidLine);
    entry(model_->right(), QStringLiteral("right"), rightName_ + oddText(curve()->right),
          theme.forward.stroke, Qt::DashLine);
  }

  void describe() {
    const protocol::ComparedCurve* shown = curve();
    const auto last = [](const protocol::CurvePart& part) {
      return part.values.empty() ? QStringLiteral("no points")
                                 : QStringLiteral("%1 points, the last %2%3")
                                       .arg(part.values.size())
                                       .arg(part.values.back(), 0, 'g', 4)
                                       .arg(oddText(part));
    };
    setAccessibleName(shown ? QStringLiteral("Curve %1: left %2; right %3%4")
                                  .arg(QString::fromStdString(shown->name), last(shown->left),
                                       rightName_ == QString::fromStdString(shown->name)
                                           ? QString()
                                           : rightName_ + QStringLiteral(", "),
                                       last(shown->right))
                            : QStringLiteral("No curve"));
    setToolTip(plainTip(
        shown ? accessibleName() +
                    QStringLiteral("\nA click on a point moves the cursor there. By keyboard: the arrows "
                                   "walk over the steps, Enter goes to the left side's op, "
                                   "Alt+Enter to the right side's.")
              : QString()));
  }

  CompareModel* model_;
  std::optional<protocol::ComparedCurve> shown_;  ///< the right side's may be of another name
  QString rightName_;
  ChartRange steps_, values_;
  std::vector<double> walk_;    ///< the steps of both sides
  std::ptrdiff_t walked_ = -1;  ///< whose numbers are shown; -1: none
};

CompareCurvesView::CompareCurvesView(CompareModel* model, QWidget* parent)
    : QWidget(parent),
      model_(model),
      names_(new QComboBox(this)),
      rightNames_(new QComboBox(this)),
      chart_(new Chart(model, this)) {
  names_->setObjectName(QStringLiteral("compareCurve"));
  names_->setAccessibleName(QStringLiteral("Curve"));
  names_->setToolTip(QStringLiteral("Which curve of both sides is shown"));
  rightNames_->setObjectName(QStringLiteral("compareRightCurve"));
  rightNames_->setAccessibleName(QStringLiteral("The right side's curve"));
  rightNames_->setToolTip(QStringLiteral("Which curve of the right side is drawn over it"));
  for (QComboBox* box : {names_, rightNames_}) box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 2, 4, 2);
  layout->setSpacing(2);
  auto* choice = new QHBoxLayout;
  choice->setSpacing(6);
  choice->addWidget(names_);
  choice->addWidget(rightNames_);
  choice->addStretch(1);
  layout->addLayout(choice);
  layout->addWidget(chart_, 1);
  setFocusProxy(chart_);
  connect(names_, &QComboBox::currentIndexChanged, this, [this](int at) {
    const QSignalBlocker quiet(rightNames_);
    rightNames_->setCurrentIndex(at);
    chart_->setCurves(at, at);
  });
  connect(rightNames_, &QComboBox::currentIndexChanged, this,
          [this](int at) { chart_->setCurves(names_->currentIndex(), at); });
  connect(model, &CompareModel::curvesChanged, this, &CompareCurvesView::showNames);
  showNames();
}

void CompareCurvesView::showNames() {
  const QString before = names_->currentText(), right = rightNames_->currentText();
  {
    const QSignalBlocker quiet(names_), quietRight(rightNames_);
    names_->clear();
    rightNames_->clear();
    for (const protocol::ComparedCurve& curve : model_->curves()) {
      const QString name = QString::fromStdString(curve.name);
      names_->addItem(name);
      rightNames_->addItem(QStringLiteral("right: ") + name);
    }
    names_->setCurrentIndex(std::max(0, names_->findText(before)));
    const int same = rightNames_->findText(right);
    rightNames_->setCurrentIndex(
        same < 0 || right == QStringLiteral("right: ") + before ? names_->currentIndex() : same);
  }
  names_->setVisible(names_->count() > 1);
  rightNames_->setVisible(names_->count() > 1);
  chart_->setCurves(names_->count() ? names_->currentIndex() : -1, rightNames_->currentIndex());
}

}  // namespace tapedeck::inspector
