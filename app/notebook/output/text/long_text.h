// A text of any length, of which only the visible part is laid out.
#pragma once

#include <QBasicTimer>
#include <QHash>
#include <QScrollBar>
#include <QTextLayout>
#include <memory>
#include <optional>

#include "app/notebook/document/printed_text.h"
#include "app/notebook/output/notebook_theme.h"
#include "app/notebook/output/text/selectable_text.h"

namespace tapedeck::app {

/// Scrolls by lines, wraps at its width, follows the end of a growing text while the end is visible.
/// Copying and searching go through the text piece by piece, between the events of the window.
class LongText : public SelectableText {
  Q_OBJECT
 public:
  LongText(const NotebookTheme& theme, QWidget* parent);

  /// The first `kept` bytes are those of the text before.
  void setText(const PrintedText& text, std::size_t kept);
  const PrintedText& text() const { return text_; }
  void scrollToStart() { verticalScrollBar()->setValue(0); }
  void scrollToEnd();
  bool atEnd() const { return verticalScrollBar()->value() == verticalScrollBar()->maximum(); }
  /// The first visible row, and the visible text.
  std::size_t topRow() const { return static_cast<std::size_t>(verticalScrollBar()->value()); }
  QString textInSight() const;
  /// The first and the last visible row, from 0.
  std::pair<std::size_t, std::size_t> rowsInSight() const;
  QString textForReaders() const override { return textInSight(); }

  void selectAll() override;
  bool hasSelection() const override { return anchor_ != cursor_; }
  void clearSelection() override;
  /// Puts what is selected into the clipboard; copied() follows.
  void copy() override;
  QRect cursorRect() const override;
  /// Selects `words`, which are at that byte of the text, and scrolls to them.
  void showHit(std::size_t byte, const QString& words);
  /// Selects the next or the previous place of `words`, ignoring case; found() follows.
  void find(const QString& words, bool forward);

 signals:
  void copied(qsizetype characters);
  void found(bool any);
  void searchWanted();  ///< by key
  void scrolled();      ///< other rows may be visible
  /// A click that selected nothing.
  void clicked(const QString& line);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void timerEvent(QTimerEvent* event) override;

  void placeCursor(QPoint point, bool extend) override;
  void moveCursor(CaretMove move) override;
  void selectWord(QPoint point) override;
  bool hasCaret() const override { return true; }
  void dragged(QPoint point) override;
  void released(QPoint point) override;
  void addToMenu(QMenu* menu, QPoint point) override;

 private:
  static constexpr int margin = 3;

  struct Place {
    std::size_t row = 0;
    int column = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Search {
    QString words;
    bool forward = true;
    Place from;
    std::size_t row = 0;   ///< to be looked at next
    std::size_t left = 0;  ///< rows
  };
  struct Copying {
    QString text;
    Place next, end;
  };

  const QTextLayout& layoutOf(std::size_t row) const;
  static QString plain(const PrintedText::Row& row);
  double heightOf(std::size_t row) const;
  double origin() const;
  void updateScrollBar();
  Place placeAt(QPoint point) const;
  double topOf(std::size_t row) const;  ///< in the viewport; of a row that is visible, or nearly
  QTextLine lineOf(const Place& place) const;
  Place moved(Place from, CaretMove move) const;
  Place lineAway(const Place& from, int direction) const;
  void bringIntoSight(const Place& place);
  void searchOn();
  void finishSearch(bool any);
  void copyOn();

  PrintedText text_;
  NotebookTheme theme_;
  mutable QHash<std::size_t, std::shared_ptr<QTextLayout>> layouts_;
  Place anchor_, cursor_;
  QPoint mouse_;
  QBasicTimer autoScroll_;
  std::optional<Search> search_;
  std::optional<Copying> copying_;
};

}  // namespace tapedeck::app
