// Where recovery files are: a folder per process, with a lock that the system drops when the process dies.
#pragma once

#include <QString>
#include <QStringList>

namespace tapedeck::app {

/// This process's folder; made and locked at the first call, removed when the program ends with it empty.
/// Throws NotebookError.
QString ownRecoveryFolder();
/// Folders whose process is gone.
QStringList abandonedRecoveryFolders();
/// Removes an abandoned folder that has no recovery file any more.
void removeIfEmpty(const QString& folder);

}  // namespace tapedeck::app
