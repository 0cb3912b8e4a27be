// Frames of a Jupyter message: unpacked, and made an output.
#include "app/kernel/jupyter/jupyter_message.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck::app;

void fuzz::parse(Bytes bytes) {
  // Frames end at a byte that no JSON has.
  Frames frames = {"identity", "<IDS|MSG>", ""};
  std::string_view rest = text_of(bytes);
  for (std::size_t end = 0; end != std::string_view::npos && frames.size() < 12;) {
    end = rest.find('\0');
    frames.emplace_back(rest.substr(0, end));
    if (end != std::string_view::npos) rest.remove_prefix(end + 1);
  }
  static const JupyterPacker packer;
  try {
    const JupyterMessage message = packer.unpack(frames);
    expect(!message.type().empty() && !message.id().empty(), "a message has a type and an id");
    const nlohmann::json output = outputOf(message);
    expect(output.is_null() || output.contains("output_type"), "an output says of what type it is");
    for (const char* name : {"execution_count", "cursor_start", "status", "wait"}) {
      intAt(message.content, name);
      boolAt(message.content, name);
      stringAt(message.content, name);
    }
    const JupyterMessage again = packer.unpack(packer.pack(message));
    expect(again.type() == message.type(), "a message that was packed is unpacked as it was");
  } catch (const MessageError& error) {
    expect(error.what()[0] != '\0', "a refusal says why");
  }
}
