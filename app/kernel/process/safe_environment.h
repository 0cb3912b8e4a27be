// The environment of a process that runs in a folder which may hold hostile files.
#pragma once

#include <QProcessEnvironment>

namespace tapedeck::app {

/// Takes out of `environment` what would make the process, the dynamic linker, Python or Jupyter look for
/// programs, libraries or modules in the folder where it runs: empty and relative parts of PATH,
/// LD_LIBRARY_PATH, PYTHONPATH and the like, and relative file names in LD_PRELOAD. A variable of which
/// nothing is left is taken out, for an empty PATH would be that folder.
void leaveOutCurrentFolder(QProcessEnvironment& environment);

/// The window's own environment, cleaned in that way.
QProcessEnvironment safeEnvironment();

}  // namespace tapedeck::app
