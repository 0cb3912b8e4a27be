#include "app/notebook/document/output_limit.h"

#include <QSettings>
#include <algorithm>

namespace tapedeck::app {
namespace {

constexpr const char* limit_key = "notebook/output_megabytes";

}  // namespace

std::size_t storedOutputLimit() {
  const int megabytes = QSettings().value(limit_key, default_output_megabytes).toInt();
  return static_cast<std::size_t>(std::clamp(megabytes, 1, most_output_megabytes)) * megabyte;
}

void setStoredOutputLimit(int megabytes) {
  QSettings().setValue(limit_key, std::clamp(megabytes, 1, most_output_megabytes));
  emit OutputLimitNotice::instance()->changed();
}

OutputLimitNotice* OutputLimitNotice::instance() {
  static OutputLimitNotice notice;
  return &notice;
}

}  // namespace tapedeck::app
