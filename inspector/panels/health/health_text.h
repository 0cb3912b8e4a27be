// How the panel Health writes numbers and names quantities.
#pragma once

#include <QString>
#include <string>

#include "engine/protocol/health.h"

namespace tapedeck::inspector {

/// Short: "0.0123", "1.2e-05", "83 %" of shares, "None" of a gradient that there was none of,
/// "NaN/inf" of a norm that is not finite.
QString healthValueText(const std::string& quantity, double value);
/// As the table's head has it: "update / weight".
QString healthQuantityText(const std::string& quantity);
/// One sentence: what it is and how it is measured.
QString healthQuantityTip(const std::string& quantity);
/// Whether its strips and curves have an axis of decades.
bool isLogarithmic(const std::string& quantity);
/// "✖ error", "▲ warning", "• note": a sign and a word.
QString severityText(protocol::HealthSeverity severity);

}  // namespace tapedeck::inspector
