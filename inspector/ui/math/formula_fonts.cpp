#include "inspector/ui/math/formula_fonts.h"

#include <QCache>
#include <QFile>
#include <QMutex>
#include <array>

#include "inspector/ui/math/katex_files.h"

namespace tapedeck::inspector {
namespace {

struct FormulaFaceFile {
  FormulaFamily family;
  bool bold, italic;
  const char* name;
};

constexpr FormulaFaceFile face_files[] = {
    {FormulaFamily::ams, false, false, "AMS-Regular"},
    {FormulaFamily::caligraphic, false, false, "Caligraphic-Regular"},
    {FormulaFamily::caligraphic, true, false, "Caligraphic-Bold"},
    {FormulaFamily::fraktur, false, false, "Fraktur-Regular"},
    {FormulaFamily::fraktur, true, false, "Fraktur-Bold"},
    {FormulaFamily::main, false, false, "Main-Regular"},
    {FormulaFamily::main, true, false, "Main-Bold"},
    {FormulaFamily::main, false, true, "Main-Italic"},
    {FormulaFamily::main, true, true, "Main-BoldItalic"},
    {FormulaFamily::math, false, true, "Math-Italic"},
    {FormulaFamily::math, true, true, "Math-BoldItalic"},
    {FormulaFamily::sansSerif, false, false, "SansSerif-Regular"},
    {FormulaFamily::sansSerif, true, false, "SansSerif-Bold"},
    {FormulaFamily::sansSerif, false, true, "SansSerif-Italic"},
    {FormulaFamily::script, false, false, "Script-Regular"},
    {FormulaFamily::size1, false, false, "Size1-Regular"},
    {FormulaFamily::size2, false, false, "Size2-Regular"},
    {FormulaFamily::size3, false, false, "Size3-Regular"},
    {FormulaFamily::size4, false, false, "Size4-Regular"},
    {FormulaFamily::typewriter, false, false, "Typewriter-Regular"},
};
constexpr int face_count = static_cast<int>(std::size(face_files));

/// The file's bytes; read once, and shared by all threads.
QByteArray faceBytes(int face) {
  static QMutex mutex;
  static std::array<QByteArray, face_count> known;
  const QMutexLocker lock(&mutex);
  QByteArray& bytes = known[static_cast<std::size_t>(face)];
  if (bytes.isNull()) {
    QFile file(katexFiles().fonts + "/KaTeX_" + face_files[face].name + ".ttf");
    if (file.open(QFile::ReadOnly)) bytes = file.readAll();
  }
  return bytes;
}

}  // namespace

int formulaFace(FormulaFamily family, bool bold, bool italic) {
  int best = 0, most = -1;
  for (int i = 0; i < face_count; ++i) {
    if (face_files[i].family != family) continue;
    const int same = (face_files[i].bold == bold ? 2 : 0) + (face_files[i].italic == italic ? 1 : 0);
    if (same > most) {
      most = same;
      best = i;
    }
  }
  return best;
}

QRawFont formulaFont(int face, double pixels) {
  // Of a raw font each thread needs one of its own.
  thread_local QCache<std::pair<int, int>, QRawFont> fonts(200);
  constexpr double steps = 64;  // of a pixel: FreeType's own
  const std::pair key(face, qRound(pixels * steps));
  if (const QRawFont* known = fonts.object(key)) return *known;
  auto* font = new QRawFont;
  font->loadFromData(faceBytes(face), key.second / steps, QFont::PreferNoHinting);
  const QRawFont copy = *font;
  fonts.insert(key, font);
  return copy;
}

}  // namespace tapedeck::inspector
