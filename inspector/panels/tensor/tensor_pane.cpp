#include "inspector/panels/tensor/tensor_pane.h"

#include <QStringList>

namespace tapedeck::inspector {

QString indexText(const TensorModel& model, std::int64_t row, std::int64_t column, std::int64_t row_step,
                  std::int64_t column_step) {
  const std::vector<std::int64_t> slice = model.slice();
  const auto range = [](std::int64_t first, std::int64_t step, std::int64_t total) {
    if (step <= 1) return QString::number(first);
    return QStringLiteral("%1:%2").arg(first).arg(std::min(first + step, total));
  };
  QStringList parts;
  int shown = 0;
  for (const std::int64_t index : slice) shown += index == -1;
  for (const std::int64_t index : slice) {
    if (index >= 0) {
      parts << QString::number(index);
    } else {
      parts << (shown > 1 ? range(row, row_step, model.totalRows())
                          : range(column, column_step, model.totalColumns()));
      shown = 1;
    }
  }
  return QLatin1Char('[') + parts.join(QStringLiteral(", ")) + QLatin1Char(']');
}

}  // namespace tapedeck::inspector
