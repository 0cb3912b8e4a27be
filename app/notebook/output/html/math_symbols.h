// TeX commands for single characters.
#pragma once

#include <QHash>
#include <QString>

namespace tapedeck::app {

/// By the command's name without its backslash; relations come with the spaces around them.
const QHash<QString, QString>& mathSymbols();

}  // namespace tapedeck::app
