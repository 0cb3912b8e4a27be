// Text in outputs: streams, results and tracebacks, with terminal colours.
#pragma once

#include <QUrl>
#include <memory>

#include "app/notebook/document/printed_text.h"
#include "app/notebook/output/block.h"
#include "app/notebook/output/text/terminal_text.h"
#include "app/notebook/output/text/text_arrangement.h"

namespace tapedeck::app {

class LongText;
class StaticText;
class TextBar;

/// A text up to a screenful is shown as it is. A longer one folds: it has its own scroll bar and the height
/// of a screenful, below a line that says how long it is. Unfolded it has all its height where it is of some
/// hundred lines, else the height of the window.
class TextOutput : public Block {
  Q_OBJECT
 public:
  enum class Kind { plain, standardError, traceback };

  TextOutput(Kind kind, const NotebookTheme& theme, QWidget* parent);

  /// UTF-8. Text that continues what is there is appended.
  void setText(const std::string& text);
  /// For a stream that grows: its first `keep` bytes stay, `rest` comes behind them. Costs what the rest and
  /// the last line cost, however long the text is.
  void replaceFrom(std::size_t keep, std::string_view rest);
  void append(std::string_view rest) { replaceFrom(size(), rest); }
  /// A long text of the document, of which a notebook's file stores a part. The first `keep` bytes are those
  /// of the text before.
  void setPrinted(const PrintedText& text, std::size_t keep);

  std::size_t size() const { return fits_ ? text_.size() : printed_.size(); }
  std::string text() const { return fits_ ? text_ : printed_.all(); }
  /// Of a text with its own scroll bar: the visible part.
  QString shownText() const;
  /// It is taller than a screenful.
  bool folds() const { return folds_; }
  bool folded() const { return folds_ && !unfolded_; }
  void toggleFold();
  /// How the user arranged it: its replacement in another theme is arranged in the same way.
  TextArrangement arrangement() const;
  void setArrangement(const TextArrangement& wanted);
  /// Of a text that is being printed: scrolls to its end, and follows it.
  void followEnd();
  /// The keyboard goes to the text, to scroll, search and select in it.
  void enter();
  void openInEditor();
  LongText* scrolling() const { return long_; }  ///< null where the text is shown as it is
  StaticText* view() const { return view_; }     ///< shows it otherwise
  TextBar* bar() const { return bar_; }

 signals:
  /// A place in a traceback was clicked; `execution` is the number in In [n].
  void placeClicked(int execution, int line);

 protected:
  int computeHeight(int width) override;
  void place() override;
  void paintEvent(QPaintEvent* event) override;

 private:
  int screenful() const;
  bool tall() const;
  void changed(std::size_t keep, bool grows);
  void showWhole(std::size_t keep);
  void showScrolling(std::size_t keep, bool grows);
  void makeBar();
  void linkPlaces();
  void goToPlace(const QString& line);
  void updateBar();
  void updateInSight();
  PrintedText whole() const { return fits_ ? PrintedText(text_) : printed_; }
  std::size_t lineCount() const;

  Kind kind_;
  NotebookTheme theme_;
  bool fits_ = true;     ///< in text_, else in printed_
  bool partly_ = false;  ///< a file stores a part where it is long
  std::string text_;
  PrintedText printed_;
  StaticText* view_;
  TerminalText shown_;
  LongText* long_ = nullptr;
  TextBar* bar_ = nullptr;
  bool folds_ = false;
  bool unfolded_ = false;
  // Once it has its place:
  bool followEnd_ = false;
  std::size_t wantedTop_ = 0;
};

}  // namespace tapedeck::app
