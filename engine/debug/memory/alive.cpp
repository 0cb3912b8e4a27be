// Who held what at a moment.
#include <algorithm>
#include <unordered_map>

#include "engine/debug/memory/memory.h"

namespace tapedeck::debug {
namespace {

using protocol::MemoryHolder;

bool covers(std::uint32_t from, std::uint32_t to, std::uint32_t record) {
  return record == 0 ? to == 0 : from <= record && (to == 0 || to > record);
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(units); ++unit) value /= 1000;
  char text[32];
  const int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f %s", digits, value, units[unit]);
  return text;
}

std::vector<AliveStorage> alive_at(const MemoryIndex& index, const Recorder& recorder, std::uint32_t record,
                                   const CancelFlag* cancel) {
  std::vector<AliveStorage> alive;
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (std::size_t place = 0; place < index.lives().size(); ++place) {
    const StorageLife& life = index.lives()[place];
    if (record != 0 && life.counts_from() > record) continue;
    if (!covers(life.counts_from(), index.gone(life), record)) continue;
    places.emplace(life.root, alive.size());
    AliveStorage storage;
    storage.life = life;
    storage.place = place;
    storage.borrowed = recorder.memory().size(life.root, life.bytes).borrowed;
    alive.push_back(storage);
  }
  check_cancelled(cancel);
  const TensorTable& table = recorder.trace().tensors();
  std::vector<std::uint64_t> kept;
  for (const TapeLife& tape : index.tapes()) {
    if (tape.first > record && record != 0) continue;
    if (!covers(tape.first, tape.ended, record)) continue;
    check_cancelled(cancel);
    for (const TapeNode& node : tape.nodes) {
      if (!covers(node.record, node.released, record)) continue;
      index.kept_of(node.record, kept);
      for (const std::uint64_t tensor : kept) {
        const auto found = places.find(table.life(tensor).root);
        if (found == places.end()) continue;
        AliveStorage& storage = alive[found->second];
        if (storage.tape == 0) storage.node = node.record;
        if (storage.tape == 0) storage.tape = tape.id;
        storage.holder = MemoryHolder::tape;
      }
    }
  }
  for (const VariableValue& value : index.values()) {
    if (!covers(value.from, value.to, record)) continue;
    const auto found = places.find(value.root);
    if (found == places.end()) continue;
    alive[found->second].holder = MemoryHolder::variable;
    alive[found->second].value = &value;
  }
  return alive;
}

}  // namespace tapedeck::debug
