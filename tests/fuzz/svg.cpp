// SVG: cleaned. What draws it is a process of its own, and Qt's.
#include <QString>

#include "app/notebook/output/html/svg_check.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck::app;

void fuzz::parse(Bytes bytes) {
  QString error;
  const QByteArray clean = sanitizeSvg(
      QByteArray(reinterpret_cast<const char*>(bytes.data()), static_cast<qsizetype>(bytes.size())), &error);
  expect(clean.isEmpty() != error.isEmpty(), "SVG is shown, or an error says why not");
  if (clean.isEmpty()) return;
  const QByteArray again = sanitizeSvg(clean, &error);
  expect(error.isEmpty(), "clean SVG can be read");
  expect(again == clean, "clean SVG has nothing left to be cleaned");
}
