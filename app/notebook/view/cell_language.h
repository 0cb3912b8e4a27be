// What a cell's editor is for.
#pragma once

#include "app/notebook/document/nbformat.h"
#include "app/notebook/view/code_editor.h"

namespace tapedeck::app {

inline CodeEditor::Language languageOf(CellType type) {
  return type == CellType::code       ? CodeEditor::Language::python
         : type == CellType::markdown ? CodeEditor::Language::markdown
                                      : CodeEditor::Language::none;
}

}  // namespace tapedeck::app
