// A notebook, or a program, and the trace file that it goes into and comes out of.
#pragma once

#include <functional>

#include "app/notebook/document/document.h"
#include "engine/protocol/messages.h"

namespace tapedeck::app {

/// What the file says of it: the notebook as it was when the trace was saved; behind it what else records
/// come from. Throws NotebookError where the notebook in the file is invalid. Callable in any thread.
NotebookData traceNotebook(const protocol::TraceFileInfo& info, const QString& name);
/// The same in a document, which is read-only.
void showTrace(const protocol::TraceFileInfo& info, const QString& name, Document& document);

/// The notebook's JSON with the ids by which records know its cells: a file of an older format has none.
std::string withCellIds(const QByteArray& notebook, const QStringList& ids);

/// The texts of the cells with code.
std::vector<protocol::SourceText> cellSources(const Document& document,
                                              const std::function<QString(const QString& cell)>& ran);

}  // namespace tapedeck::app
