// Text in outputs: streams, results and tracebacks, with terminal colours.
#pragma once

#include <QUrl>
#include <memory>

#include "app/notebook/output/block.h"
#include "app/notebook/output/text/terminal_text.h"

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
  /// For a stream that grows: its first `keep` bytes stay, `rest` comes behind them. Costs what the rest and
  /// the last line cost, however long the text is.
  void replaceFrom(std::size_t keep, std::string_view rest);
  void append(std::string_view rest) { replaceFrom(text_.size(), rest); }
  const std::string& text() const { return text_; }
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
  bool fits() const;
  void rebuild();
  void extend(std::size_t keep);
  void showTail();
  void linkPlaces();
  void updateBar();
  void fillFrom(std::size_t keep);
  void fillMore();

  Kind kind_;
  NotebookTheme theme_;
  std::string text_;
  std::ptrdiff_t lines_ = 0;  ///< line breaks in it
  StaticText* view_;
  TerminalText shown_;
  std::size_t headLength_ = 0;  ///< of shortened text
  QWidget* bar_ = nullptr;      ///< below shortened text
  QLabel* barText_ = nullptr;
  QToolButton* allButton_ = nullptr;
  QPlainTextEdit* full_ = nullptr;
  std::unique_ptr<TerminalText> filled_;  ///< what `full_` has so far
  bool filling_ = false;                  ///< more is to come at the next turn of the event loop
  bool shortened_ = false;
};

}  // namespace tapedeck::app
