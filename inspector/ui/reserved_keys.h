// Keys that desktops take before any window gets them. No action of the program uses one.
#pragma once

#include <QKeySequence>
#include <QString>

namespace tapedeck::inspector {

/// What a desktop does with the first of the keys: "KDE Plasma shows windows or desktops"; empty: no desktop
/// in common use has it by default.
QString reservedFor(const QKeySequence& keys);

}  // namespace tapedeck::inspector
