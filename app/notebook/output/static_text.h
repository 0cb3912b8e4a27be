// Rich text that is only read: as high as its contents, selectable, and cut off from network and files.
#pragma once

#include <QTextBrowser>
#include <nlohmann/json.hpp>

namespace tapedeck::app {

class StaticText : public QTextBrowser {
  Q_OBJECT
 public:
  explicit StaticText(QWidget* parent = nullptr);

  int heightForText(int width);
  /// Pictures that "attachment:NAME" stands for: nbformat's attachments of a cell.
  void setAttachments(const nlohmann::ordered_json& attachments);
  /// Pictures with a relative path are read from this folder and those below it; empty: none are.
  void setPictureFolder(const QString& folder);
  /// Wide tables get a scroll bar; else what does not fit is wrapped anywhere.
  void setScrollsSideways(bool on);

  /// Only data: pictures, attachments and pictures of the folder. Everything else becomes a small mark;
  /// nothing is ever fetched.
  QVariant loadResource(int type, const QUrl& name) override;

 signals:
  void doubleClicked();
  /// A link that is no web address; web addresses are opened in the browser, by a click alone.
  void internalLink(const QUrl& url);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void fitPictures(int width);
  QImage picture(const QUrl& name) const;
  QHash<QString, QByteArray> attachments_;
  QString folder_;
};

/// Decodes with the size limits that untrusted bytes need; null where they are no picture. `error`: why.
QImage decodePicture(const QByteArray& bytes, QString* error = nullptr);

}  // namespace tapedeck::app
