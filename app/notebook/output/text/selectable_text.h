// Read-only text, selectable with mouse and keyboard.
#pragma once

#include <QAbstractScrollArea>

class QMenu;

namespace tapedeck::app {

enum class CaretMove {
  left,
  right,
  wordLeft,
  wordRight,
  up,
  down,
  pageUp,
  pageDown,
  lineStart,
  lineEnd,
  start,
  end
};

/// What texts of any length share: Ctrl+C, Ctrl+A, Shift with the keys that move a cursor, the mouse, the
/// menu, and the text for screen readers, which get it as the widget's value. Every other key is the
/// notebook's.
class SelectableText : public QAbstractScrollArea {
  Q_OBJECT
 public:
  virtual bool hasSelection() const = 0;
  virtual void selectAll() = 0;
  virtual void clearSelection() = 0;
  virtual void copy() = 0;
  /// Where the text cursor is, in the widget; empty: not visible.
  virtual QRect cursorRect() const = 0;
  virtual QString textForReaders() const = 0;

 protected:
  explicit SelectableText(QWidget* parent);

  /// The text cursor goes there; `extend`: with it the end of what is selected.
  virtual void placeCursor(QPoint point, bool extend) = 0;
  virtual void moveCursor(CaretMove move) = 0;  ///< with the end of what is selected
  virtual void selectWord(QPoint point) = 0;
  /// Whether Shift with cursor keys selects here, and not cells.
  virtual bool hasCaret() const = 0;
  virtual void pressed(QPoint) {}
  virtual void dragged(QPoint) {}
  virtual void hovered(QPoint) {}
  virtual void released(QPoint) {}
  virtual void doubleClickedAt(QPoint point) { selectWord(point); }
  virtual void addToMenu(QMenu*, QPoint) {}

  bool selecting() const { return selecting_; }
  void stopSelecting() { selecting_ = false; }
  /// Copies, selects; false: the key is another one.
  bool selectionKey(QKeyEvent* event);

  bool event(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  void bringCursorIntoSight();

  bool selecting_ = false;
};

}  // namespace tapedeck::app
