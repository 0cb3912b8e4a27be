// Rich text that is only read: as high as its contents, selectable, and cut off from network and files.
#pragma once

#include <QAbstractScrollArea>
#include <QTextCursor>
#include <QTextDocument>

#include "app/notebook/output/rich_document.h"

namespace tapedeck::app {

/// Paints a document that may have been laid out elsewhere; QTextEdit would lay it out anew.
class StaticText : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit StaticText(QWidget* parent = nullptr);
  ~StaticText() override;

  QTextDocument* document() const { return document_.get(); }
  void setDocument(std::unique_ptr<QTextDocument, DeleteLater> document);
  void setPlainText(const QString& text);
  QString toPlainText() const { return document_->toPlainText(); }
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

 signals:
  void doubleClicked();
  /// A link that is no web address; web addresses are opened in the browser, by a click alone.
  void internalLink(const QUrl& url);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  bool viewportEvent(QEvent* event) override;
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

  std::unique_ptr<QTextDocument, DeleteLater> document_;
  QTextCursor cursor_;
  QString pressedLink_;
  bool selecting_ = false;
  bool sideways_ = false;
};

}  // namespace tapedeck::app
