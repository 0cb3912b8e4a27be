#include "inspector/model/session/cell_names.h"

namespace tapedeck::inspector {

void CellNames::set(const QHash<QString, QString>& names) {
  if (names == names_) return;
  names_ = names;
  emit changed();
}

}  // namespace tapedeck::inspector
