// The setting of how much printed text a notebook's file stores.
#pragma once

class QWidget;

namespace tapedeck::app {

void askOutputLimit(QWidget* parent);

}  // namespace tapedeck::app
