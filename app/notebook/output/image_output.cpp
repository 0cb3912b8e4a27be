#include "app/notebook/output/image_output.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QLocale>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>
#include <QtMath>

#include "app/notebook/output/html/svg_check.h"
#include "app/notebook/output/picture_source.h"
#include "app/notebook/output/svg_drawer.h"
#include "inspector/ui/file_dialogs.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

constexpr int margin = 4;

/// Pixels that all outputs together hold decoded.
qint64 held_pixels = 0;

QString sizeText(QSize size) {
  const QLocale locale(QLocale::English);
  return QString("%1 by %2 pixels").arg(locale.toString(size.width()), locale.toString(size.height()));
}

}  // namespace

ImageOutput::ImageOutput(const NotebookTheme& theme, QWidget* parent)
    : Block(parent),
      text_(theme.failure),
      faint_(theme.faintText),
      background_(theme.dark ? QColor(Qt::white) : QColor()) {
  setAccessibleName("Picture");
  setFocusPolicy(Qt::ClickFocus);
}

ImageOutput::~ImageOutput() {
  if (job_ != 0) SvgDrawer::cancel(job_);
  hold({});
}

void ImageOutput::setBitmap(const QByteArray& bytes) {
  QString reason;
  bitmap_ = QByteArray::fromBase64(bytes);
  const QSize size = bitmapSize(bitmap_, &reason);
  if (size.isEmpty()) return fail("picture", reason);
  natural_ = size;
  if (size.width() > largest_side || size.height() > largest_side)
    natural_ = size.scaled(largest_side, largest_side, Qt::KeepAspectRatio).expandedTo(QSize(1, 1));
  setAccessibleName("Picture, " + sizeText(size));
  if (pixelsOf(size) <= most_decoded_pixels) return showBitmap();
  waiting_ = QString("This picture has %1: too many to show automatically.").arg(sizeText(size));
  show_ = new QToolButton(this);
  show_->setText("Show picture");
  show_->setToolTip("Decode this picture and show it");
  connect(show_, &QToolButton::clicked, this, [this] {
    show_->deleteLater();
    show_ = nullptr;
    waiting_.clear();
    setFocus();
    showBitmap();
  });
  show_->show();
  contentsChanged();
}

void ImageOutput::showBitmap() {
  const QSize size = bitmapSize(bitmap_);
  if (pixelsOf(size) <= most_pixels_at_once && mayHold(size)) {
    QString reason;
    const QImage image = decodePicture(bitmap_, &reason);
    if (image.isNull()) return fail("picture", reason);
    hold(image);
  }
  contentsChanged();
  update();
}

void ImageOutput::hold(const QImage& image) {
  held_pixels += pixelsOf(image.size()) - pixelsOf(image_.size());
  image_ = image;
}

bool ImageOutput::mayHold(QSize size) const {
  return held_pixels - pixelsOf(image_.size()) + std::min(pixelsOf(size), most_decoded_pixels) <=
         most_held_pixels;
}

/// The part of a bitmap that is painted in that many pixels.
void ImageOutput::prepare(QSize pixels) {
  const QSize size = image_.isNull() ? bitmapSize(bitmap_) : image_.size();
  if (pixelsOf(size) <= most_pixels_at_once) return take(preparePicture(bitmap_, image_, pixels));
  if (preparing_.running() && preparedFor_ == pixels) return;
  preparedFor_ = pixels;
  preparing_.start(
      this, [bytes = bitmap_, whole = image_, pixels] { return preparePicture(bytes, whole, pixels); },
      [this](const PreparedPicture& made) {
        take(made);
        update();
      });
}

void ImageOutput::take(const PreparedPicture& made) {
  if (made.whole.isNull()) {
    // Not while it is painted: its height changes.
    QMetaObject::invokeMethod(
        this, [this, reason = made.error] { fail("picture", reason); }, Qt::QueuedConnection);
    return;
  }
  if (image_.isNull() && mayHold(made.whole.size())) hold(made.whole);
  cache_ = QPixmap::fromImage(made.painted);
}

/// `use` gets it at once, or later from another thread's hands; not at all if it can't be decoded.
void ImageOutput::withBitmap(std::function<void(const QImage&)> use) {
  if (!image_.isNull()) return use(image_);
  using_.start(
      this, [bytes = bitmap_] { return preparePicture(bytes, {}, QSize(1, 1)); },
      [this, use = std::move(use)](const PreparedPicture& made) {
        made.whole.isNull() ? fail("picture", made.error) : use(made.whole);
      });
}

void ImageOutput::setNaturalSize(QSize size) {
  natural_ = size;
  contentsChanged();
}

void ImageOutput::setSvg(const QByteArray& svg) {
  if (svg.isEmpty()) return fail("SVG picture", "it is empty");
  svg_ = svg;
  expected_ = svgSize(svg);
  waiting_ = "Drawing the picture …";
  setAccessibleName("SVG picture");
  contentsChanged();
}

void ImageOutput::drawSvg(int width) {
  const qreal ratio = devicePixelRatioF();
  if (width == drawnFor_ && ratio == drawnRatio_) return;
  // The same picture as before, where there was room enough and still is.
  const bool same = drawnFor_ >= 0 && job_ == 0 && ratio == drawnRatio_ && fitted(width) == fitted(drawnFor_);
  drawnFor_ = width;
  drawnRatio_ = ratio;
  if (same && !natural_.isEmpty()) return;
  if (job_ != 0) SvgDrawer::cancel(job_);
  const SvgRequest request{svg_, std::max(1, width - 2 * margin), ratio};
  job_ = SvgDrawer::draw(request, this, [this](const SvgAnswer& answer) { takeSvg(answer); });
}

