#include "app/notebook/output/picture_source.h"

#include <QBuffer>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QImageReader>
#include <QUrl>
#include <algorithm>
#include <cmath>

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {
namespace {

constexpr qint64 largest_picture_file = 64 << 20;

/// The format of Qt's that reads them; null where it is none of those that are shown.
const char* bitmapFormat(const QByteArray& bytes) {
  if (bytes.startsWith("\x89PNG\r\n\x1a\n")) return "png";
  if (bytes.startsWith("\xff\xd8\xff")) return "jpeg";
  if (bytes.startsWith("GIF87a") || bytes.startsWith("GIF89a")) return "gif";
  return bytes.startsWith("BM") ? "bmp" : nullptr;
}

/// While one is decoded whole to be scaled down.
constexpr int most_megabytes = 512;

/// One decoder over some bytes, and no other.
struct BitmapReader {
  BitmapReader(const QByteArray& bytes, const char* format) {
    QImageReader::setAllocationLimit(most_megabytes);
    buffer.setData(bytes);
    buffer.open(QIODevice::ReadOnly);
    reader.setAutoDetectImageFormat(false);
    reader.setFormat(format);
    reader.setDevice(&buffer);
  }
  QBuffer buffer;
  QImageReader reader;
};

/// A progressive JPEG's decoder goes over all pixels for each scan, and some bytes are enough for one.
constexpr qint64 most_scanned_pixels = 300'000'000;

/// How many scans the JPEG has: its markers SOS, up to the last one or to what is no marker.
qint64 jpegScans(const QByteArray& bytes) {
  const auto at = [&](qsizetype i) { return static_cast<unsigned char>(bytes[i]); };
  qint64 scans = 0;
  for (qsizetype i = 2; i + 3 < bytes.size();) {
    const unsigned marker = at(i + 1);
    // Within a scan: pixels' bits, 0xff as such, and RST.
    const bool pixels = at(i) != 0xff || marker == 0 || (marker >= 0xd0 && marker <= 0xd7);
    if (pixels || marker == 0xff) {
      ++i;
      continue;
    }
    if (marker == 0xd9) break;  // the end
    scans += marker == 0xda;
    i += 2 + (at(i + 2) << 8 | at(i + 3));
  }
  return scans;
}

/// In proportion, with at most most_decoded_pixels, however narrow it is.
QSize scaledDown(QSize size) {
  const double share =
      std::sqrt(static_cast<double>(most_decoded_pixels) / static_cast<double>(pixelsOf(size)));
  const auto side = [&](int own, qint64 other) {
    return static_cast<int>(
        std::clamp(static_cast<qint64>(own * share), qint64{1}, most_decoded_pixels / other));
  };
  const int shorter = side(std::min(size.width(), size.height()), 1);
  const int longer = side(std::max(size.width(), size.height()), shorter);
  return size.width() < size.height() ? QSize(shorter, longer) : QSize(longer, shorter);
}

void tell(QString* error, const QString& reason) {
  if (error != nullptr) *error = reason;
}

}  // namespace

QSize bitmapSize(const QByteArray& bytes, QString* error) {
  const char* const format = bitmapFormat(bytes);
  if (format == nullptr) {
    tell(error, "it is not a PNG, JPEG, GIF or BMP");
    return {};
  }
  BitmapReader bitmap(bytes, format);
  const QSize size = bitmap.reader.size();
  if (format == QByteArrayView("jpeg")) {
    const qint64 scans = jpegScans(bytes);
    if (scans > 1 && scans * std::min(pixelsOf(size), most_decoded_pixels) > most_scanned_pixels) {
      tell(error, QString("its JPEG data has %1 scans").arg(scans));
      return {};
    }
  }
  const bool turned = bitmap.reader.transformation().testFlag(QImageIOHandler::TransformationRotate90);
  if (!size.isEmpty()) return turned ? size.transposed() : size;
  tell(error, QString("its %1 data is damaged").arg(QString(format).toUpper()));
  return {};
}

QImage decodePicture(const QByteArray& bytes, QString* error) {
  const QSize size = bitmapSize(bytes, error);
  if (size.isEmpty()) return {};
  BitmapReader bitmap(bytes, bitmapFormat(bytes));
  bitmap.reader.setAutoTransform(true);
  if (pixelsOf(size) > most_decoded_pixels) bitmap.reader.setScaledSize(scaledDown(bitmap.reader.size()));
  const QImage image = bitmap.reader.read();
  if (image.isNull()) tell(error, bitmap.reader.errorString().toLower());
  return image;
}

void PictureSource::setAttachments(const nlohmann::ordered_json& attachments) {
  attachments_.clear();
  if (!attachments.is_object()) return;
  for (const auto& [name, bundle] : attachments.items()) {
    if (!bundle.is_object()) continue;
    for (const auto& [mime, data] : bundle.items()) {
      if (mime.starts_with("image/"))
        attachments_[QString::fromStdString(name)] = QByteArray::fromStdString(joinedText(data));
    }
  }
}

bool PictureSource::mayTakeLong(const QString& text) const {
  constexpr qsizetype decoded_at_once = 100'000;  // bytes of base64
  if (!text.contains("![") && !text.contains("<img", Qt::CaseInsensitive)) return false;
  return !folder_.isEmpty() ||
         std::any_of(attachments_.begin(), attachments_.end(),
                     [](const QByteArray& each) { return each.size() > decoded_at_once; });
}

QByteArray PictureSource::bytes(const QString& source) const {
  if (source.startsWith("data:", Qt::CaseInsensitive)) {
    const qsizetype comma = source.indexOf(',');
    const QString head = source.left(comma).toLower();
    if (comma < 0 || !head.startsWith("data:image/") || !head.endsWith(";base64")) return {};
    return QByteArray::fromBase64(QStringView(source).mid(comma + 1).toLatin1());
  }
  const QUrl name(source);
  if (name.scheme() == "attachment") {
    const QString file = QUrl::fromPercentEncoding(source.mid(11).toUtf8());
    return QByteArray::fromBase64(attachments_.value(file));
  }
  if (!name.isRelative() || !name.host().isEmpty() || folder_.isEmpty()) return {};
  const QFileInfo file(QDir(folder_).filePath(name.path()));
  const QString root = QFileInfo(folder_).canonicalFilePath() + "/";
  if (!file.isFile() || !file.canonicalFilePath().startsWith(root) || file.size() > largest_picture_file)
    return {};
  QFile input(file.filePath());
  return input.open(QIODevice::ReadOnly) ? input.readAll() : QByteArray();
}

}  // namespace tapedeck::app
