// The outline of the window's notebook as a panel.
#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::app {

class Document;
class NotebookView;

inspector::PanelDescriptor outlinePanel(NotebookView* notebook, Document* document);

}  // namespace tapedeck::app
