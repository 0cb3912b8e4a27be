// TeX commands that stand for a character.
#pragma once

#include <QHash>
#include <QString>

namespace tapedeck::app {

/// By the command's name without its backslash; relations come with the spaces around them.
const QHash<QString, QString>& mathSymbols();

}  // namespace tapedeck::app
