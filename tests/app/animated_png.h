// An animated PNG (W3C PNG, third edition, section 11.3.6) of pictures of one size.
#pragma once

#include <QByteArray>
#include <QImage>
#include <QList>
#include <QtEndian>

namespace tapedeck::test {

struct Frame {
  QImage picture;
  int milliseconds = 1000;
};

namespace animated_png {

inline QByteArray bigEndian32(quint32 value) {
  QByteArray bytes(4, Qt::Uninitialized);
  qToBigEndian(value, bytes.data());
  return bytes;
}
inline QByteArray bigEndian16(quint16 value) {
  QByteArray bytes(2, Qt::Uninitialized);
  qToBigEndian(value, bytes.data());
  return bytes;
}
inline QByteArray chunk(const QByteArray& type, const QByteArray& data) {
  const QByteArray body = type + data;
  quint32 sum = 0xffffffff;
  for (const char byte : body) {
    sum ^= static_cast<uchar>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return bigEndian32(static_cast<quint32>(data.size())) + body + bigEndian32(~sum);
}

/// The rows of a part, RGB, without filters: a window is flat areas, which deflate finds by itself.
inline QByteArray rows(const QImage& picture, const QRect& part) {
  QByteArray raw;
  raw.reserve(part.height() * (part.width() * 3 + 1));
  for (int y = part.top(); y <= part.bottom(); ++y) {
    raw += '\0';  // no filter
    raw.append(reinterpret_cast<const char*>(picture.constScanLine(y) + part.left() * 3), part.width() * 3);
  }
  const QByteArray packed = qCompress(raw, 9).mid(4);  // behind Qt's own length
  return packed;
}

inline QRect changed(const QImage& before, const QImage& now) {
  QRect part;
  for (int y = 0; y < now.height(); ++y) {
    const uchar *a = before.constScanLine(y), *b = now.constScanLine(y);
    int left = 0, right = now.width() * 3 - 1;
    while (left <= right && a[left] == b[left]) ++left;
    while (right > left && a[right] == b[right]) --right;
    if (left <= right) part |= QRect(QPoint(left / 3, y), QPoint(right / 3, y));
  }
  return part.isNull() ? QRect(0, 0, 1, 1) : part;
}

}  // namespace animated_png

/// It plays without end. Empty where there are no frames, or of several sizes.
inline QByteArray animatedPng(const QList<Frame>& frames) {
  using namespace animated_png;
  if (frames.isEmpty()) return {};
  const QSize size = frames.first().picture.size();
  QByteArray file("\x89PNG\r\n\x1a\n", 8);
  file +=
      chunk("IHDR", bigEndian32(static_cast<quint32>(size.width())) +
                        bigEndian32(static_cast<quint32>(size.height())) + QByteArray("\x08\x02\0\0\0", 5));
  file += chunk("acTL", bigEndian32(static_cast<quint32>(frames.size())) + bigEndian32(0));
  quint32 number = 0;
  QImage before;
  for (const Frame& frame : frames) {
    if (frame.picture.size() != size) return {};
    const QImage picture = frame.picture.convertToFormat(QImage::Format_RGB888);
    const QRect part = before.isNull() ? picture.rect() : changed(before, picture);
    const auto u32 = [](int value) { return bigEndian32(static_cast<quint32>(value)); };
    // Over what is there, and left there.
    file += chunk("fcTL", bigEndian32(number++) + u32(part.width()) + u32(part.height()) + u32(part.x()) +
                              u32(part.y()) + bigEndian16(static_cast<quint16>(frame.milliseconds)) +
                              bigEndian16(1000) + QByteArray(2, '\0'));
    file += before.isNull() ? chunk("IDAT", rows(picture, part))
                            : chunk("fdAT", bigEndian32(number++) + rows(picture, part));
    before = picture;
  }
  return file + chunk("IEND", {});
}

}  // namespace tapedeck::test
