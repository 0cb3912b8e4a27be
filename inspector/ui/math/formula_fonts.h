// KaTeX's fonts: found on the system, read once, and opened by each thread that measures or paints.
#pragma once

#include <QRawFont>

namespace tapedeck::inspector {

enum class FormulaFamily {
  ams,
  caligraphic,
  fraktur,
  main,
  math,
  sansSerif,
  script,
  size1,
  size2,
  size3,
  size4,
  typewriter
};

/// A face's number; that of the family's upright or light one where there is no such face.
int formulaFace(FormulaFamily family, bool bold, bool italic);

/// The face in this size in pixels, without hinting. Belongs to the thread that calls.
QRawFont formulaFont(int face, double pixels);

}  // namespace tapedeck::inspector
