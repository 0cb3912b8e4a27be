#include "app/shell/window/output_limit_dialog.h"

#include <QInputDialog>

#include "app/notebook/document/output_limit.h"

namespace tapedeck::app {

void askOutputLimit(QWidget* parent) {
  bool given = false;
  const int megabytes = QInputDialog::getInt(
      parent, "Limit of stored output",
      "Megabytes of each printed text that a notebook's file stores. Of a longer text it stores the "
      "beginning and the end; all of it is in the window until the notebook is closed.",
      static_cast<int>(storedOutputLimit() / megabyte), 1, most_output_megabytes, 1, &given);
  if (given) setStoredOutputLimit(megabytes);
}

}  // namespace tapedeck::app
