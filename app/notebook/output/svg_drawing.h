// Requests to tapedeck-svg, the process that draws SVG, and its answers: on its standard input and output,
// each as its length (32 bits) and that many bytes. An empty answer comes once it is ready.
#pragma once

#include <QByteArray>
#include <QDataStream>
#include <QIODevice>
#include <QImage>
#include <QString>
#include <algorithm>

namespace tapedeck::app {

/// No wider and no higher, in logical pixels.
constexpr int largest_svg_side = 16384;
/// Of one picture: a larger one is drawn smaller, and scaled up.
constexpr double most_svg_pixels = 16'000'000;

struct SvgRequest {
  QByteArray svg;    ///< of unknown origin
  int width = 0;     ///< of the room for it, in logical pixels
  double ratio = 1;  ///< device pixels in each
};

struct SvgAnswer {
  QSize natural;  ///< in logical pixels; empty: it can't be drawn
  QImage image;   ///< as wide as it is, or as there is room
  QString problem;
  QByteArray clean = {};  ///< what was drawn: the SVG as sanitizeSvg left it
};

/// `natural` in a room of that width.
inline QSize fittedSize(QSize natural, int room) {
  if (natural.width() <= room || natural.isEmpty()) return natural;
  const double height = static_cast<double>(natural.height()) * room / natural.width();
  return {room, qMax(1, qRound(height))};
}

inline QDataStream& operator<<(QDataStream& stream, const SvgRequest& request) {
  return stream << request.svg << request.width << request.ratio;
}
inline QDataStream& operator>>(QDataStream& stream, SvgRequest& request) {
  return stream >> request.svg >> request.width >> request.ratio;
}
/// Pixels as they are: no reader of pictures is needed for what comes from another process.
inline QDataStream& operator<<(QDataStream& stream, const SvgAnswer& answer) {
  return stream << answer.natural << answer.problem << answer.clean << answer.image.size()
                << QByteArray(reinterpret_cast<const char*>(answer.image.constBits()),
                              answer.image.sizeInBytes());
}
inline QDataStream& operator>>(QDataStream& stream, SvgAnswer& answer) {
  QSize size;
  QByteArray pixels;
  stream >> answer.natural >> answer.problem >> answer.clean >> size >> pixels;
  if (size.isEmpty()) return stream;
  // A wrong size in the header allocates no memory.
  const bool whole = pixels.size() / 4 / size.width() == size.height() &&
                     pixels.size() == qint64{4} * size.width() * size.height();
  QImage image = whole ? QImage(size, QImage::Format_ARGB32_Premultiplied) : QImage();
  if (image.isNull()) {
    stream.setStatus(QDataStream::ReadCorruptData);
    return stream;
  }
  std::copy(pixels.begin(), pixels.end(), reinterpret_cast<char*>(image.bits()));
  answer.image = image;
  return stream;
}

template <class Message>
QByteArray framed(const Message& message) {
  QByteArray body, bytes;
  QDataStream inner(&body, QIODevice::WriteOnly), outer(&bytes, QIODevice::WriteOnly);
  inner << message;
  outer << body;
  return bytes;
}

/// Takes the first message off `bytes`; false where it is not all there yet. `ok`: it could be read.
template <class Message>
bool takeFramed(QByteArray& bytes, Message& message, bool& ok) {
  QDataStream stream(bytes);
  quint32 length = 0;
  stream >> length;
  if (stream.status() != QDataStream::Ok || bytes.size() - qsizetype(sizeof(length)) < qsizetype(length))
    return false;
  QDataStream body(bytes.mid(sizeof(length), length));
  body >> message;
  ok = body.status() == QDataStream::Ok;
  bytes.remove(0, qsizetype(sizeof(length)) + qsizetype(length));
  return true;
}

}  // namespace tapedeck::app
