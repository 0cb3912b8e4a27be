#include "inspector/ui/accessible_parts.h"

#include <QAccessibleWidget>
#include <QHash>
#include <QPointer>
#include <QWindow>

namespace tapedeck::inspector {

namespace {

const AccessibleParts* partsOf(const QWidget* widget) {
  return dynamic_cast<const AccessibleParts*>(widget);
}

/// One part, identified by its index: where the picture changes, it is the part that has the index then.
class PartInterface : public QAccessibleInterface {
 public:
  PartInterface(QWidget* widget, int index) : widget_(widget), index_(index) {}

  int index() const { return index_; }
  bool isValid() const override {
    const AccessibleParts* parts = partsOf(widget_);
    return parts && index_ < parts->accessiblePartCount();
  }
  QObject* object() const override { return nullptr; }
  QWindow* window() const override { return widget_ ? widget_->window()->windowHandle() : nullptr; }
  QAccessibleInterface* parent() const override {
    return widget_ ? QAccessible::queryAccessibleInterface(widget_) : nullptr;
  }
  QAccessibleInterface* child(int) const override { return nullptr; }
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface*) const override { return -1; }

  QString text(QAccessible::Text kind) const override {
    if (!isValid()) return {};
    const AccessiblePart part = partsOf(widget_)->accessiblePart(index_);
    return kind == QAccessible::Name ? part.name : kind == QAccessible::Value ? part.value : QString();
  }
  void setText(QAccessible::Text, const QString&) override {}
  QRect rect() const override {
    if (!isValid()) return {};
    const QRect inside = partsOf(widget_)->accessiblePart(index_).rect.toAlignedRect() & widget_->rect();
    return inside.translated(widget_->mapToGlobal(QPoint()));
  }
  QAccessible::Role role() const override {
    return isValid() ? partsOf(widget_)->accessiblePart(index_).role : QAccessible::NoRole;
  }
  QAccessible::State state() const override {
    QAccessible::State state;
    state.invalid = !isValid();
    if (state.invalid) return state;
    state.readOnly = true;
    state.invisible = !widget_->isVisible();
    state.selectable = state.focusable = true;
    state.selected = partsOf(widget_)->currentAccessiblePart() == index_;
    state.focused = state.selected && widget_->hasFocus();
    return state;
  }

 private:
  QPointer<QWidget> widget_;
  int index_;
};

class PartsInterface : public QAccessibleWidget {
 public:
  explicit PartsInterface(QWidget* widget) : QAccessibleWidget(widget, QAccessible::List) {}
  ~PartsInterface() override {
    for (const QAccessible::Id id : ids_) QAccessible::deleteAccessibleInterface(id);
  }

  int childCount() const override { return count() + QAccessibleWidget::childCount(); }
  QAccessibleInterface* child(int index) const override {
    return index >= 0 && index < count() ? part(index) : QAccessibleWidget::child(index - count());
  }
  int indexOfChild(const QAccessibleInterface* child) const override {
    if (const auto* part = dynamic_cast<const PartInterface*>(child); part && part->parent() == this)
      return part->index();
    const int index = QAccessibleWidget::indexOfChild(child);
    return index < 0 ? index : index + count();
  }
  QAccessibleInterface* childAt(int x, int y) const override {
    if (QAccessibleInterface* inner = QAccessibleWidget::childAt(x, y)) return inner;
    const QPointF at = widget()->mapFromGlobal(QPoint(x, y));
    for (int i = 0; i < count(); ++i)
      if (partsOf(widget())->accessiblePart(i).rect.contains(at)) return part(i);
    return nullptr;
  }
  QAccessibleInterface* focusChild() const override {
    const int current = widget()->hasFocus() ? partsOf(widget())->currentAccessiblePart() : -1;
    return current >= 0 && current < count() ? part(current) : QAccessibleWidget::focusChild();
  }

 private:
  int count() const {
    const AccessibleParts* parts = partsOf(widget());
    return parts ? parts->accessiblePartCount() : 0;
  }
  QAccessibleInterface* part(int index) const {
    QAccessible::Id& id = ids_[index];
    if (id == 0) id = QAccessible::registerAccessibleInterface(new PartInterface(widget(), index));
    return QAccessible::accessibleInterface(id);
  }

  mutable QHash<int, QAccessible::Id> ids_;  ///< of the parts that were asked for
};

QAccessibleInterface* makeParts(const QString&, QObject* object) {
  auto* widget = qobject_cast<QWidget*>(object);
  return widget && partsOf(widget) ? new PartsInterface(widget) : nullptr;
}

}  // namespace

void exposeParts() {
  [[maybe_unused]] static const bool installed = [] {
    QAccessible::installFactory(makeParts);
    return true;
  }();
}

void tellCurrentPart(QWidget* widget) {
  const AccessibleParts* parts = partsOf(widget);
  const int current = parts && QAccessible::isActive() ? parts->currentAccessiblePart() : -1;
  if (current < 0 || !widget->hasFocus()) return;
  QAccessibleEvent event(widget, QAccessible::Focus);
  event.setChild(current);
  QAccessible::updateAccessibility(&event);
}

void tellPartsChanged(QWidget* widget) {
  if (!QAccessible::isActive()) return;
  QAccessibleEvent event(widget, QAccessible::ObjectReorder);
  QAccessible::updateAccessibility(&event);
}

}  // namespace tapedeck::inspector
