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
constexpr std::size_t keptText = std::size_t{32} << 20;  // of the beginning, and of the end
constexpr std::size_t deliveredText = std::size_t{2} << 20;
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
  if (head_.empty()) refill();
  std::size_t cut = boundary(head_, std::min(limit, head_.size()));
  if (cut == 0) cut = std::min(std::max(limit, std::size_t{4}), head_.size());
  std::string piece = head_.substr(0, cut);
  head_.erase(0, cut);
  if (head_.empty()) refill();
  return piece;
}

void StreamText::refill() {
  if (leftOut_ > 0)
    head_ = "\n[… " + QLocale(QLocale::English).toString(qulonglong(leftOut_)).toStdString() +
            " bytes of output left out: more came at once than the window could take …]\n";
  leftOut_ = 0;
  head_ += tail_;
  tail_.clear();
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

Clock::time_point EventOutbox::flush(Clock::time_point now) {
  constexpr auto never = std::chrono::hours(1);
  if (items_.empty() || underway_ >= mostUnderway) return now + never;
  if (now - last_ < interval) return last_ + interval;
  last_ = now;
  std::vector<Event> batch;
  std::size_t room = deliveredText;
  while (!items_.empty() && room > 0) {
    Item& item = items_.front();
    if (item.stream) {
      std::string text = item.text.take(room);
      room -= std::min(room, text.size());
      std::get<Output>(item.event).output["text"] = std::move(text);
      if (!item.text.empty()) {
        batch.push_back(item.event);
        break;
      }
    }
    batch.push_back(std::move(item.event));
    items_.pop_front();
  }
  // What a later output clears has been sent.
  std::erase_if(clearsOnNextOutput_, [this](const std::string& cell) {
    return std::none_of(items_.begin(), items_.end(), [&](const Item& item) {
      const auto* cleared = std::get_if<Cleared>(&item.event);
      return cleared != nullptr && cleared->cell == cell;
    });
  });
  ++underway_;
  deliver_(std::move(batch));
  return items_.empty() ? now + never : now + interval;
}

}  // namespace tapedeck::app
