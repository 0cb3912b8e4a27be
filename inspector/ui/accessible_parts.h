// What a picture shows, as elements that screen readers find one by one: the cells of a heat map, curves,
// lanes.
#pragma once

#include <QAccessible>
#include <QRectF>
#include <QString>

class QWidget;

namespace tapedeck::inspector {

struct AccessiblePart {
  QString name;   ///< "[2, 5]", "loss"
  QString value;  ///< "0.25"; "120 points, steps 1 to 120, from 2.3 to 0.4"
  QRectF rect;    ///< in the widget's pixels
  QAccessible::Role role = QAccessible::ListItem;
};

/// A widget that draws its contents inherits from it, and calls exposeParts in its constructor. Its
/// functions are called for each query of a screen reader: they cost nothing while none runs.
class AccessibleParts {
 public:
  virtual ~AccessibleParts() = default;
  virtual int accessiblePartCount() const = 0;
  /// 0 ≤ index < accessiblePartCount().
  virtual AccessiblePart accessiblePart(int index) const = 0;
  /// The one that keys act on while the widget has the focus; -1: none.
  virtual int currentAccessiblePart() const { return -1; }
};

/// Call it once: widgets that inherit from AccessibleParts then have the parts as children for screen
/// readers, before those that are widgets themselves.
void exposeParts();

/// Makes screen readers announce the part that keys act on. Call it when that changed.
void tellCurrentPart(QWidget* widget);

/// The parts changed: screen readers may read them again.
void tellPartsChanged(QWidget* widget);

}  // namespace tapedeck::inspector
