// The insides of NotebookView.
#pragma once

#include <QElapsedTimer>
#include <QHash>
#include <QPointer>
#include <QSet>
#include <QTimer>

#include "app/notebook/output/notebook_theme.h"
#include "app/notebook/view/cell_column.h"
#include "app/notebook/view/cell_toolbar.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_keys.h"
#include "app/notebook/view/notebook_macros.h"
#include "app/notebook/view/notebook_view.h"
#include "app/notebook/view/output_updates.h"

namespace tapedeck::app {

class CellWidget;
class EditorAssistant;

struct NotebookView::Private {
  Private(NotebookView* view, Document* document);

  NotebookView* view;
  Document* document;
  NotebookTheme theme;
  int zoom = 0;
  CellColumn* column = nullptr;
  CellToolbar* toolbar = nullptr;
  EditorAssistant* assistant = nullptr;

  int current = -1;
  bool editing = false;
  int lastInserted = -1;  ///< what an undo brought back becomes the current cell
  QString hovered;
  QHash<QString, CellState> states;
  QSet<QString> busy;  ///< the cells of that state
  struct Mark {
    CellMark mark = CellMark::none;
    QString why;
  };
  QHash<QString, Mark> marks;
  QTimer spinner;
  void turnOrRest();
  int angle = 0;
  QPointer<QWidget> focusBeforeInput;  ///< who gets the focus back when the program's question is answered
  QElapsedTimer deleteKey;             ///< since the first D of two

  QString markedCell;
  int markedLine = 0;
  bool markPending = false;
  bool followsMark = false;  ///< it was scrolled to, and nothing else has scrolled since
  bool ownScroll = false;    ///< what scrolls now is showMark, or the view's change of size
  QHash<QString, QList<LineBreakpoint>> breakpoints;

  bool arranging = false;
  bool arrangeWanted = false;
  OutputUpdates outputUpdates;
  NotebookMacros macros;  ///< connected to the document before the view is

  /// Where the selection begins that ends with the current cell; null: that one alone is selected.
  QPointer<CellWidget> anchor;
  bool selectionShown = false;

  bool closesBrackets = true;
  bool wrapsCode = true;
  QHash<QString, SourceHits> hits;
  QStringList order;  ///< all cells, while some of them have no widget yet
  QTimer making;
  QPointer<Block> hitOutput;  ///< in which a hit is selected
  QString openedForHit;       ///< the Markdown cell that shows its source for the hit in it

  // Cells.
  void connectDocument();
  void rebuild();
  CellWidget* makeCellWidget(const QString& id, int number);
  /// The first `count` of them have widgets then. A large notebook's are made a few at a time, those at its
  /// beginning at once.
  void makeCells(qsizetype count);
  void makeAllCells() { makeCells(order.size()); }
  void makeMore();
  void connectEditor(CellWidget* cell, CodeEditor* editor);
  CellWidget* widgetAt(int index);
  CellWidget* widgetOf(const QString& cellId);
  CellWidget* madeWidgetOf(const QString& cellId) const;  ///< null: there is none yet
  int indexOf(const CellWidget* cell) const;
  void inserted(int index);
  void removed(int index);
  void moved(int from, int to);
  void renumber();
  void retheme();
  void applyMark();

  // Where things are.
  void requestArrange();
  void arrange();
  void showRange(int top, int bottom, int margin);
  /// Of the line where a cell stopped, in the column; empty: there is none, or its cell is not made.
  std::pair<int, int> markRange() const;
  void showMark();
  void showCurrent();
  void placeToolbar();
  void setHovered(const QString& cellId, bool inside);

  // What the user does.
  void select(int index, bool edit);  ///< marks it, without moving the focus
  // The selection (notebook_selection.cpp).
  void selectTo(int index);  ///< all from where the selection began
  void selectRange(int first, int last);
  void showSelection();
  void removeSelected();
  void moveSelected(int direction);
  void convertSelected(CellType type);
  void copySelected(bool cut);
  void paste();
  bool runSelected();  ///< false: one alone is selected
  void forgetStates(const QList<int>& indexes);
  void focusChanged(QWidget* now);
  void runCell(int index);
  /// Runs the code and renders the texts among these.
  void runCells(const QList<int>& indices);
  void runRange(int begin, int end);
  void runAndInsert();
  void leave(CellWidget* cell, int direction);
  void toolTriggered(const QString& cellId, CellAction action);
  void insert(int index, CellType type, bool edit);
  void goTo(int execution, int line);
  bool commandKey(const QKeyEvent& event);
  void removeByKey(bool autoRepeat);
  bool goByKey(NotebookCommand command);
  void changeByKey(NotebookCommand command);
  void editorKey(CellWidget* cell, EditorCommand command);
  void giveInput(CellWidget* cell, const QString& text);
  void leaveInput();
};

}  // namespace tapedeck::app
