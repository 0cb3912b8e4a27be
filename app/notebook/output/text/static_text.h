// Rich text that is only read: as high as its contents, selectable, and cut off from network and files.
#pragma once

#include <QAbstractScrollArea>
#include <QTextCursor>
#include <QTextDocument>

#include "app/notebook/output/rich_document.h"

namespace tapedeck::app {

/// Paints a document that may have been laid out elsewhere; QTextEdit would lay it out anew. Where a link
/// leads is told before it is opened, in the window's status bar and as a tooltip: under the mouse, and for
/// the link that Tab chose, which Enter opens.
class StaticText : public QAbstractScrollArea {
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
  void selectAll();
  void copy() const;
  /// Where the text cursor stands in the viewport.
  QRect cursorRect(const QTextCursor& cursor) const;
  QString anchorAt(QPoint point) const;
  /// Of the link that Tab chose; empty: none.
  QString chosenLink() const { return chosenLink_; }
  /// As Tab does. Nothing where it has no such link.
  void chooseLink(const QString& address);

 signals:
  void doubleClicked();
  /// A link that is no web address; web addresses are opened in the browser, by a click alone.
  void internalLink(const QUrl& url);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  bool viewportEvent(QEvent* event) override;
  bool focusNextPrevChild(bool next) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void watch();
  void updateScrollBar();
  int scrolled() const;
  QPointF inDocument(QPoint point) const;
  int positionAt(QPoint point) const;
  void openLink(const QString& address);
  /// Tells where the link leads, as far as somebody asked; empty: there is none any more.
  void tellLink(const QString& address);
  void chooseLink(const QTextCursor& link);

  std::unique_ptr<QTextDocument, DeleteLater> document_;
  QTextCursor cursor_;
  QString pressedLink_;
  QString toldLink_;
  QString chosenLink_;  ///< its text is what is selected
  bool selecting_ = false;
  bool sideways_ = false;
};

}  // namespace tapedeck::app
