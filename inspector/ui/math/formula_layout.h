// KaTeX's boxes laid out: what a browser does with its markup and style sheet, for the few kinds of boxes it
// uses.
#pragma once

#include "inspector/ui/math/formula_picture.h"

namespace tapedeck::inspector {

/// `markup`: what katex.renderToString returned for `display`. In any thread.
SetFormula layOutFormula(const QString& markup, bool display);

}  // namespace tapedeck::inspector
