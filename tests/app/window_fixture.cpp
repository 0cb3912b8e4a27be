#include "tests/app/window_fixture.h"

#include <nlohmann/json.hpp>

namespace tapedeck::app {

QString writeNotebook(const QTemporaryDir& folder, const QString& name, const QStringList& cells) {
  nlohmann::json notebook = {{"nbformat", 4}, {"nbformat_minor", 5}, {"metadata", nlohmann::json::object()}};
  notebook["cells"] = nlohmann::json::array();
  for (int i = 0; i < cells.size(); ++i)
    notebook["cells"].push_back({{"cell_type", "code"},
                                 {"id", "cell-" + std::to_string(i)},
                                 {"metadata", nlohmann::json::object()},
                                 {"execution_count", nullptr},
                                 {"outputs", nlohmann::json::array()},
                                 {"source", cells[i].toStdString()}});
  QFile file(folder.filePath(name));
  if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write %s", qPrintable(file.fileName()));
  file.write(QByteArray::fromStdString(notebook.dump(1)));
  return file.fileName();
}

QString outputText(const MainWindow& window, int cell) {
  QString text;
  for (const auto& output : window.document()->cell(cell).outputs) {
    const auto add = [&](const nlohmann::ordered_json& value) {
      if (value.is_string()) text += QString::fromStdString(value.get<std::string>());
      if (value.is_array())
        for (const auto& line : value) text += QString::fromStdString(line.get<std::string>()) + "\n";
    };
    if (output.contains("text")) add(output["text"]);
    if (output.contains("data") && output["data"].contains("text/plain")) add(output["data"]["text/plain"]);
    if (output.contains("evalue")) add(output["ename"]), text += ": ", add(output["evalue"]), text += "\n";
    if (output.contains("traceback")) add(output["traceback"]);
  }
  return text;
}

}  // namespace tapedeck::app
