#include "inspector/panels/health/health_text.h"

#include <cmath>

namespace tapedeck::inspector {

QString healthValueText(const std::string& quantity, double value) {
  if (std::isnan(value)) return quantity == "gradient" ? QStringLiteral("None") : QStringLiteral("nan");
  if (std::isinf(value) && (quantity == "gradient" || quantity == "weight" || quantity == "update"))
    return QStringLiteral("NaN/inf");  // a norm of elements that are not all finite
  if (std::isinf(value)) return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
  if (quantity == "dead" || quantity == "saturated")
    return QStringLiteral("%1 %").arg(100 * value, 0, 'f', value > 0 && value < 0.1 ? 1 : 0);
  if (quantity == "rank") return QString::number(value, 'f', 1);
  const double size = std::abs(value);
  if (value == std::floor(value) && size < 1e5) return QString::number(value, 'f', 0);
  return QString::number(value, 'g', 3);
}

QString healthQuantityText(const std::string& quantity) {
  if (quantity == "update") return QStringLiteral("update / weight");
  return QString::fromStdString(quantity);
}

QString healthQuantityTip(const std::string& quantity) {
  if (quantity == "gradient") return QStringLiteral("The 2-norm of the gradient");
  if (quantity == "weight") return QStringLiteral("The 2-norm of the variable after the update");
  if (quantity == "update")
    return QStringLiteral("The 2-norm of the step's change over that of the variable: about 0.001 is usual");
  if (quantity == "rank")
    return QStringLiteral(
        "The effective rank of the gradient as a matrix: in how many directions it goes. Of 32 samples one "
        "has "
        "it, if the gradient is finite; paler bars repeat it");
  if (quantity == "dead")
    return QStringLiteral("The share of the units that are 0 for every example of the batch");
  if (quantity == "saturated")
    return QStringLiteral("The share of the outputs at a flat end of the function");
  if (quantity == "not finite") return QStringLiteral("How many elements are NaN or infinite");
  if (quantity == "s·y")
    return QStringLiteral("The step s times the change y of the gradient: above 0 where the loss curves up");
  if (quantity == "rho") return QStringLiteral("1 / s·y");
  if (quantity == "d·g" || quantity == "g·d")
    return QStringLiteral("The direction d times the gradient g: below 0 where d goes downhill");
  if (quantity == "curvature") return QStringLiteral("s·y / s·s: the loss's curvature along the step");
  return {};
}

bool isLogarithmic(const std::string& quantity) {
  return quantity == "gradient" || quantity == "weight" || quantity == "update" || quantity == "loss" ||
         quantity == "rho" || quantity == "curvature" || quantity == "step length";
}

QString severityText(protocol::HealthSeverity severity) {
  switch (severity) {
    case protocol::HealthSeverity::error:
      return QStringLiteral("✖ ") + QStringLiteral("error");
    case protocol::HealthSeverity::warning:
      return QStringLiteral("▲ ") + QStringLiteral("warning");
    case protocol::HealthSeverity::note:
      break;
  }
  return QStringLiteral("• ") + QStringLiteral("note");
}

}  // namespace tapedeck::inspector
