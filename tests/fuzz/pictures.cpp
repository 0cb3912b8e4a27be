// Bitmaps of unknown origin as the window decodes them, and messages between it and the process that draws
// SVG.
#include "app/notebook/output/picture_source.h"
#include "app/notebook/output/svg_drawing.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/window.h"

using namespace tapedeck::app;

namespace {

template <class Message>
void take_messages(QByteArray bytes) {
  Message message;
  for (bool ok = true; ok && takeFramed(bytes, message, ok);) continue;
}

}  // namespace

void fuzz::parse(Bytes input) {
  const QByteArray bytes(reinterpret_cast<const char*>(input.data()), static_cast<qsizetype>(input.size()));
  take_messages<SvgRequest>(bytes);
  take_messages<SvgAnswer>(bytes);
  QString error;
  const QSize size = bitmapSize(bytes, &error);
  expect(size.isEmpty() != error.isEmpty(), "a picture has a size, or an error says why not");
  const QImage image = decodePicture(bytes, &error);
  expect(pixelsOf(image.size()) <= most_decoded_pixels, "no picture is decoded larger than allowed");
  expect(image.isNull() != error.isEmpty(), "a picture is decoded, or an error says why not");
}
