// Notebooks as text, for the tests.
#pragma once

#include <QApplication>
#include <QBuffer>
#include <QByteArray>
#include <QImage>
#include <QPainter>
#include <QWidget>
#include <nlohmann/json.hpp>

namespace tapedeck::app {

/// Gives the window the focus; the tests' display has no window manager that would.
inline void activate(QWidget* window) {
  window->activateWindow();
  QApplication::setActiveWindow(window);
  window->setFocus();
}

inline nlohmann::json codeCell(const std::string& id, const std::string& source,
                               const nlohmann::json& outputs = nlohmann::json::array(), int count = 0) {
  return {{"cell_type", "code"},
          {"id", id},
          {"metadata", nlohmann::json::object()},
          {"source", source},
          {"outputs", outputs},
          {"execution_count", count > 0 ? nlohmann::json(count) : nlohmann::json()}};
}

inline nlohmann::json markdownCell(const std::string& id, const std::string& source) {
  return {{"cell_type", "markdown"}, {"id", id}, {"metadata", nlohmann::json::object()}, {"source", source}};
}

inline QByteArray notebookOf(const nlohmann::json& cells) {
  const nlohmann::json notebook = {{"cells", cells.is_array() ? cells : nlohmann::json::array({cells})},
                                   {"metadata", nlohmann::json::object()},
                                   {"nbformat", 4},
                                   {"nbformat_minor", 5}};
  return QByteArray::fromStdString(notebook.dump());
}

inline nlohmann::json stream(const std::string& text, const std::string& name = "stdout") {
  return {{"output_type", "stream"}, {"name", name}, {"text", text}};
}

inline nlohmann::json display(const nlohmann::json& data) {
  return {{"output_type", "display_data"}, {"data", data}, {"metadata", nlohmann::json::object()}};
}

inline nlohmann::json result(int count, const nlohmann::json& data) {
  return {{"output_type", "execute_result"},
          {"data", data},
          {"metadata", nlohmann::json::object()},
          {"execution_count", count}};
}

/// A picture with a gradient and a curve, as base64 of the format.
inline std::string picture(int width, int height, const char* format) {
  QImage image(width, height, QImage::Format_RGB32);
  QPainter painter(&image);
  QLinearGradient gradient(0, 0, width, height);
  gradient.setColorAt(0, QColor("#f7fbff"));
  gradient.setColorAt(1, QColor("#6baed6"));
  painter.fillRect(image.rect(), gradient);
  painter.setPen(QPen(QColor("#d7301f"), 3));
  for (int x = 0; x + 8 < width; x += 8)
    painter.drawLine(x, height - x * height / width, x + 8, height - (x + 8) * height / width);
  painter.end();
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, format);
  return buffer.data().toBase64().toStdString();
}

}  // namespace tapedeck::app
