#include "engine/debug/vjp/foreign_saved.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/debug/describe.h"
#include "engine/ops/core/foreign.h"

namespace tapedeck::debug {
namespace {

using protocol::VjpRole;

/// Of a list's arguments: a damaged trace file may name any number.
constexpr std::size_t most_saved = 500;

/// An input or an output of the forward op.
struct SavedPlace {
  VjpRole role = VjpRole::input;
  std::size_t index = 0;
};

class SavedReader {
 public:
  SavedReader(const Recorder& recorder, const RecordView& vjp, const RecordView& forward, bool kept,
              protocol::VjpParts& parts)
      : recorder_(recorder),
        forward_(forward),
        freed_(vjp.state == RecordState::done && !kept),
        parts_(parts) {
    op_ = forward.head.op && vjp.head.op == forward.head.op ? foreign_of(*forward.head.op) : nullptr;
  }

  /// "T self"
  void line(std::string_view text) {
    if (text.size() < 3 || text[1] != ' ' || ++lines_ > most_saved) return;
    const char kind = text[0];
    const std::string_view rest = text.substr(2);
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const std::string name(rest.substr(0, space));
    const std::string value(rest.substr(std::min(space + 1, rest.size())));
    if (kind == 'V') return add_text(name, value);
    const std::vector<SavedPlace> places = places_of(name);
    if (kind != 'L') return tensor(kind, name, places.empty() ? std::nullopt : std::optional(places[0]));
    for (std::size_t i = 0; i < std::min(value.size(), most_saved); ++i)
      tensor(value[i], name + "[" + std::to_string(i) + "]",
             i < places.size() ? std::optional(places[i]) : std::nullopt);
  }

 private:
  void add_text(const std::string& name, std::string value) {
    const bool known = std::ranges::any_of(parts_.symbols, [&](const protocol::VjpSymbol& one) {
      return one.role == VjpRole::attribute && one.symbol == name;
    });
    if (known) return;
    parts_.symbols.push_back(
        {VjpRole::attribute, protocol::if_there(name), 0, std::nullopt, std::move(value)});
  }

  void tensor(char kind, const std::string& name, const std::optional<SavedPlace>& place) {
    if (kind == 'N') return add_text(name, "None (saved)");
    std::string text = "saved as " + name;
    if (kind == 'H') text += ", packed by hooks of the program, which are not called for a look";
    if (kind == '?') text = "perhaps saved as " + name + " (this release of PyTorch does not say)";
    if (freed_) text += ", freed since";
    if (!place) return add_text(name, "a tensor, of which it is not known whose value it is, " + text);
    for (protocol::VjpSymbol& symbol : parts_.symbols)
      if (symbol.role == place->role && symbol.index == place->index) {
        symbol.text = symbol.text ? *symbol.text + ", " + text : text;
        return;
      }
    const TensorIds& ids = place->role == VjpRole::output ? forward_.outputs : forward_.inputs;
    parts_.symbols.push_back({place->role, std::nullopt, static_cast<std::uint32_t>(place->index),
                              protocol::if_there(tensor_info(recorder_, ids[place->index], true)), text});
  }

  /// Of an argument or a result: "self", "indices"; "result", "result1".
  std::vector<SavedPlace> places_of(const std::string& name) const {
    if (!op_) return {};
    std::vector<SavedPlace> places = argument_places(name);
    if (!places.empty()) return places;
    for (std::size_t i = 0; i < op_->results.size() && i < forward_.outputs.size(); ++i)
      if (op_->results[i].name == name && !name.empty()) return {{VjpRole::output, i}};
    if (!name.starts_with("result")) return {};
    std::size_t place = 0;
    const char* end = name.data() + name.size();
    if (name.size() > 6 && std::from_chars(name.data() + 6, end, place).ptr != end) return {};
    if (place >= forward_.outputs.size()) return {};
    return {{VjpRole::output, place}};
  }

  std::vector<SavedPlace> argument_places(const std::string& name) const {
    const Attributes& attributes = forward_.head.attributes;
    std::size_t at = 0, list = 0;
    for (const ForeignValue& argument : op_->arguments) {
      if (!argument.is_tensor) continue;
      std::size_t count = 1;
      if (argument.is_list) {
        const std::size_t place = op_->row->attributes.size() + 1 + list++;
        const auto* length =
            place < attributes.size() ? std::get_if<std::int64_t>(&attributes[place]) : nullptr;
        count = length ? static_cast<std::size_t>(std::max<std::int64_t>(*length, 0)) : 0;
      }
      if (at > forward_.inputs.size() || count > forward_.inputs.size() - at) return {};
      if (argument.name == name) {
        std::vector<SavedPlace> places;
        for (std::size_t i = 0; i < count; ++i) places.push_back({VjpRole::input, at + i});
        return places;
      }
      at += count;
    }
    return {};
  }

  const Recorder& recorder_;
  const RecordView& forward_;
  const bool freed_;
  protocol::VjpParts& parts_;
  const ForeignOp* op_ = nullptr;
  std::size_t lines_ = 0;
};

}  // namespace

void add_saved(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
               protocol::VjpParts& parts) {
  const Attributes& attributes = vjp.head.attributes;
  const auto* lines = attributes.size() == 2 ? std::get_if<std::string>(&attributes[0]) : nullptr;
  const auto* kept = lines ? std::get_if<bool>(&attributes[1]) : nullptr;
  if (!kept) return;
  SavedReader reader(recorder, vjp, forward, *kept, parts);
  std::string_view rest = *lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    reader.line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace tapedeck::debug
