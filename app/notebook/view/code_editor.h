// The editor of one cell: as high as its text, coloured, with a margin that marks where the session is.
#pragma once

#include <Qsci/qsciscintilla.h>

#include <QHash>

#include "app/notebook/output/notebook_theme.h"
#include "app/notebook/view/long_lines.h"
#include "app/notebook/view/notebook_keys.h"
#include "app/notebook/view/text_hits.h"

class QLabel;

namespace tapedeck::app {

/// A breakpoint as the margin shows it: each look has a form of its own.
enum class BreakpointLook { plain, conditional, disabled, log };
struct LineBreakpoint {
  quint64 id = 0;
  int line = 0;  ///< from 1
  BreakpointLook look = BreakpointLook::plain;
  QString tip;
  bool operator==(const LineBreakpoint&) const = default;
};

class CodeEditor : public QsciScintilla {
  Q_OBJECT
 public:
  enum class Language { python, markdown, none };

  CodeEditor(Language language, const NotebookTheme& theme, QWidget* parent);

  void setTheme(const NotebookTheme& theme);
  /// Only where it differs: keeps the cursor and the editor's own undo otherwise.
  void showSource(const QString& source);
  QString source() const;
  /// Lines are shown by their beginnings, see LongLines.
  bool cutsLines() const;
  int contentHeight() const;
  /// What contentHeight() will be, before an editor is made for the source. `room`: the width it will have.
  static int estimateHeight(const QString& source, int room, Language language, const NotebookTheme& theme);
  /// For sources of any size: no colours, no wrapping, nothing measured that is not seen.
  void setPlain();
  bool plain() const { return plain_; }

  /// `line` from 1; 0: no mark. `pending`: the gate waits there now.
  void setMark(int line, bool pending);
  int markedLine() const;  ///< where the mark is now, from 1; 0: none
  void setBreakpoints(const QList<LineBreakpoint>& breakpoints);
  /// Top of a line in this widget's coordinates.
  int yOfLine(int line) const;
  int yOfCursor() const;  ///< top of its row
  int lineHeight() const;

  /// Marks what a search found.
  void setHits(const SourceHits& hits);
  /// Scrolls sideways to it; returns its top in this widget's coordinates.
  int showHit(const TextHit& hit);
  void selectHit(const TextHit& hit);
  /// As showSource(), and the editor's undo takes it back where the lines are as many as before; what undo or
  /// redo gives at once is taken from there.
  void changeSource(const QString& source);

  /// In code points from the start, as Jupyter counts.
  int cursorPosition() const;
  /// In UTF-16 units, as QString counts: of what is selected; where nothing is, twice the cursor's place.
  std::pair<int, int> selectedRange() const;
  void replaceRange(int start, int end, const QString& text);
  QString textInRange(int start, int end) const;
  QPoint cursorPoint() const;  ///< global; below the cursor
  void toggleComment();
  /// Brackets and quotes of Python close by themselves; on at first.
  void setClosesBrackets(bool on) { closesBrackets_ = on; }
  Language language() const { return language_; }

 signals:
  void heightChanged();
  void lineClicked(int line);
  /// With the text around them: all that one change of it moved, with their lines now.
  void breakpointsMoved(const QHash<quint64, int>& lines);
  void commandGiven(tapedeck::app::EditorCommand command);  ///< one that is not the editor's own
  void wholeWanted();                                       ///< Enter in a source that can only be read
  void lettersTyped();  ///< after a key that may be followed by completions
  void typed();         ///< after any key that reached the text

 public:
  /// A popup that sees keys first; returns whether it took the key.
  std::function<bool(QKeyEvent*)> keyFilter;
  /// Undo and redo of the notebook come first where they change this text; returns whether they did.
  std::function<bool(bool redo)> undoFilter;

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  QByteArray fromMimeData(const QMimeData* data, bool& rectangular) const override;
  QMimeData* toMimeData(const QByteArray& text, bool rectangular) const override;

 private:
  void followBreakpoints();
  void markBreakpoints();
  void freeKeys();
  bool handleKey(const QKeyEvent& event);
  bool applies(EditorCommand command) const;
  QString textBeforeCursor() const;  ///< in its line
  void newLine();
  void checkHeight();
  static int symbolMarginWidth();
  /// Code of few and short enough lines to be wrapped: what is longer scrolls sideways.
  static bool wrapsWell(const QString& source);
  void applyWrapping();
  qsizetype columns() const;
  void remeasure();
  void placeMarkLabel();
  void setUpHits();
  bool handlePair(const QKeyEvent& event);
  static bool roomAt(const QString& text, qsizetype at);
  void insertPair(const QString& open, const QString& close);
  bool wrapSelection(QChar open);
  bool typeOver(QChar close);
  void stepOver();
  bool typeQuote(QChar quote);
  bool deletePair();
  bool undoGives(const QString& source);
  void replaceLine(int line, const QString& text);
  void replaceLines(qsizetype first, qsizetype count, const QStringList& lines);
  int byteOffset(int codePoints) const;
  void drawAs(const QString& character, const QString& name);

  Language language_;
  NotebookTheme theme_;
  mutable LongLines longLines_;  ///< also what is pasted, which the base class wants const
  QLabel* markLabel_;
  QList<LineBreakpoint> breakpoints_;
  QList<int> breakpointHandles_;  ///< Scintilla's, in the same order
  bool wasEmpty_ = true;          ///< before the latest change of the text
  int markHandle_ = -1;
  bool markPending_ = false;
  bool plain_ = false;
  bool closesBrackets_ = true;
  bool scrollsSideways_ = false;  ///< a line is too long to be wrapped
  int reportedHeight_ = -1;
};

}  // namespace tapedeck::app
