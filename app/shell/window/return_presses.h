// Return and Enter press the button that has the focus, as Space does.
#pragma once

namespace tapedeck::app {

/// In all windows of the program; a second call does nothing. Qt does so for some push buttons alone, and in
/// a dialog it presses the default button where another one has the focus.
void letReturnPressButtons();

}  // namespace tapedeck::app
