// The Jupyter client's handling of what the session process sends.
#include <algorithm>
#include <functional>

#include "app/kernel/jupyter/jupyter_worker.h"

namespace tapedeck::app {
namespace {

using namespace events;
using nlohmann::json;

constexpr auto idleLimit =
    std::chrono::milliseconds(10000);  // after the reply, without any published message

/// What a cell that ends in "name?" wants shown comes as a payload of its reply.
void forEachPayload(const json& content, const std::function<void(const json&)>& use) {
  const auto payloads = content.find("payload");
  if (payloads == content.end() || !payloads->is_array()) return;
  for (const json& payload : *payloads)
    if (payload.is_object()) use(payload);
}

std::vector<std::string> strings(const json& content, const char* name) {
  std::vector<std::string> result;
  const auto list = content.find(name);
  if (list == content.end() || !list->is_array()) return result;
  for (const json& item : *list)
    if (item.is_string()) result.push_back(item);
  return result;
}

}  // namespace

void JupyterWorker::handle(Channel channel, const JupyterMessage& message) {
  if (channel == Channel::iopub) return handlePublished(message);
  if (channel == Channel::standardInput) {
    if (message.type() == "input_request") handleInputRequest(message);
    return;
  }
  if (channel == Channel::shell) handleReply(message);
}

void JupyterWorker::handleReply(const JupyterMessage& message) {
  const std::string type = message.type();
  const json& content = message.content;
  if (type == "execute_reply") return handleExecuteReply(message);
  if (type == "kernel_info_reply") {
    if (info_.is_null()) info_ = content;
    return becomeReady();
  }
  if (type == "complete_reply" && message.parentId() == completion_.first) {
    const int start = intAt(content, "cursor_start");
    outbox_.push(Completed{completion_.second, strings(content, "matches"), start,
                           std::max(start, intAt(content, "cursor_end", start))});
    completion_ = {};
  }
  if (type == "inspect_reply" && message.parentId() == inspection_.first) {
    const auto data = content.find("data");
    outbox_.push(
        Inspected{inspection_.second, data == content.end() ? std::string() : stringAt(*data, "text/plain")});
    inspection_ = {};
  }
}

void JupyterWorker::handleExecuteReply(const JupyterMessage& message) {
  if (!running_ || message.parentId() != running_->message || !running_->status.empty()) return;
  const std::string status = stringAt(message.content, "status", "error");
  running_->status = status == "ok" || status == "error" ? status : "aborted";
  running_->count = intAt(message.content, "execution_count", running_->count);
  running_->giveUp = now_ + idleLimit;
  if (std::string began = stringAt(message.metadata, "started"); !began.empty())
    running_->times["shell.execute_reply.started"] = std::move(began);
  running_->note("shell.execute_reply", message);
  forEachPayload(message.content, [&](const json& payload) {
    const std::string source = stringAt(payload, "source");
    if (source == "ask_exit" && !boolAt(payload, "keepkernel")) {
      exiting_ = true;
      outbox_.push(ExitAsked{});
    }
    const auto data = payload.find("data");
    if (source == "page" && data != payload.end() && data->is_object())
      outbox_.pushOutput(running_->cell, {{"output_type", "display_data"},
                                          {"data", message.cutFrom > 0 ? depthNote(message.cutFrom) : *data},
                                          {"metadata", json::object()}});
  });
  finishIfDone();
}

void JupyterWorker::handlePublished(const JupyterMessage& message) {
  if (!published_) {
    published_ = true;
    becomeReady();
  }
  if (running_) running_->giveUp = now_ + idleLimit;
  const std::string type = message.type();
  if (type == "status") return handleStatus(message);
  if (type == "update_display_data") {
    const auto transient = message.content.find("transient");
    const std::string display =
        transient == message.content.end() ? std::string() : stringAt(*transient, "display_id");
    JupyterMessage shown = message;
    shown.header["msg_type"] = "display_data";
    json output = outputOf(shown);
    if (!display.empty())
      outbox_.pushUpdate({display, std::move(output["data"]), std::move(output["metadata"])});
    return;
  }
  const std::string* cell = cellOf(message);
  if (!cell) return;  // another program's cell
  if (type == "execute_input") {
    const int count = intAt(message.content, "execution_count");
    if (running_ && running_->message == message.parentId()) {
      running_->count = count;
      running_->note("iopub.execute_input", message);
    }
    outbox_.push(Started{*cell, count});
  } else if (type == "clear_output") {
    outbox_.pushCleared(*cell, boolAt(message.content, "wait"));
  } else if (json output = outputOf(message); !output.is_null()) {
    outbox_.pushOutput(*cell, std::move(output));
  }
}

void JupyterWorker::handleStatus(const JupyterMessage& message) {
  const std::string state = stringAt(message.content, "execution_state");
  if (running_ && message.parentId() == running_->message) {
    if (state == "busy") running_->note("iopub.status.busy", message);
    if (state == "idle") running_->note("iopub.status.idle", message);
    if (state == "idle") running_->idle = true;
    if (running_->endsWithoutReply()) running_->giveUp = now_ + replyPatience;
    return finishIfDone();
  }
  // A cell of another program on the same session process.
  if (message.parentType() == "execute_request" && !cellOf(message))
    outbox_.push(BusyForOthers{state == "busy"});
}

void JupyterWorker::handleInputRequest(const JupyterMessage& message) {
  const std::string* cell = cellOf(message);
  if (!cell) return;
  inputParent_ = message.header;
  outbox_.push(
      InputRequested{*cell, stringAt(message.content, "prompt"), boolAt(message.content, "password")});
}

}  // namespace tapedeck::app
