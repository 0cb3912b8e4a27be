// A cell's output in a notebook (JSON): read, followed by others of a session, written, and shown.
#include "app/notebook/document/document.h"
#include "app/notebook/document/json_text.h"
#include "app/notebook/output/output_factory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/window.h"

using namespace tapedeck::app;
using fuzz::expect;

namespace {

/// What a session sends is of a sound form (jupyter_message.h), whatever stands in the file.
void append_from_session(Document& document) {
  using nlohmann::json;
  const QString cell = document.cell(0).id;
  document.appendOutput(cell, {{"output_type", "stream"}, {"name", "stdout"}, {"text", "a\rb\n"}});
  document.appendOutput(cell, {{"output_type", "display_data"},
                               {"data", {{"text/plain", "x"}}},
                               {"metadata", json::object()},
                               {"transient", {{"display_id", "d"}}}});
  document.updateDisplay("d", {{"text/plain", "y"}}, json::object());
}

/// NaN is another number than itself: outputs are compared as what they are written as.
std::string written(const Document& document) {
  std::string text;
  writeJson(document.cell(0).outputs, 0, {}, text);
  return text;
}

void show(const nlohmann::ordered_json& output) {
  const std::unique_ptr<Block> block(makeOutputBlock(output, fuzz::theme(), nullptr));
  block->resize(600, std::min(block->heightFor(600), 4000));
  block->arrange();
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  const std::string notebook =
      R"({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code",
"id": "a", "metadata": {}, "source": "", "execution_count": 1, "outputs": [)";
  may_refuse<NotebookError>([&] {
    Document document;
    document.parse(QByteArray::fromStdString(notebook + std::string(text_of(bytes)) + "]}]}"), "a.ipynb");
    if (document.cellCount() == 0 || document.cell(0).type != CellType::code) return;
    append_from_session(document);
    Document again;
    again.parse(document.serialize(), "a.ipynb");
    expect(again.cellCount() == document.cellCount() && written(again) == written(document),
           "outputs that were written are read");
    for (const nlohmann::ordered_json& output : document.cell(0).outputs) show(output);
  });
  QCoreApplication::processEvents();  // drops what was to be drawn for blocks that are gone
}
