// Read-only rich text: as high as its contents, selectable, without access to network and files.
#pragma once

#include <QTextCursor>
#include <QTextDocument>

#include "app/notebook/output/rich_document.h"
#include "app/notebook/output/text/selectable_text.h"

namespace tapedeck::app {

/// Paints a document that may have been laid out elsewhere; QTextEdit would lay it out anew. A link's
/// address is shown before it is opened, in the window's status bar and as a tooltip: under the mouse, and
/// for the link that Tab chose, which Enter opens.
class StaticText : public SelectableText {
  Q_OBJECT
 public:
  explicit StaticText(QWidget* parent = nullptr);
  ~StaticText() override;

  QTextDocument* document() const { return document_.get(); }
  void setDocument(std::unique_ptr<QTextDocument, DeleteLater> document);
  void setPlainText(const QString& text);
  /// With formulas as they were written.
  QString toPlainText() const;
  void clear() { document_->clear(); }

  /// Lays out for this width where it was another one.
  int heightForText(int width);
  /// Wide tables get a scroll bar; else what does not fit is wrapped anywhere.
  void setScrollsSideways(bool on);

  QTextCursor textCursor() const { return cursor_; }
  void setTextCursor(const QTextCursor& cursor);
  bool hasSelection() const override { return cursor_.hasSelection(); }
  void selectAll() override;
  void clearSelection() override;
  void copy() override;
  /// Where the text cursor stands in the viewport.
  QRect cursorRect(const QTextCursor& cursor) const;
  QRect cursorRect() const override;
  QString textForReaders() const override;
  /// Shift and cursor keys select from the beginning of the visible text.
  void enter();
  QString anchorAt(QPoint point) const;
  /// Of the link that Tab chose; empty: none.
  QString chosenLink() const { return chosenLink_; }
  /// As Tab does. Nothing where it has no such link.
  void chooseLink(const QString& address);

 signals:
  void doubleClicked();
  /// A link that is not a web address; web addresses are opened in the browser, and only by a click.
  void internalLink(const QUrl& url);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  bool focusNextPrevChild(bool next) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

  void placeCursor(QPoint point, bool extend) override;
  void moveCursor(CaretMove move) override;
  void selectWord(QPoint point) override;
  bool hasCaret() const override { return entered_ || cursor_.hasSelection(); }
  void pressed(QPoint point) override;
  void hovered(QPoint point) override;
  void released(QPoint point) override;
  void doubleClickedAt(QPoint point) override;
  void addToMenu(QMenu* menu, QPoint point) override;

 private:
  void watch();
  void updateScrollBar();
  int scrolled() const;
  QPointF inDocument(QPoint point) const;
  int positionAt(QPoint point) const;
  void openLink(const QString& address);
  /// Shows the link's address; empty: there is no link any more.
  void tellLink(const QString& address);
  void chooseLink(const QTextCursor& link);

  std::unique_ptr<QTextDocument, DeleteLater> document_;
  QTextCursor cursor_;
  QString pressedLink_;
  QString toldLink_;
  QString chosenLink_;    ///< its text is what is selected
  bool entered_ = false;  ///< by a key, to select
  bool sideways_ = false;
};

}  // namespace tapedeck::app
