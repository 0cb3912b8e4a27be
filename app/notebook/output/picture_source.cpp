#include "app/notebook/output/picture_source.h"

#include <QBuffer>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QImageReader>
#include <QUrl>

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {
namespace {

constexpr qint64 largest_picture_file = 64 << 20;

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

QImage PictureSource::picture(const QString& source) const {
  if (source.startsWith("data:", Qt::CaseInsensitive)) {
    const qsizetype comma = source.indexOf(',');
    const QString head = source.left(comma).toLower();
    if (comma < 0 || !head.startsWith("data:image/") || !head.endsWith(";base64")) return {};
    return decodePicture(QByteArray::fromBase64(QStringView(source).mid(comma + 1).toLatin1()));
  }
  const QUrl name(source);
  if (name.scheme() == "attachment") {
    const QString file = QUrl::fromPercentEncoding(source.mid(11).toUtf8());
    return decodePicture(QByteArray::fromBase64(attachments_.value(file)));
  }
  if (!name.isRelative() || !name.host().isEmpty() || folder_.isEmpty()) return {};
  const QFileInfo file(QDir(folder_).filePath(name.path()));
  const QString root = QFileInfo(folder_).canonicalFilePath() + "/";
  if (!file.isFile() || !file.canonicalFilePath().startsWith(root) || file.size() > largest_picture_file)
    return {};
  QFile input(file.filePath());
  return input.open(QIODevice::ReadOnly) ? decodePicture(input.readAll()) : QImage();
}

}  // namespace tapedeck::app
