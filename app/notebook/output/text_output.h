// Text in outputs: streams, results and tracebacks, with terminal colours.
#pragma once

#include <QUrl>

#include "app/notebook/output/ansi.h"
#include "app/notebook/output/block.h"

class QLabel;
class QPlainTextEdit;
class QToolButton;

namespace tapedeck::app {

class StaticText;

/// Shows long text shortened in the middle, with a button for all of it; that is then filled piece by piece
/// into a view that scrolls by itself, so no length of text holds up the window.
class TextOutput : public Block {
  Q_OBJECT
 public:
  enum class Kind { plain, standardError, traceback };

  TextOutput(Kind kind, const NotebookTheme& theme, QWidget* parent);

  /// UTF-8. Text that continues what is there is appended.
  void setText(const std::string& text);
  QString shownText() const;
  bool shortened() const { return shortened_; }
  void showAll();
  bool complete() const;  ///< nothing is left to be filled in

 signals:
  /// A place in a traceback was clicked; `execution` is the number in In [n].
  void placeClicked(int execution, int line);

 protected:
  int computeHeight(int width) override;
  void place() override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void rebuild();
  void append(const QString& added);
  void insertRuns(class QTextCursor& cursor, const std::vector<AnsiRun>& runs) const;
  void linkPlaces();
  void updateBar();
  void fillMore();

  Kind kind_;
  NotebookTheme theme_;
  std::string text_;
  AnsiParser parser_;
  StaticText* view_;
  QWidget* bar_ = nullptr;  ///< below shortened text
  QLabel* barText_ = nullptr;
  QToolButton* allButton_ = nullptr;
  QPlainTextEdit* full_ = nullptr;
  AnsiParser fullParser_;
  std::size_t filled_ = 0;
  bool shortened_ = false;
  bool heldBreak_ = false;  ///< the text ends with a line break that is not shown yet
};

}  // namespace tapedeck::app
