// The cells below each other, and the buttons that add one at the end.
#pragma once

#include <QList>

#include "app/notebook/document/document.h"
#include "app/notebook/output/block.h"
#include "app/notebook/output/notebook_theme.h"

class QLabel;
class QToolButton;

namespace tapedeck::app {

class CellWidget;

class CellColumn : public Block {
  Q_OBJECT
 public:
  CellColumn(const NotebookTheme& theme, QWidget* parent);

  QList<CellWidget*> cells;  ///< the view's; placed here in this order
  void setTheme(const NotebookTheme& theme);
  /// Off: no cells can be added at the end.
  void setGrows(bool on);
  /// Where it will be when it comes behind the last one. Shown anywhere else, it would be painted there, and
  /// Qt would look among all cells for the one below the mouse.
  void placeAtEnd(CellWidget* cell) const;

 signals:
  void addRequested(tapedeck::app::CellType type);

 protected:
  int computeHeight(int width) override;
  void place() override;

 private:
  QToolButton* addButton(const QString& text, const QString& tip, CellType type);
  QWidget* bar_;
  QToolButton* code_;
  QToolButton* markdown_;
  QLabel* hint_;
  NotebookTheme theme_;
};

}  // namespace tapedeck::app
