#include "app/notebook/output/picture_jobs.h"

#include <QBuffer>
#include <QFileInfo>

#include "app/notebook/output/picture_source.h"
#include "inspector/ui/file_dialogs.h"

namespace tapedeck::app {

PreparedPicture preparePicture(const QByteArray& bytes, const QImage& whole, QSize pixels) {
  PreparedPicture made;
  made.whole = whole.isNull() ? decodePicture(bytes, &made.error) : whole;
  if (made.whole.isNull()) return made;
  made.painted = pixels == made.whole.size()
                     ? made.whole
                     : made.whole.scaled(pixels, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
  return made;
}

QString savePicture(const QImage& image, const QString& path) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  const QByteArray kind = QFileInfo(path).suffix().toUtf8();
  if (!buffer.open(QIODevice::WriteOnly) || !image.save(&buffer, kind.constData()))
    return QString("A picture can't be saved as “.%1”.").arg(QString::fromUtf8(kind));
  QString error;
  inspector::replaceFile(path, bytes, &error);
  return error;
}

}  // namespace tapedeck::app
