#include "inspector/ui/math/katex_files.h"

#include <QFileInfo>
#include <QStringList>

namespace tapedeck::inspector {
namespace {

constexpr char katex_variable[] = "TAPEDECK_KATEX";

QString existing(const QStringList& paths, const QString& file = {}) {
  for (const QString& path : paths)
    if (!path.isEmpty() && QFileInfo::exists(path + file)) return path;
  return {};
}

KatexFiles filesAmong(const QStringList& scripts, const QStringList& fonts) {
  return {existing(scripts), existing(fonts, QStringLiteral("/KaTeX_Main-Regular.ttf"))};
}

}  // namespace

KatexFiles katexFiles() {
  if (qEnvironmentVariableIsSet(katex_variable)) {
    const QString folder = qEnvironmentVariable(katex_variable);
    return filesAmong({folder + "/katex.min.js"}, {folder + "/fonts"});
  }
  static const KatexFiles installed = filesAmong(
      {QStringLiteral(TAPEDECK_KATEX_SCRIPT), QStringLiteral("/usr/share/javascript/katex/katex.min.js")},
      {QStringLiteral(TAPEDECK_KATEX_FONTS), QStringLiteral("/usr/share/fonts/truetype/katex")});
  return installed;
}

}  // namespace tapedeck::inspector
