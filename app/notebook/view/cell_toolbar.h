// The tools of one cell: in the space above the cell under the mouse, or else above the current one.
#pragma once

#include <QFrame>

#include "app/notebook/document/document.h"
#include "app/notebook/output/notebook_theme.h"

class QToolButton;

namespace tapedeck::app {

enum class CellAction { run, moveUp, moveDown, insertBelow, changeType, remove };

class CellToolbar : public QFrame {
  Q_OBJECT
 public:
  CellToolbar(const NotebookTheme& theme, QWidget* parent);
  void setTheme(const NotebookTheme& theme);
  /// `first`, `last`: its place allows no move that way.
  void setCell(const QString& id, CellType type, bool first, bool last);
  const QString& cellId() const { return id_; }
  QToolButton* button(CellAction action) const;
  /// Gives the focus to the first tool. Arrow keys choose, Enter and Space press; other keys are the
  /// notebook's.
  void enter();
  bool entered() const;

 signals:
  void triggered(const QString& cellId, tapedeck::app::CellAction action);
  void left();

 protected:
  void leaveEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QToolButton* addButton(CellAction action);
  void refresh();
  void focusNext(QToolButton* from, int direction);

  NotebookTheme theme_;
  QString id_;
  CellType type_ = CellType::code;
  QList<QToolButton*> buttons_;
};

}  // namespace tapedeck::app
