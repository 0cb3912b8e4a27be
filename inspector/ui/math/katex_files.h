// Where KaTeX is on this machine.
#pragma once

#include <QString>

namespace tapedeck::inspector {

/// Paths; empty: not found.
struct KatexFiles {
  QString script;  ///< katex.min.js
  QString fonts;   ///< the folder of KaTeX's fonts in TrueType
};

/// From Debian's packages. TAPEDECK_KATEX in the environment names another folder with katex.min.js and
/// fonts/, and then no other one is looked at.
KatexFiles katexFiles();

}  // namespace tapedeck::inspector
