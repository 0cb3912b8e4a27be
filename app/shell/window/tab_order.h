// Where Tab goes.
#pragma once

#include <functional>

class QWidget;

namespace tapedeck::app {

/// The widget after the one with the focus (before it: `forward` is false) that takes the focus by Tab and of
/// which `inSight` holds, within `window`; round again at its end. nullptr: there is no other one.
QWidget* nextByTab(QWidget* window, bool forward, const std::function<bool(const QWidget*)>& inSight);

/// The first widget in `tree`, itself included, that Tab could go to; nullptr: there is none.
QWidget* firstByTab(QWidget* tree);

}  // namespace tapedeck::app
