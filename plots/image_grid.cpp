#include "plots/image_grid.h"

#include <QBuffer>
#include <QImageReader>
#include <QMouseEvent>
#include <QPaintEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "inspector/ui/theme.h"

namespace tapedeck::plots {

namespace {

constexpr double gap = 12;               ///< between images
constexpr double edge = 6;               ///< around all
constexpr qint64 most_pixels = 1 << 25;  ///< of all images of a step
constexpr double most_side = 30'000;     ///< of a zoomed image, in pixels of the screen
constexpr int smallest_level = 64;

DecodedImage withLevels(QImage image) {
  DecodedImage decoded;
  decoded.levels.push_back(std::move(image));
  while (std::max(decoded.levels.back().width(), decoded.levels.back().height()) > 2 * smallest_level) {
    const QSize half = (decoded.levels.back().size() / 2).expandedTo({1, 1});
    decoded.levels.push_back(
        decoded.levels.back().scaled(half, Qt::IgnoreAspectRatio, Qt::SmoothTransformation));
  }
  return decoded;
}

/// What shines through.
QBrush chequers(const inspector::Theme& theme) {
  QPixmap tile(16, 16);
  tile.fill(inspector::mix(theme.background, theme.text, 0.12));
  QPainter painter(&tile);
  const QColor other = inspector::mix(theme.background, theme.text, 0.28);
  painter.fillRect(0, 0, 8, 8, other);
  painter.fillRect(8, 8, 8, 8, other);
  return QBrush(tile);
}

}  // namespace

DecodedImages decodeImages(const inspector::StepImages& images) {
  DecodedImages decoded;
  const QString size = QStringLiteral("%1×%2").arg(images.size.width()).arg(images.size.height());
  const auto count = static_cast<qint64>(images.pngs.size());
  if (count * images.size.width() * images.size.height() > most_pixels) {
    decoded.problem = QStringLiteral("%1 of %2 pixels are more than the 32 million that can be shown.")
                          .arg(count)
                          .arg(size);
    return decoded;
  }
  for (std::size_t i = 0; i < images.pngs.size(); ++i) {
    QBuffer buffer;
    buffer.setData(images.pngs[i]);
    QImageReader reader(&buffer, "PNG");
    // What the session said of its size is not trusted for the memory that it takes.
    QImage image = reader.size() == images.size ? reader.read() : QImage();
    if (image.isNull()) {
      decoded.images.clear();
      decoded.problem = QStringLiteral("Image %1 is not a PNG of %2 pixels.").arg(i).arg(size);
      return decoded;
    }
    decoded.images.push_back(withLevels(std::move(image)));
  }
  return decoded;
}

ImageGrid::ImageGrid(QWidget* parent) : QWidget(parent) {
  inspector::exposeParts();
  setMouseTracking(true);
}

void ImageGrid::setImages(DecodedImages images, const QString& name) {
  images_ = std::move(images);
  name_ = name;
  setAccessibleName(images_.problem.isEmpty() ? name : images_.problem);
  inspector::tellPartsChanged(this);
  update();
}

inspector::AccessiblePart ImageGrid::accessiblePart(int index) const {
  const auto at = static_cast<std::size_t>(index);
  const QImage& image = images_.images[at].levels.front();
  const QString name =
      images_.images.size() == 1 ? name_ : QStringLiteral("%1, image %2").arg(name_).arg(index);
  return {name,
          QStringLiteral("%1 × %2 pixels, %3")
              .arg(image.width())
              .arg(image.height())
              .arg(image.isGrayscale() ? QStringLiteral("grey") : QStringLiteral("colour")),
          place(at), QAccessible::Graphic};
}

QSizeF ImageGrid::imageSize() const {
  return images_.images.empty() ? QSizeF(1, 1) : QSizeF(images_.images.front().levels.front().size());
}

/// Where there are several they are numbered.
double ImageGrid::labelHeight() const {
  return images_.images.size() > 1 ? QFontMetricsF(font()).height() + 2 : 0;
}

double ImageGrid::fitting(const QSizeF& room, int* columns) const {
  const auto count = static_cast<int>(images_.images.size());
  double best = 0;
  for (int across = 1; across <= count; ++across) {
    const int down = (count + across - 1) / across;
    const double width = room.width() - 2 * edge - (across - 1) * gap;
    const double height = room.height() - 2 * edge - (down - 1) * gap - down * labelHeight();
    const double scale = std::min(width / across / imageSize().width(), height / down / imageSize().height());
    if (scale <= best) continue;
    best = scale;
    *columns = across;
  }
  return best;
}

void ImageGrid::layOut(double zoom, const QSizeF& room) {
  const auto count = static_cast<int>(images_.images.size());
  const double ratio = devicePixelRatioF();
  columns_ = 1;
  double scale = zoom;
  if (zoom <= 0) {
    scale = std::max(fitting(room, &columns_), 1e-3);
    // Each pixel as large as the next.
    if (scale * ratio >= 1) scale = std::floor(scale * ratio) / ratio;
  }
  scale_ = std::min({scale, most_side / imageSize().width(), most_side / imageSize().height()});
  const QSizeF one = imageSize() * scale_;
  if (zoom > 0)
    columns_ = std::clamp(static_cast<int>((room.width() - 2 * edge + gap) / (one.width() + gap)), 1,
                          std::max(1, count));
  const int rows = (count + columns_ - 1) / columns_;
  const QSizeF whole(2 * edge + columns_ * (one.width() + gap) - gap,
                     2 * edge + rows * (one.height() + gap + labelHeight()) - gap);
  setMinimumSize(zoom > 0 && count ? whole.toSize() : QSize(1, 1));
  update();
}

QRectF ImageGrid::place(std::size_t image) const {
  const auto count = static_cast<int>(images_.images.size()), at = static_cast<int>(image);
  const QSizeF one = imageSize() * scale_;
  const int rows = (count + columns_ - 1) / columns_;
  const double width = columns_ * (one.width() + gap) - gap;
  const double height = rows * (one.height() + gap + labelHeight()) - gap;
  const double left = std::max(edge, std::round((this->width() - width) / 2));
  const double top = std::max(edge, std::round((this->height() - height) / 2));
  return {QPointF(left + at % columns_ * (one.width() + gap),
                  top + at / columns_ * (one.height() + gap + labelHeight())),
          one};
}

void ImageGrid::drawImage(QPainter& painter, std::size_t image, const QRectF& clip) const {
  const QRectF where = place(image);
  const QRectF seen = where & clip;
  if (seen.isEmpty()) return;
  const std::vector<QImage>& levels = images_.images[image].levels;
  const double shown = scale_ * devicePixelRatioF();  // pixels of the screen for one of the image
  std::size_t level = 0;
  while (level + 1 < levels.size() && shown * static_cast<double>(2 << level) <= 1) ++level;
  const QImage& drawn = levels[level];
  const double across = where.width() / drawn.width(), down = where.height() / drawn.height();
  // Whole pixels of the part that is seen: a zoomed image is much larger than the screen.
  const QRect source = QRect(QPoint(static_cast<int>((seen.left() - where.left()) / across),
                                    static_cast<int>((seen.top() - where.top()) / down)),
                             QPoint(static_cast<int>((seen.right() - where.left()) / across) + 1,
                                    static_cast<int>((seen.bottom() - where.top()) / down) + 1)) &
                       drawn.rect();
  const QRectF target(where.left() + source.left() * across, where.top() + source.top() * down,
                      source.width() * across, source.height() * down);
  painter.setRenderHint(QPainter::SmoothPixmapTransform, shown < 1);
  painter.drawImage(target, drawn, source);
}

void ImageGrid::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  const auto theme = inspector::Theme::fromPalette(palette());
  painter.fillRect(event->rect(), theme.background);
  if (!images_.problem.isEmpty()) {
    painter.setPen(theme.faintText);
    painter.drawText(rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap, images_.problem);
    return;
  }
  const QBrush ground = chequers(theme);
  const QFontMetricsF metrics(font());
  for (std::size_t i = 0; i < images_.images.size(); ++i) {
    const QRectF where = place(i);
    if (images_.images[i].levels.front().hasAlphaChannel()) painter.fillRect(where, ground);
    drawImage(painter, i, QRectF(event->rect()));
    painter.setPen(theme.border);
    painter.drawRect(where.adjusted(-1, -1, 0, 0));
    if (labelHeight() == 0) continue;
    painter.setPen(theme.faintText);
    painter.drawText(QPointF(where.left(), where.bottom() + 2 + metrics.ascent()),
                     QStringLiteral("[%1]").arg(i));
  }
}

QString ImageGrid::pixelText(QPointF position) const {
  for (std::size_t i = 0; i < images_.images.size(); ++i) {
    const QRectF where = place(i);
    if (!where.contains(position)) continue;
    const QImage& image = images_.images[i].levels.front();
    const int column = std::min(static_cast<int>((position.x() - where.left()) / scale_), image.width() - 1);
    const int row = std::min(static_cast<int>((position.y() - where.top()) / scale_), image.height() - 1);
    const QColor pixel = image.pixelColor(column, row);
    QStringList channels{QString::number(pixel.red())};
    if (!image.isGrayscale()) channels << QString::number(pixel.green()) << QString::number(pixel.blue());
    if (image.hasAlphaChannel()) channels << QString::number(pixel.alpha());
    return QStringLiteral("[%1] row %2, column %3: %4")
        .arg(i)
        .arg(row)
        .arg(column)
        .arg(channels.join(QStringLiteral(", ")));
  }
  return {};
}

void ImageGrid::mouseMoveEvent(QMouseEvent* event) {
  emit hovered(pixelText(event->position()));
  event->ignore();  // so that the scroll area gets it, too
}

void ImageGrid::leaveEvent(QEvent*) {
  emit hovered({});
}

}  // namespace tapedeck::plots
