// One cell: prompt and state at the left, source or rendered Markdown, outputs, and a line for input.
#pragma once

#include <QSet>

#include "app/notebook/output/block.h"
#include "app/notebook/output/notebook_theme.h"
#include "app/notebook/output/output_news.h"
#include "app/notebook/output/shown_folds.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view.h"

namespace tapedeck::app {

class ExcerptBar;
class InputLine;
class NotebookMacros;
class OutputArea;
class RichOutput;
class StaticText;

/// Cheap to make: realize() adds editor and outputs, when the cell is about to become visible. Until then its
/// height is an estimate.
class CellWidget : public Block {
  Q_OBJECT
 public:
  CellWidget(Document* document, const QString& id, const NotebookTheme& theme, QWidget* parent);
  ~CellWidget() override;

  const QString& id() const { return id_; }
  const Cell& cell() const;
  /// It shows all that it has, in the present theme.
  bool realized() const { return realized_ && !stale_; }
  void realize();

  void sourceChanged();  ///< or the type
  void outputsChanged(const OutputNews& news);
  /// Whose definitions hold in its formulas; outlives it.
  void setMacros(const NotebookMacros* macros) { macros_ = macros; }
  void updateMacros();
  /// What is made already takes the theme with the next realize(): out of sight, that costs nothing.
  void setTheme(const NotebookTheme& theme);
  void setState(CellState state);
  CellState state() const { return state_; }
  /// `why`: a sentence for the tooltip and screen readers.
  void setFreshness(CellMark mark, const QString& why);
  void setCurrent(bool current, bool editing);
  void setSelected(bool selected);  ///< together with others
  /// `angle` of the busy mark.
  void turnSpinner(int angle);
  void setNumber(int number);  ///< from 1, for screen readers
  void setMark(int line, bool pending);
  void setBreakpoints(const QList<LineBreakpoint>& breakpoints);

  /// Shows the source (of Markdown too) and gives it the focus.
  void edit();
  bool showsSource() const;
  void showSource();       ///< of Markdown too, without the focus
  void showWholeSource();  ///< where its beginning alone is shown
  void renderMarkdown();
  CodeEditor* editor() const { return editor_; }
  StaticText* rendered() const;  ///< the Markdown's result; null where the source is shown
  RichOutput* richText() const { return rendered_; }
  OutputArea* outputs() const { return outputs_; }
  ExcerptBar* excerptBar() const { return excerpt_; }
  InputLine* inputLine() const { return input_; }
  bool hasEditorFocus() const;
  /// The position of a text in the rendered Markdown; 0 where it is not found.
  int yOfText(const QString& text) const;

  void askInput(const QString& prompt, bool password);
  void endInput();

 signals:
  void pressed();
  void sourceEdited(const QString& source);
  void inputGiven(const QString& text);
  void editRequested();
  void placeClicked(int execution, int line);
  void editorMade(tapedeck::app::CodeEditor* editor);
  void hovered(bool inside);

 protected:
  int computeHeight(int width) override;
  void place() override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void enterEvent(QEnterEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void makeEditor();
  void restyle();
  void fillEditor();
  /// Below the editor; none for an empty sentence.
  void updateExcerptBar(const QString& sentence, bool editable);
  void showWhole();
  void makeOutputs();
  void makeRendered();
  void dropSourceWidgets();
  void fillRendered();
  int sourceHeight(int width);
  QRect sourceArea() const;
  void paintGutter(QPainter& painter) const;
  void paintSelected(QPainter& painter) const;
  /// Its state for screen readers: "done in 1.3 s", "edited since it ran".
  QString stateWord() const;
  /// The same as short as the gutter is narrow: "1.3 s", "edited".
  QString gutterWord() const;
  bool showsMark() const;
  const char* stateIcon() const;
  QString stateTip() const;
  void findTimes();
  /// update(), where any of it can be seen: Qt looks at all cells for each that is to be painted.
  void updateInSight();
  void updateAccessibleName();

  Document* document_;
  QString id_;
  NotebookTheme theme_;
  const NotebookMacros* macros_ = nullptr;
  CellType shownType_ = CellType::code;
  CodeEditor* editor_ = nullptr;
  RichOutput* rendered_ = nullptr;
  OutputArea* outputs_ = nullptr;
  InputLine* input_ = nullptr;
  ExcerptBar* excerpt_ = nullptr;  ///< below a source of which the editor has the beginning alone
  CellState state_ = CellState::idle;
  CellMark freshness_ = CellMark::none;
  QString whyNotFresh_;
  QString duration_;  ///< of the run that its outputs are of; empty: not known
  bool realized_ = false;
  bool stale_ = false;     ///< editor and outputs have an older theme
  bool rendering_ = true;  ///< a Markdown cell shows the result, not its source
  FoldMemory folds_;       ///< of the result, which were folded or unfolded, while the source is shown
  bool current_ = false;
  bool editing_ = false;
  bool selected_ = false;
  bool whole_ = false;    ///< the editor has all of a source that is too large for colours
  bool filled_ = false;   ///< the editor has all of a source, and its undo what was done to it
  bool filling_ = false;  ///< the editor is filled from the document
  int spinner_ = 0;
  int sourceHeight_ = 0;  ///< at the width measured last
  int number_ = 1;
  int markLine_ = 0;
  bool markPending_ = false;
  QList<LineBreakpoint> breakpoints_;
};

}  // namespace tapedeck::app