void ImageOutput::takeSvg(const SvgAnswer& answer) {
  job_ = 0;
  if (!answer.problem.isEmpty() || answer.natural.isEmpty()) {
    // What was drawn for another width stays.
    if (!natural_.isEmpty()) return;
    return fail("SVG picture", answer.problem.isEmpty() ? "it has no size" : answer.problem);
  }
  svg_ = answer.clean;
  waiting_.clear();
  natural_ = answer.natural.boundedTo(QSize(largest_side, largest_side));
  // Beyond what is held it is drawn again when it is painted.
  const bool fits = held_pixels - pixelsOf(image_.size()) + pixelsOf(answer.image.size()) <= most_held_pixels;
  hold(fits ? answer.image : QImage());
  cache_ = !fits && painted_ ? QPixmap::fromImage(answer.image) : QPixmap();
  update();
  contentsChanged();
}

void ImageOutput::fail(const QString& kind, const QString& reason) {
  error_ = QString("This %1 can't be shown: %2.").arg(kind, reason);
  setAccessibleName(error_);
  contentsChanged();
  update();
}

QSize ImageOutput::fitted(int width) const {
  return fittedSize(natural_, std::max(1, width - 2 * margin));
}

QSize ImageOutput::shownSize() const {
  return fitted(width());
}

int ImageOutput::toldHeight(int width) const {
  return fontMetrics()
             .boundingRect(QRect(0, 0, width - 2 * margin, 1 << 16), Qt::TextWordWrap, told())
             .height() +
         2 * margin;
}

int ImageOutput::computeHeight(int width) {
  if (isSvg() && error_.isEmpty()) drawSvg(width);
  if (isSvg() && !waiting_.isEmpty())
    return std::max(toldHeight(width),
                    fittedSize(expected_, std::max(1, width - 2 * margin)).height() + 2 * margin);
  if (!told().isEmpty())
    return toldHeight(width) + (show_ != nullptr ? show_->sizeHint().height() + margin : 0);
  return fitted(width).height() + 2 * margin;
}

void ImageOutput::place() {
  if (show_ != nullptr) show_->setGeometry(QRect(QPoint(margin, toldHeight(width())), show_->sizeHint()));
}

void ImageOutput::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QRect area(QPoint(margin, margin), shownSize());
  const QSize pixels = (QSizeF(area.size()) * devicePixelRatioF()).toSize();
  painted_ = true;
  if (isShown() && isSvg() && image_.isNull()) {
    if (cache_.isNull() && job_ == 0) {
      drawnFor_ = -1;
      drawSvg(width());
    }
  } else if (isShown() && cache_.size() != pixels) {
    prepare(pixels);
  }
  if (!told().isEmpty()) {
    painter.setPen(error_.isEmpty() ? faint_ : text_);
    painter.drawText(rect().adjusted(margin, margin, -margin, -margin), Qt::TextWordWrap, told());
    return;
  }
  if (natural_.isEmpty()) return;
  if (cache_.isNull()) {
    painter.setPen(faint_);
    painter.drawText(area, Qt::AlignCenter | Qt::TextWordWrap, "Decoding the picture …");
    return;
  }
  // Plots are drawn in black for paper: where they are transparent a dark page would swallow them.
  if (background_.isValid() && cache_.hasAlphaChannel()) painter.fillRect(area, background_);
  painter.drawPixmap(area, cache_);
}

void ImageOutput::hideEvent(QHideEvent* event) {
  Block::hideEvent(event);
  painted_ = false;
  cache_ = {};
  preparing_.cancel();
}

void ImageOutput::contextMenuEvent(QContextMenuEvent* event) {
  if (!isShown()) return;
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setToolTipsVisible(true);
  QAction* copy_picture = menu->addAction("&Copy picture", this, &ImageOutput::copy);
  copy_picture->setShortcut(QKeySequence::Copy);
  copy_picture->setToolTip("Copy the picture to the clipboard");
  QAction* save_picture = menu->addAction("&Save picture as…", this, &ImageOutput::save);
  save_picture->setToolTip(isSvg() ? "Save what is shown, without scripts and external references"
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
  if (event->matches(QKeySequence::Copy) && isShown()) {
    copy();
  } else {
    event->ignore();
  }
}

void ImageOutput::copy() {
  if (!isSvg()) return withBitmap([](const QImage& image) { QGuiApplication::clipboard()->setImage(image); });
  // In its own size, and sharp enough for paper.
  SvgDrawer::draw({svg_, largest_side, 2}, this, [this](const SvgAnswer& answer) {
    if (!answer.image.isNull()) return QGuiApplication::clipboard()->setImage(answer.image);
    inspector::warn(this, "Copy picture", QString("This picture can't be copied: %1.").arg(answer.problem));
  });
}

void ImageOutput::save() {
  const QString name = isSvg() ? "picture.svg" : "picture.png";
  const QString filter = isSvg() ? "SVG (*.svg)" : "PNG (*.png);;JPEG (*.jpg)";
  const QString path = inspector::askForPath(this, "Save picture", name, filter);
  if (path.isEmpty()) return;
  if (isSvg()) {
    if (QString error; !inspector::replaceFile(path, svg_, &error))
      inspector::warn(this, "Save picture", error);
    return;
  }
  withBitmap([this, path](const QImage& image) {
    using_.start(
        this, [image, path] { return savePicture(image, path); },
        [this](const QString& error) {
          if (!error.isEmpty()) inspector::warn(this, "Save picture", error);
        });
  });
}

}  // namespace tapedeck::app
