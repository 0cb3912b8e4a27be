#include "inspector/ui/math/outline_path.h"

#include <cmath>
#include <optional>

namespace tapedeck::inspector {
namespace {

class OutlineReader {
 public:
  explicit OutlineReader(QStringView data) : data_(data) {}

  QPainterPath read() {
    QChar command;
    while (true) {
      skipSpace();
      if (at_ >= data_.size()) break;
      if (data_[at_].isLetter()) command = data_[at_++];
      if (command.isNull() || !segment(command)) break;
      // Further pairs behind a move are lines.
      if (command == 'M') command = 'L';
      if (command == 'm') command = 'l';
      if (command == 'z' || command == 'Z') command = QChar();
    }
    return std::move(path_);
  }

 private:
  void skipSpace() {
    while (at_ < data_.size() && (data_[at_].isSpace() || data_[at_] == ',')) ++at_;
  }

  std::optional<double> number() {
    skipSpace();
    const qsizetype start = at_;
    const auto digits = [this] {
      while (at_ < data_.size() && data_[at_].isDigit()) ++at_;
    };
    if (at_ < data_.size() && (data_[at_] == '-' || data_[at_] == '+')) ++at_;
    digits();
    if (at_ < data_.size() && data_[at_] == '.') {
      ++at_;
      digits();
    }
    if (at_ + 1 < data_.size() && (data_[at_] == 'e' || data_[at_] == 'E')) {
      ++at_;
      if (data_[at_] == '-' || data_[at_] == '+') ++at_;
      digits();
    }
    bool valid = false;
    const double value = data_.mid(start, at_ - start).toDouble(&valid);
    return valid && std::isfinite(value) ? std::optional(value) : std::nullopt;
  }

  std::optional<QPointF> point(bool relative) {
    const auto x = number(), y = number();
    if (!x || !y) return {};
    return relative ? path_.currentPosition() + QPointF(*x, *y) : QPointF(*x, *y);
  }

  bool segment(QChar command) {
    const bool relative = command.isLower();
    const QPointF here = path_.currentPosition();
    QPointF control = here;
    bool curve = false;
    switch (command.toUpper().unicode()) {
      case 'M':
      case 'L': {
        const auto to = point(relative);
        if (!to) return false;
        command.toUpper() == 'M' ? path_.moveTo(*to) : path_.lineTo(*to);
        break;
      }
      case 'H':
      case 'V': {
        const auto to = number();
        if (!to) return false;
        if (command.toUpper() == 'H')
          path_.lineTo(relative ? here.x() + *to : *to, here.y());
        else
          path_.lineTo(here.x(), relative ? here.y() + *to : *to);
        break;
      }
      case 'C':
      case 'S': {
        const auto first = command.toUpper() == 'C' ? point(relative) : std::optional(reflected(cubic_));
        const auto second = point(relative), to = point(relative);
        if (!first || !second || !to) return false;
        path_.cubicTo(*first, *second, *to);
        control = *second;
        curve = true;
        break;
      }
      case 'Q':
      case 'T': {
        const auto middle = command.toUpper() == 'Q' ? point(relative) : std::optional(reflected(!cubic_));
        const auto to = point(relative);
        if (!middle || !to) return false;
        path_.quadTo(*middle, *to);
        control_ = *middle;
        cubic_ = false;
        return true;
      }
      case 'Z':
        path_.closeSubpath();
        break;
      default:
        return false;
    }
    control_ = control;
    cubic_ = curve;
    return true;
  }

  /// The last curve's control point on the other side of where it ended.
  QPointF reflected(bool same_kind) const {
    return same_kind ? 2 * path_.currentPosition() - control_ : path_.currentPosition();
  }

  QStringView data_;
  qsizetype at_ = 0;
  QPainterPath path_;
  QPointF control_;
  bool cubic_ = false;
};

}  // namespace

QPainterPath outlinePath(QStringView data) {
  return OutlineReader(data).read();
}

}  // namespace tapedeck::inspector
