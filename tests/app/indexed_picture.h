// A window's picture with at most 256 colours, for a PNG of a third of the size.
#pragma once

#include <QHash>
#include <QImage>
#include <QList>
#include <algorithm>
#include <limits>

namespace tapedeck::test {

namespace indexed_picture {

struct Colour {
  QRgb rgb = 0;
  qint64 pixels = 0;
};
using Box = QList<Colour>;

inline int channel(QRgb rgb, int which) {
  return which == 0 ? qRed(rgb) : which == 1 ? qGreen(rgb) : qBlue(rgb);
}

/// The channel that spans most, and how much.
inline std::pair<int, int> widestChannel(const Box& box) {
  std::pair<int, int> widest{0, 0};
  for (int which = 0; which < 3; ++which) {
    int least = 255, most = 0;
    for (const Colour& colour : box) {
      least = std::min(least, channel(colour.rgb, which));
      most = std::max(most, channel(colour.rgb, which));
    }
    if (most - least > widest.second) widest = {which, most - least};
  }
  return widest;
}

/// The commonest colours as they are: grounds, lines and text. The others by median cut (Heckbert 1982): the
/// box that spans most is halved, until there are 256 in all or each is one colour.
inline QList<QRgb> palette(Box colours) {
  constexpr qsizetype kept = 128;
  std::stable_sort(colours.begin(), colours.end(),
                   [](const Colour& a, const Colour& b) { return a.pixels > b.pixels; });
  QList<QRgb> list;
  for (const Colour& colour : colours.mid(0, kept)) list << colour.rgb;
  QList<Box> boxes;
  if (colours.size() > kept) boxes << colours.mid(kept);
  while (boxes.size() < 256 - kept) {
    qsizetype chosen = -1;
    std::pair<int, int> widest{0, 0};
    for (qsizetype i = 0; i < boxes.size(); ++i)
      if (const auto span = widestChannel(boxes[i]); span.second > widest.second) chosen = i, widest = span;
    if (chosen < 0) break;
    Box low = boxes.takeAt(chosen);
    std::sort(low.begin(), low.end(), [&](const Colour& a, const Colour& b) {
      return channel(a.rgb, widest.first) < channel(b.rgb, widest.first);
    });
    boxes << low.mid(low.size() / 2) << low.mid(0, low.size() / 2);
  }
  for (const Box& box : boxes) {
    list << std::max_element(box.begin(), box.end(), [](const Colour& a, const Colour& b) {
              return a.pixels < b.pixels;
            })->rgb;
  }
  return list;
}

inline uchar nearest(QRgb rgb, const QList<QRgb>& palette) {
  int least = std::numeric_limits<int>::max();
  uchar found = 0;
  for (qsizetype i = 0; i < palette.size(); ++i) {
    const int red = qRed(rgb) - qRed(palette[i]), green = qGreen(rgb) - qGreen(palette[i]),
              blue = qBlue(rgb) - qBlue(palette[i]);
    const int distance = red * red + green * green + blue * blue;
    if (distance < least) least = distance, found = static_cast<uchar>(i);
  }
  return found;
}

}  // namespace indexed_picture

/// Opaque; each pixel has the nearest colour of a palette that is made for the picture.
inline QImage indexedPicture(const QImage& picture) {
  using namespace indexed_picture;
  const QImage source = picture.convertToFormat(QImage::Format_RGB32);
  QHash<QRgb, qint64> counts;
  for (int y = 0; y < source.height(); ++y)
    for (int x = 0; x < source.width(); ++x) ++counts[source.pixel(x, y)];
  Box colours;
  for (auto it = counts.cbegin(); it != counts.cend(); ++it) colours << Colour{it.key(), it.value()};
  // QHash has another order in each process.
  std::sort(colours.begin(), colours.end(), [](const Colour& a, const Colour& b) { return a.rgb < b.rgb; });
  const QList<QRgb> table = palette(colours);
  QHash<QRgb, uchar> indices;
  for (const Colour& colour : colours) indices[colour.rgb] = nearest(colour.rgb, table);
  QImage indexed(source.size(), QImage::Format_Indexed8);
  indexed.setColorTable(table);
  for (int y = 0; y < source.height(); ++y) {
    uchar* line = indexed.scanLine(y);
    for (int x = 0; x < source.width(); ++x) line[x] = indices[source.pixel(x, y)];
  }
  return indexed;
}

}  // namespace tapedeck::test
