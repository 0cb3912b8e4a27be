// The formulas of VJPs as TeX, in what KaTeX knows.
#pragma once

#include <QString>

#include "engine/protocol/formula.h"

namespace tapedeck::inspector {

/// Single letters lean and names stand upright; a "T" on high is a transpose. \allowbreak stands wherever a
/// line may end, besides the places behind operators and relations where KaTeX ends lines itself.
QString expressionTex(const protocol::FormulaNode& expression);
QString statementTex(const protocol::FormulaStatement& statement);

/// "x", or "dx" of a gradient: what stands beside a tensor.
QString symbolTex(const QString& name, bool gradient);

/// For other programs: without the places where a line may end.
QString texToCopy(QString tex);

}  // namespace tapedeck::inspector
