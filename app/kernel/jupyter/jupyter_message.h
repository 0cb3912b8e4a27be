// Messages of the Jupyter messaging protocol 5.3 as frames, signed and checked.
#pragma once

#include <QByteArray>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace tapedeck::app {

using Frames = std::vector<std::string>;

struct JupyterMessage {
  nlohmann::json header;    ///< an object with strings `msg_id` and `msg_type`
  nlohmann::json parent;    ///< an object; empty: unasked
  nlohmann::json metadata;  ///< an object
  nlohmann::json content;   ///< an object
  /// Of the content as it came, where that is more than max_output_nesting: what is deeper is null in it.
  int cutFrom = 0;
  std::string type() const { return header["msg_type"]; }
  std::string id() const { return header["msg_id"]; }
  std::string parentId() const;    ///< empty: none
  std::string parentType() const;  ///< empty: none
};

/// What unpack throws: says which frame is wrong, and how.
struct MessageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Makes and signs the messages of one client.
class JupyterPacker {
 public:
  explicit JupyterPacker(QByteArray key = {});
  JupyterMessage make(const std::string& type, nlohmann::json content,
                      nlohmann::json parent = nlohmann::json::object(),
                      nlohmann::json metadata = nlohmann::json::object());
  /// Delimiter, signature, header, parent, metadata, content.
  Frames pack(const JupyterMessage& message) const;
  /// Throws MessageError for anything but a message signed with the key; bytes that are not UTF-8 become
  /// U+FFFD, since a cell may print them. Identities before the delimiter and buffers at the end are left
  /// out.
  JupyterMessage unpack(const Frames& frames) const;

 private:
  std::string sign(const std::string* first) const;  ///< of four frames

  QByteArray key_;
  std::string session_;
  std::uint64_t count_ = 0;
};

/// An iopub message's content as nbformat output; null for what is not an output, or malformed. One that is
/// nested too deep for a notebook is replaced by a sentence that says so.
nlohmann::json outputOf(const JupyterMessage& message);

/// The sentence that replaces an output's data where they are nested that deep.
nlohmann::json depthNote(int nesting);

/// A string of an object, or `fallback` where it is missing or not a string.
std::string stringAt(const nlohmann::json& object, const char* name, const std::string& fallback = {});
int intAt(const nlohmann::json& object, const char* name, int fallback = 0);
bool boolAt(const nlohmann::json& object, const char* name, bool fallback = false);

}  // namespace tapedeck::app
