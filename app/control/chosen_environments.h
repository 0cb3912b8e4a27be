// Which environment a notebook or a program is to run in, and the environments that the user chose lately.
#pragma once

#include <QString>
#include <QStringList>

namespace tapedeck::app {

class Document;

/// The newest first; only those that the user chose on this machine.
QStringList recentEnvironments();
void addRecentEnvironment(const QString& given);

/// What a file asks for.
struct WantedEnvironment {
  QString given;       ///< empty: nothing but the app's own Python
  QString kernelspec;  ///< it comes from the Jupyter kernel of that name
};
/// In this order: what was kept with it (a notebook's metadata; for a program, the settings), and the
/// interpreter of the Jupyter kernel that the notebook names, where one that is installed here has a Python
/// of its own.
WantedEnvironment wantedEnvironment(const Document& document);
/// Keeps the choice with it. `given` empty: the app's own.
void keepEnvironment(Document& document, const QString& given);

/// A line of its code imports torch or a module of it.
bool importsTorch(const Document& document);

/// The interpreter that the argv of a Jupyter kernel of that name has; empty: there is none, it is not
/// Python's, or it is Tapedeck's own. Looks where Jupyter does.
QString kernelspecInterpreter(const QString& name);

}  // namespace tapedeck::app
