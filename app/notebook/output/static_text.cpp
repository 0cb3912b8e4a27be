#include "app/notebook/output/static_text.h"

#include <QAbstractTextDocumentLayout>
#include <QBuffer>
#include <QContextMenuEvent>
#include <QDesktopServices>
#include <QDir>
#include <QFileInfo>
#include <QImageReader>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QTextBlock>

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {
namespace {

constexpr qint64 largest_picture_file = 64 << 20;

/// Stands for a picture that is not loaded. Never null: for a null one Qt would try the name as a file.
QImage refusedPicture() {
  QImage image(18, 18, QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(QColor(140, 140, 140), 1.4));
  painter.drawRoundedRect(QRectF(2, 2, 14, 14), 2, 2);
  painter.drawLine(QPointF(5, 5), QPointF(13, 13));
  painter.drawLine(QPointF(13, 5), QPointF(5, 13));
  return image;
}

}  // namespace

QImage decodePicture(const QByteArray& bytes, QString* error) {
  QBuffer buffer;
  buffer.setData(bytes);
  buffer.open(QIODevice::ReadOnly);
  QImageReader reader(&buffer);
  reader.setDecideFormatFromContent(true);
  reader.setAutoTransform(true);
  // An SVG in here could name other files.
  if (reader.format() == "svg" || reader.format() == "svgz") {
    if (error != nullptr) *error = "it is an SVG, not a bitmap";
    return {};
  }
  const QImage image = reader.read();
  if (image.isNull() && error != nullptr) *error = reader.errorString().toLower();
  return image;
}

StaticText::StaticText(QWidget* parent) : QTextBrowser(parent) {
  setFrameShape(QFrame::NoFrame);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::ClickFocus);
  setOpenLinks(false);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::LinksAccessibleByMouse);
  setLineWrapMode(FixedPixelWidth);
  setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  document()->setUndoRedoEnabled(false);
  document()->setDocumentMargin(4);
  viewport()->setAutoFillBackground(false);
  QPalette colors = palette();
  colors.setColor(QPalette::Base, Qt::transparent);
  setPalette(colors);
  connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
    if (url.scheme() == "http" || url.scheme() == "https") {
      QDesktopServices::openUrl(url);
    } else {
      emit internalLink(url);
    }
  });
}

int StaticText::heightForText(int width) {
  fitPictures(width);
  // Through the widget: a width that only the document knows is taken back at the next relayout.
  if (lineWrapColumnOrWidth() != width) setLineWrapColumnOrWidth(width);
  const QSizeF size = document()->documentLayout()->documentSize();
  const bool wide = horizontalScrollBarPolicy() != Qt::ScrollBarAlwaysOff && size.width() > width + 1;
  return qCeil(size.height()) + (wide ? horizontalScrollBar()->sizeHint().height() : 0);
}

void StaticText::setScrollsSideways(bool on) {
  setHorizontalScrollBarPolicy(on ? Qt::ScrollBarAsNeeded : Qt::ScrollBarAlwaysOff);
}

void StaticText::setAttachments(const nlohmann::ordered_json& attachments) {
  attachments_.clear();
  if (!attachments.is_object()) return;
  for (const auto& [name, bundle] : attachments.items()) {
    if (!bundle.is_object()) continue;
    for (const auto& [mime, data] : bundle.items()) {
      if (!mime.starts_with("image/")) continue;
      attachments_[QString::fromStdString(name)] =
          QByteArray::fromBase64(QByteArray::fromStdString(joinedText(data)));
    }
  }
}

void StaticText::setPictureFolder(const QString& folder) {
  folder_ = folder;
}

QImage StaticText::picture(const QUrl& name) const {
  const QString text = name.toString();
  if (name.scheme() == "data") {
    const qsizetype comma = text.indexOf(',');
    if (!text.startsWith("data:image/") || !text.left(comma).endsWith(";base64")) return {};
    return decodePicture(QByteArray::fromBase64(text.mid(comma + 1).toLatin1()));
  }
  if (name.scheme() == "attachment") {
    return decodePicture(attachments_.value(QUrl::fromPercentEncoding(text.mid(11).toUtf8())));
  }
  if (!name.isRelative() || !name.host().isEmpty() || folder_.isEmpty()) return {};
  const QFileInfo file(QDir(folder_).filePath(name.path()));
  const QString root = QFileInfo(folder_).canonicalFilePath() + "/";
  if (!file.isFile() || !file.canonicalFilePath().startsWith(root) || file.size() > largest_picture_file)
    return {};
  QFile input(file.filePath());
  return input.open(QIODevice::ReadOnly) ? decodePicture(input.readAll()) : QImage();
}

QVariant StaticText::loadResource(int type, const QUrl& name) {
  if (type != QTextDocument::ImageResource) return QByteArray();
  const QImage image = picture(name);
  return image.isNull() ? refusedPicture() : image;
}

void StaticText::fitPictures(int width) {
  const int limit = std::max(16, width - 2 * qCeil(document()->documentMargin()));
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    for (auto it = block.begin(); !it.atEnd(); ++it) {
      const QTextFragment fragment = it.fragment();
      if (!fragment.charFormat().isImageFormat()) continue;
      QTextImageFormat format = fragment.charFormat().toImageFormat();
      const QVariant resource = document()->resource(QTextDocument::ImageResource, QUrl(format.name()));
      const QImage image = resource.value<QImage>();
      if (image.isNull()) continue;
      // The width that the author gave is kept under a property of its own, to come back to when there is
      // room.
      constexpr int wanted = QTextFormat::UserProperty + 1;
      if (!format.hasProperty(wanted)) {
        format.setProperty(wanted, format.width() > 0 ? format.width() : image.width());
      }
      const qreal shown = std::min<qreal>(format.property(wanted).toReal(), limit);
      if (qFuzzyCompare(format.width(), shown)) continue;
      format.setWidth(shown);
      format.setHeight(shown * image.height() / image.width());
      QTextCursor cursor(document());
      cursor.setPosition(fragment.position());
      cursor.setPosition(fragment.position() + fragment.length(), QTextCursor::KeepAnchor);
      cursor.setCharFormat(format);
      fitPictures(width);
      return;
    }
  }
}

void StaticText::keyPressEvent(QKeyEvent* event) {
  // Everything else is the notebook's: command keys work here too.
  if (event->matches(QKeySequence::Copy) && textCursor().hasSelection()) {
    copy();
  } else if (event->matches(QKeySequence::SelectAll)) {
    selectAll();
  } else {
    event->ignore();
  }
}

void StaticText::mouseDoubleClickEvent(QMouseEvent* event) {
  if (receivers(SIGNAL(doubleClicked())) > 0) {
    emit doubleClicked();
  } else {
    QTextBrowser::mouseDoubleClickEvent(event);
  }
}

void StaticText::wheelEvent(QWheelEvent* event) {
  const bool sideways = event->angleDelta().x() != 0 || event->modifiers().testFlag(Qt::ShiftModifier);
  if (sideways && horizontalScrollBar()->maximum() > 0) {
    QTextBrowser::wheelEvent(event);
  } else {
    event->ignore();
  }
}

void StaticText::contextMenuEvent(QContextMenuEvent* event) {
  QMenu* menu = createStandardContextMenu(event->pos());
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->popup(event->globalPos());
}

}  // namespace tapedeck::app
