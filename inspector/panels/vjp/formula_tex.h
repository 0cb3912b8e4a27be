// The formulas of VJPs as TeX, in what KaTeX knows.
#pragma once

#include <QString>

#include "engine/protocol/formula.h"

namespace tapedeck::inspector {

/// Single letters are italic and names upright; a superscript "T" is a transpose. \allowbreak is wherever a
/// line may end, besides the places behind operators and relations where KaTeX ends lines itself.
QString expressionTex(const protocol::FormulaNode& expression);
QString statementTex(const protocol::FormulaStatement& statement);

/// "x", or "dx" of a gradient: the text beside a tensor.
QString symbolTex(const QString& name, bool gradient);

/// For other programs: without the places where a line may end.
QString texToCopy(QString tex);

}  // namespace tapedeck::inspector
