// The notebook as a widget: cells with their editors and outputs. Knows the Document, nothing of sessions.
#pragma once

#include <QHash>
#include <QScrollArea>
#include <memory>

#include "app/notebook/document/cell_state.h"
#include "app/notebook/document/document.h"
#include "app/notebook/view/text_hits.h"

namespace tapedeck::app {

struct LineBreakpoint;

class NotebookView : public QScrollArea {
  Q_OBJECT
 public:
  explicit NotebookView(Document* document, QWidget* parent = nullptr);
  ~NotebookView() override;

  int currentCell() const;  ///< -1 in an empty notebook
  void setCurrentCell(int index, bool editing);
  /// What commands act on: the current cell and those selected with it, from the top; empty in an empty
  /// notebook.
  QList<int> selectedCells() const;
  /// Scrolls so that this heading of a Markdown cell is at the top.
  void showHeading(int index, const QString& text);
  void setCellState(const QString& cellId, CellState state);
  CellState cellState(const QString& cellId) const;
  /// Why a cell's outputs may be outdated; a sentence for its tooltip and screen readers.
  void setCellMark(const QString& cellId, CellMark mark, const QString& why);
  CellMark cellMark(const QString& cellId) const;
  /// Marks the line (from 1) at which the session is paused; scrolls to it where it differs from the
  /// previous one. `pending`: the gate waits there now; else it is where the cursor's record ran. An empty id
  /// clears the mark.
  void setPausedLine(const QString& cellId, int line, bool pending);
  /// The breakpoints in the margin of a cell.
  void setBreakpoints(const QString& cellId, const QList<LineBreakpoint>& breakpoints);
  /// Where the text cursor is, in the current cell where that is code; line from 1, 0: nowhere.
  std::pair<QString, int> currentLine() const;
  /// Puts the text cursor there.
  void goToLine(const QString& cellId, int line);
  /// Marks what a search found in the source of a cell.
  void setHits(const QString& cellId, const SourceHits& hits);
  /// Scrolls there; a Markdown cell shows its source until another hit is shown. `enter`: the keyboard goes
  /// to it, and it is selected.
  void showSourceHit(const QString& cellId, const TextHit& hit, bool enter);
  /// `text`: what is there, which is selected where the output shows it as a whole; `byte`: where that begins
  /// in what was printed, to which a long output scrolls.
  void showOutputHit(const QString& cellId, int output, const TextHit& hit, const QString& text,
                     std::size_t byte);
  /// No hit is shown any more: what was opened for it is closed.
  void endHits();
  /// Asks for a line of input below the running cell (Python's input()).
  void askInput(const QString& cellId, const QString& prompt, bool password);
  /// `start`, `end` and the signals' `cursorPosition` count code points, as Jupyter's messages do.
  void showCompletions(quint64 request, const QStringList& matches, int start, int end);
  void showHelp(quint64 request, const QString& text);
  void setClosesBrackets(bool on);
  void setWrapsCode(bool on);
  void setCompletesWhileTyping(bool on);

 public slots:
  // The menu's actions, on the selected cells; what adds one, or steps, on the current one.
  void runCurrent();            ///< Ctrl+Enter
  void runCurrentAndAdvance();  ///< Shift+Enter; appends a cell after the last
  void runAll();
  void runAbove();     ///< all above the current one
  void runToHere();    ///< and the current one
  void runFromHere();  ///< the current one and all below
  void runSelected();
  void insertAbove();
  void insertBelow();
  void deleteCurrent();
  void moveUp();
  void moveDown();
  void makeCode();
  void makeMarkdown();
  void clearOutputs();
  void clearAllOutputs();
  void foldOutput();   ///< or unfolds it
  void enterOutput();  ///< the keyboard goes to the longest text of its outputs
  void openOutput();   ///< that text, in an editor
  void selectAllCells();
  void cutCells();
  void copyCells();
  void pasteCells();
  void splitCurrent();   ///< at the text cursor
  void mergeSelected();  ///< one alone: with the one below
  void zoomIn();
  void zoomOut();
  void resetZoom();

 signals:
  void runRequested(const QStringList& cellIds);
  void currentCellChanged(int index);
  void lineClicked(const QString& cellId, int line);        ///< in the margin
  void breakpointsMoved(const QHash<quint64, int>& lines);  ///< with the text around them
  void inputGiven(const QString& text);
  void completionRequested(quint64 request, const QString& code, int cursorPosition);
  /// Unasked, and worth nothing when the answer comes late.
  void completionWhileTyping(quint64 request, const QString& code, int cursorPosition);
  void helpRequested(quint64 request, const QString& code, int cursorPosition);
  void escaped();                      ///< Esc where there is nothing to be left
  void told(const QString& sentence);  ///< why a command did nothing, or less

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  bool focusNextPrevChild(bool next) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::app
