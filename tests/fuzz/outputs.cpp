// A cell's output as a notebook or a session gives it (JSON): kept in a document, and shown.
#include "app/notebook/document/document.h"
#include "app/notebook/document/json_text.h"
#include "app/notebook/output/output_factory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/window.h"

using namespace tapedeck::app;

void fuzz::parse(Bytes bytes) {
  nlohmann::json output;
  try {
    output = nlohmann::json::parse(bytes.begin(), bytes.end());
    std::string notebook = R"({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": 1, "outputs": [)";
    Document document;
    document.parse(QByteArray::fromStdString(notebook.append(text_of(bytes)) + "]}]}"), "a.ipynb");
    if (document.cellCount() == 0) return;
    const QString cell = document.cell(0).id;
    document.appendOutput(cell, output);
    if (output.is_object() && output.contains("data") && output["data"].is_object())
      document.updateDisplay("d", output["data"], nlohmann::json::object());
    Document again;
    again.parse(document.serialize(), "a.ipynb");
    expect(again.cellCount() == document.cellCount(), "what is written can be read");
    for (const nlohmann::ordered_json& each : document.cell(0).outputs) {
      const std::unique_ptr<Block> block(makeOutputBlock(each, theme(), nullptr));
      block->resize(600, std::min(block->heightFor(600), 4000));
      block->arrange();
    }
  } catch (const NotebookError&) {
  } catch (const nlohmann::json::exception&) {
    expect(output.is_null(), "only text that is no JSON is refused as that");
  }
  QCoreApplication::processEvents();  // drops what was to be drawn for blocks that are gone
}
