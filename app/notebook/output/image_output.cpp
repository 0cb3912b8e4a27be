#include "app/notebook/output/image_output.h"

#include <QApplication>
#include <QBuffer>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileInfo>
#include <QKeyEvent>
#include <QMenu>
#include <QMessageBox>
#include <QMouseEvent>
#include <QPainter>
#include <QSvgRenderer>

#include "app/notebook/output/html/svg_check.h"
#include "app/notebook/output/picture_source.h"
#include "inspector/ui/file_dialogs.h"

namespace tapedeck::app {
namespace {

constexpr int margin = 4;
constexpr int widest = 16384;

}  // namespace

ImageOutput::ImageOutput(const NotebookTheme& theme, QWidget* parent)
    : Block(parent), text_(theme.failure), background_(theme.dark ? QColor(Qt::white) : QColor()) {
  setAccessibleName("Picture");
  setFocusPolicy(Qt::ClickFocus);
}

ImageOutput::~ImageOutput() = default;

void ImageOutput::setBitmap(const QByteArray& bytes) {
  QString reason;
  image_ = decodePicture(QByteArray::fromBase64(bytes), &reason);
  if (image_.isNull()) return fail("picture", reason);
  natural_ = image_.size();
  setAccessibleName(QString("Picture, %1 by %2 pixels").arg(image_.width()).arg(image_.height()));
  contentsChanged();
}

void ImageOutput::setNaturalSize(QSize size) {
  natural_ = size;
  contentsChanged();
}

void ImageOutput::setSvg(const QByteArray& svg) {
  QString reason;
  const QByteArray clean = sanitizeSvg(svg, &reason);
  if (clean.isEmpty()) return fail("SVG picture", reason);
  auto renderer = std::make_unique<QSvgRenderer>();
  renderer->setFramesPerSecond(0);
  if (!renderer->load(clean)) return fail("SVG picture", "it holds no picture that can be drawn");
  renderer->setAspectRatioMode(Qt::KeepAspectRatio);
  natural_ = renderer->defaultSize().boundedTo(QSize(widest, widest));
  if (natural_.isEmpty()) return fail("SVG picture", "it has no size");
  renderer_ = std::move(renderer);
  svg_ = clean;
  setAccessibleName("SVG picture");
  contentsChanged();
}

void ImageOutput::fail(const QString& kind, const QString& reason) {
  error_ = QString("This %1 can't be shown: %2.").arg(kind, reason);
  setAccessibleName(error_);
  contentsChanged();
}

QSize ImageOutput::fitted(int width) const {
  const int room = std::max(1, width - 2 * margin);
  if (natural_.width() <= room) return natural_;
  const double height = static_cast<double>(natural_.height()) * room / natural_.width();
  return {room, std::max(1, static_cast<int>(std::lround(height)))};
}

QSize ImageOutput::shownSize() const {
  return fitted(width());
}

int ImageOutput::computeHeight(int width) {
  if (!error_.isEmpty()) {
    return fontMetrics()
               .boundingRect(QRect(0, 0, width - 2 * margin, 1 << 16), Qt::TextWordWrap, error_)
               .height() +
           2 * margin;
  }
  return fitted(width).height() + 2 * margin;
}

QImage ImageOutput::render(QSize size, qreal ratio) const {
  const QSize pixels = (QSizeF(size) * ratio).toSize().boundedTo(QSize(widest, widest));
  if (!renderer_) {
    return pixels == image_.size() ? image_
                                   : image_.scaled(pixels, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
  }
  QImage image(pixels, QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  renderer_->render(&painter, QRectF(QPointF(), QSizeF(pixels)));
  return image;
}

void ImageOutput::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (!error_.isEmpty()) {
    painter.setPen(text_);
    painter.drawText(rect().adjusted(margin, margin, -margin, -margin), Qt::TextWordWrap, error_);
    return;
  }
  if (natural_.isEmpty()) return;
  const QRect area(QPoint(margin, margin), shownSize());
  const QSize pixels = (QSizeF(area.size()) * devicePixelRatioF()).toSize();
  if (cache_.size() != pixels) {
    cache_ = QPixmap::fromImage(render(area.size(), devicePixelRatioF()));
  }
  // Plots are drawn in black for paper: where they are transparent a dark page would swallow them.
  if (background_.isValid() && cache_.hasAlphaChannel()) painter.fillRect(area, background_);
  painter.drawPixmap(area, cache_);
}

void ImageOutput::contextMenuEvent(QContextMenuEvent* event) {
  if (!error_.isEmpty()) return;
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setToolTipsVisible(true);
  QAction* copy_picture = menu->addAction("&Copy picture", this, &ImageOutput::copy);
  copy_picture->setShortcut(QKeySequence::Copy);
  copy_picture->setToolTip("Copy the picture to the clipboard");
  QAction* save_picture = menu->addAction("&Save picture as…", this, &ImageOutput::save);
  save_picture->setToolTip(renderer_ ? "Save what is shown, without scripts and references to other places"
                                     : "Save the picture in a file");
  // By the menu key: at the picture, not where the mouse happens to be.
  const bool mouse = event->reason() == QContextMenuEvent::Mouse;
  menu->popup(mouse ? event->globalPos() : mapToGlobal(QPoint(margin, margin)));
}

void ImageOutput::mousePressEvent(QMouseEvent* event) {
  // The cell would take the focus: the menu key and Ctrl+C mean the picture that was clicked.
  event->accept();
}

void ImageOutput::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy) && error_.isEmpty()) {
    copy();
  } else {
    event->ignore();
  }
}

void ImageOutput::copy() {
  QGuiApplication::clipboard()->setImage(renderer_ ? render(natural_, 2) : image_);
}

void ImageOutput::save() {
  const QString name = renderer_ ? "picture.svg" : "picture.png";
  const QString filter = renderer_ ? "SVG (*.svg)" : "PNG (*.png);;JPEG (*.jpg)";
  const QString path = inspector::askForPath(this, "Save picture", name, filter);
  if (path.isEmpty()) return;
  QByteArray bytes = svg_;
  if (!renderer_) {
    QBuffer buffer(&bytes);
    const QByteArray kind = QFileInfo(path).suffix().toUtf8();
    if (!buffer.open(QIODevice::WriteOnly) || !image_.save(&buffer, kind.constData())) {
      QMessageBox::warning(this, "Save picture",
                           QString("A picture can't be saved as “.%1”.").arg(QString::fromUtf8(kind)));
      return;
    }
  }
  if (QString error; !inspector::replaceFile(path, bytes, &error))
    QMessageBox::warning(this, "Save picture", error);
}

}  // namespace tapedeck::app
