#include "app/kernel/jupyter/jupyter_message.h"

#include <QDateTime>
#include <QMessageAuthenticationCode>
#include <QString>
#include <QUuid>
#include <algorithm>
#include <limits>

#include "app/kernel/signature.h"
#include "engine/protocol/json_check.h"

namespace tapedeck::app {
namespace {

using nlohmann::json;

constexpr auto delimiter = "<IDS|MSG>";
constexpr const char* frameNames[] = {"header", "parent header", "metadata", "content"};

/// `nesting`: set where the text is nested deeper than an output may be; what is deeper is null.
json parseObject(const std::string& whole, const char* frame, int* nesting) {
  const int found = protocol::json_nesting(whole);
  const bool deep = found > protocol::max_output_nesting;
  if (deep) *nesting = found;
  const std::string cut =
      deep ? protocol::cut_json_nesting(whole, protocol::max_output_nesting) : std::string();
  const std::string& text = deep ? cut : whole;
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded())
    value = json::parse(QString::fromUtf8(text.data(), qsizetype(text.size())).toStdString(), nullptr, false);
  if (value.is_discarded()) throw MessageError(std::string("the ") + frame + " is not JSON");
  if (!value.is_object()) throw MessageError(std::string("the ") + frame + " is not a JSON object");
  return value;
}

/// nbformat's lists of lines as one string; anything else as it is.
json joined(const json& value) {
  if (!value.is_array() || value.empty()) return value;
  std::string text;
  for (const json& part : value) {
    if (!part.is_string()) return value;
    text += part.get_ref<const std::string&>();
  }
  return text;
}

json objectAt(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : json::object();
}

json mimeBundle(const json& content) {
  json data = objectAt(content, "data");
  for (auto& [type, value] : data.items())
    if (!type.ends_with("json")) value = joined(value);
  return data;
}

json displayOutput(const char* type, const JupyterMessage& message) {
  const json& content = message.content;
  json output = {
      {"output_type", type}, {"data", mimeBundle(content)}, {"metadata", objectAt(content, "metadata")}};
  if (message.cutFrom > 0) {
    output["data"] = depthNote(message.cutFrom);
    output["metadata"] = json::object();
  }
  const std::string display = stringAt(objectAt(content, "transient"), "display_id");
  if (!display.empty()) output["transient"] = {{"display_id", display}};
  return output;
}

json errorOutput(const json& content) {
  json traceback = json::array();
  if (const auto lines = content.find("traceback"); lines != content.end() && lines->is_array())
    for (const json& line : *lines)
      if (line.is_string()) traceback.push_back(line);
  return {{"output_type", "error"},
          {"ename", stringAt(content, "ename", "Error")},
          {"evalue", stringAt(content, "evalue")},
          {"traceback", traceback}};
}

}  // namespace

json depthNote(int nesting) {
  return {{"text/plain", "[This output is left out: its lists and objects are nested " +
                             std::to_string(nesting) + " deep. Up to " +
                             std::to_string(protocol::max_output_nesting) +
                             " levels can be shown and kept in a notebook.]"}};
}

std::string stringAt(const json& object, const char* name, const std::string& fallback) {
  if (!object.is_object()) return fallback;
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : fallback;
}

int intAt(const json& object, const char* name, int fallback) {
  if (!object.is_object()) return fallback;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return fallback;
  if (found->is_number_unsigned() &&
      found->get<std::uint64_t>() > std::uint64_t(std::numeric_limits<int>::max()))
    return fallback;
  const auto value = found->get<std::int64_t>();
  return value < std::numeric_limits<int>::min() ? fallback : int(value);
}

bool boolAt(const json& object, const char* name, bool fallback) {
  if (!object.is_object()) return fallback;
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

std::string JupyterMessage::parentId() const {
  return stringAt(parent, "msg_id");
}
std::string JupyterMessage::parentType() const {
  return stringAt(parent, "msg_type");
}

JupyterPacker::JupyterPacker(QByteArray key)
    : key_(std::move(key)), session_(QUuid::createUuid().toString(QUuid::WithoutBraces).toStdString()) {}

JupyterMessage JupyterPacker::make(const std::string& type, json content, json parent, json metadata) {
  JupyterMessage message;
  message.header = {{"msg_id", session_ + "_" + std::to_string(++count_)},
                    {"msg_type", type},
                    {"session", session_},
                    {"username", "tapedeck"},
                    {"date", QDateTime::currentDateTimeUtc().toString(Qt::ISODateWithMs).toStdString()},
                    {"version", "5.3"}};
  message.parent = std::move(parent);
  message.metadata = std::move(metadata);
  message.content = std::move(content);
  return message;
}

std::string JupyterPacker::sign(const std::string* first) const {
  if (key_.isEmpty()) return {};
  QMessageAuthenticationCode code(QCryptographicHash::Sha256, key_);
  for (int i = 0; i < 4; ++i) code.addData(first[i].data(), qsizetype(first[i].size()));
  return code.result().toHex().toStdString();
}

Frames JupyterPacker::pack(const JupyterMessage& message) const {
  // A cell's text is the user's: half of a surrogate pair in it must not throw.
  const auto text = [](const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  Frames frames = {delimiter,
                   {},
                   text(message.header),
                   text(message.parent),
                   text(message.metadata),
                   text(message.content)};
  frames[1] = sign(&frames[2]);
  return frames;
}

JupyterMessage JupyterPacker::unpack(const Frames& frames) const {
  const auto start = std::find(frames.begin(), frames.end(), delimiter);
  if (start == frames.end()) throw MessageError("no delimiter <IDS|MSG> among its frames");
  const auto count = frames.end() - start;
  if (count < 6)
    throw MessageError("only " + std::to_string(count - 1) + " frames after the delimiter, 5 are needed");
  if (!sameSignature(start[1], sign(&start[2]))) throw MessageError("the signature is wrong");
  JupyterMessage message;
  int unused = 0;
  message.header = parseObject(start[2], frameNames[0], &unused);
  message.parent = parseObject(start[3], frameNames[1], &unused);
  message.metadata = parseObject(start[4], frameNames[2], &unused);
  message.content = parseObject(start[5], frameNames[3], &message.cutFrom);
  for (const char* name : {"msg_id", "msg_type"})
    if (stringAt(message.header, name).empty())
      throw MessageError(std::string("the header has no string ") + name);
  return message;
}

json outputOf(const JupyterMessage& message) {
  const json& content = message.content;
  const std::string type = message.type();
  if (type == "stream") {
    const std::string name = stringAt(content, "name", "stdout");
    const auto text = content.find("text");
    if (text == content.end() || !text->is_string()) return nullptr;
    return {{"output_type", "stream"}, {"name", name == "stderr" ? "stderr" : "stdout"}, {"text", *text}};
  }
  if (type == "display_data") return displayOutput("display_data", message);
  if (type == "execute_result") {
    json output = displayOutput("execute_result", message);
    output["execution_count"] = intAt(content, "execution_count");
    return output;
  }
  if (type == "error") return errorOutput(content);
  return nullptr;
}

}  // namespace tapedeck::app
