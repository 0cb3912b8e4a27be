// The wheel over texts within the notebook: it scrolls the notebook, unless it is turned sideways.
#pragma once

class QAbstractScrollArea;

namespace tapedeck::app {

/// `area` and its scroll bars keep only what scrolls them sideways (Shift, Alt or a horizontal turn); a view
/// with a vertical scroll bar of its own keeps the rest, too, once it has the focus. Everything else goes to
/// the widgets around it.
void passWheelOn(QAbstractScrollArea* area);

}  // namespace tapedeck::app
