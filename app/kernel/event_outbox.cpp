#include "app/kernel/event_outbox.h"

#include <QLocale>
#include <algorithm>
#include <utility>

#include "engine/protocol/limits.h"

namespace tapedeck::app {
namespace {

using namespace events;

constexpr auto interval = std::chrono::milliseconds(33);
constexpr int mostUnderway = 2;
constexpr std::size_t keptText = std::size_t{512} * 1024;  // of the beginning, and of the end
constexpr double burst = 1024.0 * 1024;
constexpr double refillPerSecond = 128.0 * 1024;
constexpr std::size_t leastText = 4096;
constexpr std::size_t mostSeparateItems = 256;

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// The nearest position at or before `at` where a character of UTF-8 begins.
std::size_t boundary(const std::string& text, std::size_t at) {
  while (at > 0 && at < text.size() && continues(text[at])) --at;
  return at;
}

/// About what it takes in memory and in the file. As deep as an output may be nested.
std::size_t bytesIn(const nlohmann::json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size();
  std::size_t bytes = sizeof(value);
  if (value.is_object())
    for (const auto& [key, member] : value.items()) bytes += key.size() + bytesIn(member);
  else if (value.is_array())
    for (const auto& element : value) bytes += bytesIn(element);
  return bytes;
}

}  // namespace

void StreamText::append(const std::string& text) {
  std::size_t used = 0;
  if (tail_.empty()) {
    used = boundary(text, std::min(text.size(), keptText - std::min(keptText, head_.size())));
    head_.append(text, 0, used);
  }
  tail_.append(text, used);
  if (tail_.size() > 4 * keptText) {
    const std::size_t cut = boundary(tail_, tail_.size() - 2 * keptText);
    leftOut_ += cut;
    tail_.erase(0, cut);
  }
}

std::string StreamText::take(std::size_t limit) {
  if (leftOut_ == 0 && head_.size() + tail_.size() <= limit) return std::move(head_) + tail_;
  if (leftOut_ == 0) {
    tail_ = head_ + tail_;
    head_.clear();
  }
  std::string& first = head_.empty() ? tail_ : head_;
  const std::string beginning = first.substr(0, boundary(first, std::min(limit / 2, first.size())));
  std::size_t from = boundary(tail_, tail_.size() - std::min(limit / 2, tail_.size()));
  if (head_.empty()) from = std::max(from, beginning.size());
  const std::size_t left =
      leftOut_ + (head_.empty() ? from - beginning.size() : head_.size() - beginning.size() + from);
  const std::string note = "\n[… " + QLocale(QLocale::English).toString(qulonglong(left)).toStdString() +
                           " bytes of output left out: more than can be shown …]\n";
  return beginning + note + tail_.substr(from);
}

void EventOutbox::push(Event event) {
  items_.push_back({std::move(event), {}, false});
}

EventOutbox::Item* EventOutbox::joinableStream(const std::string& cell, const std::string& name) {
  // Beyond a good number of items order between the two streams matters less than an end to their growth.
  const std::size_t depth = items_.size() > mostSeparateItems ? items_.size() : 1;
  for (std::size_t i = 0; i < std::min(depth, items_.size()); ++i) {
    Item& item = items_[items_.size() - 1 - i];
    if (!item.stream) return nullptr;
    const auto& output = std::get<Output>(item.event);
    if (output.cell != cell) return nullptr;
    if (output.output["name"] == name) return &item;
  }
  return nullptr;
}

void EventOutbox::begin(const std::string& cell) {
  rooms_.erase(cell);
}

bool EventOutbox::hasRoom(const std::string& cell, const nlohmann::json& output) {
  Room& room = rooms_[cell];
  const std::size_t bytes = bytesIn(output);
  if (room.outputs < protocol::max_cell_outputs &&
      bytes <= protocol::max_cell_output_bytes - std::min(room.bytes, protocol::max_cell_output_bytes)) {
    ++room.outputs;
    room.bytes += bytes;
    return true;
  }
  // How a cell failed is shown whatever it displayed before.
  const bool error = output["output_type"] == "error" && bytes <= protocol::max_cell_output_bytes;
  return error && !std::exchange(room.errorBeyond, true);
}

void EventOutbox::leaveOut(const std::string& cell) {
  // From the newest on: it is among the last.
  for (auto item = items_.rbegin(); item != items_.rend(); ++item)
    if (auto* earlier = std::get_if<LeftOut>(&item->event); earlier && earlier->cell == cell) {
      ++earlier->count;
      return;
    }
  push(LeftOut{cell, 1});
}

void EventOutbox::pushOutput(const std::string& cell, nlohmann::json output) {
  if (clearsOnNextOutput_.erase(cell)) eraseOutputsBeforeClear(cell);
  if (const auto room = rooms_.find(cell); room != rooms_.end() && room->second.clearsOnNext)
    rooms_.erase(room);
  if (output["output_type"] != "stream") {
    if (!hasRoom(cell, output)) return leaveOut(cell);
    return push(Output{cell, std::move(output)});
  }
  const std::string text = std::move(output["text"].get_ref<std::string&>());
  if (text.empty()) return;
  Item* item = joinableStream(cell, output["name"]);
  if (!item) {
    output["text"] = "";
    items_.push_back({Output{cell, std::move(output)}, {}, true});
    item = &items_.back();
  }
  item->text.append(text);
}

void EventOutbox::pushCleared(const std::string& cell, bool wait) {
  push(Cleared{cell, wait});
  if (wait) {
    clearsOnNextOutput_.insert(cell);
    rooms_[cell].clearsOnNext = true;
  } else {
    eraseOutputsBeforeClear(cell);
    rooms_.erase(cell);
  }
}

void EventOutbox::eraseOutputsBeforeClear(const std::string& cell) {
  bool behindClear = true;
  for (auto item = items_.rbegin(); item != items_.rend();) {
    const auto* output = std::get_if<Output>(&item->event);
    const auto* leftOut = std::get_if<LeftOut>(&item->event);
    const auto* cleared = std::get_if<Cleared>(&item->event);
    const bool isClear = cleared && cleared->cell == cell;
    const bool ofCell = (output && output->cell == cell) || (leftOut && leftOut->cell == cell);
    if (!behindClear && (ofCell || isClear)) {
      item = std::make_reverse_iterator(items_.erase(std::next(item).base()));
    } else {
      if (isClear) behindClear = false;
      ++item;
    }
  }
}

void EventOutbox::pushUpdate(DisplayUpdated update) {
  std::erase_if(items_, [&](const Item& item) {
    const auto* earlier = std::get_if<DisplayUpdated>(&item.event);
    return earlier && earlier->display == update.display;
  });
  push(std::move(update));
}

void EventOutbox::taken() {
  underway_ = std::max(0, underway_ - 1);
}

std::size_t EventOutbox::allowance(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - refilled_).count();
  refilled_ = now;
  tokens_ = std::min(burst, tokens_ + seconds * refillPerSecond);
  return std::max(leastText, std::size_t(std::max(0.0, tokens_)));
}

Clock::time_point EventOutbox::flush(Clock::time_point now) {
  constexpr auto never = std::chrono::hours(1);
  if (items_.empty() || underway_ >= mostUnderway) return now + never;
  if (now - last_ < interval) return last_ + interval;
  last_ = now;
  std::vector<Event> batch;
  for (Item& item : items_) {
    if (item.stream) {
      std::string text = item.text.take(allowance(now));
      tokens_ -= double(text.size());
      std::get<Output>(item.event).output["text"] = std::move(text);
    }
    batch.push_back(std::move(item.event));
  }
  items_.clear();
  clearsOnNextOutput_.clear();  // what a later output clears has been sent
  ++underway_;
  deliver_(std::move(batch));
  return now + never;
}

}  // namespace tapedeck::app
