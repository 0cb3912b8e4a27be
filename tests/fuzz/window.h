// For parsers whose results are laid out with fonts: an application without a display.
#pragma once

#include <QApplication>
#include <QLoggingCategory>

#include "app/notebook/output/notebook_theme.h"

extern "C" int LLVMFuzzerInitialize(int* count, char*** texts) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QLoggingCategory::setFilterRules("*.debug=false\n*.info=false\n*.warning=false");
  new QApplication(*count, *texts);  // Qt needs it until the process exits
  return 0;
}

namespace fuzz {

inline const tapedeck::app::NotebookTheme& theme() {
  static const auto theme = tapedeck::app::NotebookTheme::of(QApplication::palette(), 0);
  return theme;
}

}  // namespace fuzz
