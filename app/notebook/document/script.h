// Python programs as documents: cells begin at lines such as "# %%", as in VS Code, Spyder and Jupytext.
#pragma once

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {

/// ".py": a Python program; everything else is a notebook.
bool isScript(const QString& path);

/// Throws NotebookError for text that is not UTF-8; `name` names the file in errors. A program without such
/// lines is one cell. After "# %% [markdown]" comes a Markdown cell, its lines without their "# ".
NotebookData readScript(const QByteArray& bytes, const QString& name);

/// Sources alone: a program has no outputs. Cells that were read keep their lines and the empty ones behind
/// them.
QByteArray writeScript(const NotebookData& notebook);

}  // namespace tapedeck::app
