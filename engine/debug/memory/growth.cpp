// The rule for memory that grows: results of a line that stay alive from each turn of the program's loop.
#include <algorithm>
#include <map>
#include <set>

#include "engine/debug/memory/memory.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t fewest_turns = 5;
constexpr std::uint64_t least_growth = 64'000;  // bytes in all: less is not worth a report
constexpr std::size_t most_storages = 200'000;  // the newest: older ones are as many of the same
constexpr std::size_t most_named = 8;
constexpr std::size_t most_growths = 5;

/// Storages that one op of one line made and that are still there.
struct Line {
  const OpDef* op = nullptr;
  std::uint32_t location = 0;
  std::uint64_t bytes = 0;
  std::vector<const AliveStorage*> storages;  ///< in the order of birth
};

struct Growing {
  std::uint32_t until = 0;  ///< the moment that is looked at, a record; 0: now
  const char* turn = "";
  std::uint64_t turns = 0, bytes = 0, total = 0;
  std::vector<const Line*> lines;  ///< the largest first
  std::uint64_t held_by_tapes = 0, results = 0;
};

std::vector<Line> lines_of(const std::vector<AliveStorage>& alive, const Recorder& recorder) {
  std::map<std::pair<std::uint32_t, const OpDef*>, Line> lines;
  const std::size_t from = alive.size() - std::min(alive.size(), most_storages);
  for (std::size_t i = from; i < alive.size(); ++i) {
    const AliveStorage& storage = alive[i];
    if (storage.borrowed || storage.value) continue;
    const std::uint32_t maker = recorder.trace().tensors().get(storage.life.root).producer();
    if (maker == 0) continue;
    recorder.trace().glance(maker, maker, [&](const RecordGlance& glance) {
      if (glance.number != maker) return;
      Line& line = lines[{glance.head.location, glance.head.op}];
      line.op = glance.head.op;
      line.location = glance.head.location;
      line.bytes += storage.life.bytes;
      line.storages.push_back(&storage);
    });
  }
  std::vector<Line> found;
  for (auto& [key, line] : lines)
    if (line.storages.size() >= fewest_turns) found.push_back(std::move(line));
  std::sort(found.begin(), found.end(), [](const Line& a, const Line& b) { return a.bytes > b.bytes; });
  if (found.size() > 64) found.resize(64);
  return found;
}

/// How many turns (they end at the records of `ends`, up to the last one) there were since the line's first
/// result that is there, where nearly each of them left one; 0: not so.
std::size_t turns_of(const Line& line, const std::vector<std::uint32_t>& ends, std::uint32_t last) {
  const std::uint32_t first = line.storages.front()->life.born;
  const auto begin = std::lower_bound(ends.begin(), ends.end(), first);
  const auto end = std::upper_bound(begin, ends.end(), last);
  const auto turns = static_cast<std::size_t>(end - begin);
  if (turns < fewest_turns) return 0;
  std::set<std::ptrdiff_t> left;
  for (const AliveStorage* storage : line.storages)
    left.insert(std::lower_bound(begin, end, storage->life.born) - begin);
  const bool in_last = left.contains(static_cast<std::ptrdiff_t>(turns) - 1);
  return in_last && left.size() * 10 >= turns * 8 ? turns : 0;
}

/// Shows the records [from, to] that are the line's op.
template <class Visit>
void visit_runs(const Line& line, const Recorder& recorder, std::uint32_t from, std::uint32_t to,
                const CancelFlag* cancel, Visit&& visit) {
  constexpr std::uint32_t at_once = 4096;
  while (from <= to) {
    check_cancelled(cancel);
    const std::uint32_t next =
        recorder.trace().glance(from, std::min(to, from + at_once - 1), [&](const RecordGlance& glance) {
          const RecordHead& head = glance.head;
          if (head.location == line.location && head.op == line.op && head.kind == EventKind::op)
            visit(glance);
        });
    if (next <= from) return;
    from = next;
  }
}

/// Whether it holds the newest few alone, as a ring does: what came before the oldest that is there went
/// later than that came.
bool is_bounded(const Line& line, const Recorder& recorder, const MemoryIndex& index,
                const CancelFlag* cancel) {
  const std::uint32_t first = line.storages.front()->life.born;
  const std::uint32_t span = line.storages.back()->life.born - first;
  const std::uint32_t from = std::max(index.first(), first - std::min(first, span));
  std::uint32_t gone = 0;
  if (first > from)
    visit_runs(line, recorder, from, first - 1, cancel, [&](const RecordGlance& glance) {
      for (const std::uint64_t id : glance.outputs)
        if (id != 0) gone = recorder.trace().tensors().life(id).gone;
    });
  return gone > first;
}

/// How often the line's op ran since its first result that is there.
std::size_t runs_of(const Line& line, const Recorder& recorder, std::uint32_t last,
                    const CancelFlag* cancel) {
  std::size_t runs = 0;
  visit_runs(line, recorder, line.storages.front()->life.born, last, cancel,
             [&](const RecordGlance&) { ++runs; });
  return runs;
}

/// Of what grew and went, up to when.
std::string sentence_of(const Growing& growing) {
  const Line& line = *growing.lines.front();
  const bool past = growing.until != 0;
  std::string text = std::string("Memory ") + (past ? "grew" : "grows") + " by " + bytes_text(growing.bytes) +
                     " with each " + growing.turn;
  if (past) text += " until op " + std::to_string(growing.until);
  text += ": after " + std::to_string(growing.turns) + " of them " + std::to_string(growing.results) +
          " results, " + bytes_text(growing.total) + (past ? ", were there" : ", are still there") +
          ", most of " + (line.op ? line.op->name : "a custom gradient");
  if (const std::uint32_t number = location_of(line.location).line)
    text += " in line " + std::to_string(number);
  if (growing.held_by_tapes * 2 > growing.total)
    return text + (past ? ". Tapes held them." : ". Tapes hold them.");
  return text + ".";
}

protocol::MemoryGrowth describe_growth(const Growing& growing) {
  const Line& line = *growing.lines.front();
  const SourceLocation where = location_of(line.location);
  protocol::MemoryGrowth growth;
  growth.sentence = sentence_of(growing);
  growth.bytes = growing.bytes;
  growth.turns = growing.turns;
  growth.turn = growing.turn;
  growth.op = line.op ? line.op->name : "";
  growth.cell = where.cell;
  growth.file = where.file;
  growth.line = where.line;
  growth.record = line.storages.back()->life.born;
  std::set<std::uint64_t> tapes;
  const std::size_t from = line.storages.size() - std::min(line.storages.size(), most_named);
  for (std::size_t i = from; i < line.storages.size(); ++i) {
    growth.tensors.push_back(line.storages[i]->life.root);
    if (line.storages[i]->tape) tapes.insert(line.storages[i]->tape);
  }
  growth.tapes.assign(tapes.begin(), tapes.end());
  return growth;
}

/// Calls `visit` with each kind of turn with which something grows; `until`: a record, 0: now.
template <class Visit>
void find_growing(const MemoryIndex& index, const Recorder& recorder, std::uint32_t until,
                  const CancelFlag* cancel, Visit&& visit) {
  const std::vector<AliveStorage> alive = alive_at(index, recorder, until, cancel);
  const std::vector<Line> lines = lines_of(alive, recorder);
  const std::uint32_t last = until ? until : index.last();
  std::map<std::string, Growing> found;
  for (const Line& line : lines) {
    check_cancelled(cancel);
    if (is_bounded(line, recorder, index, cancel)) continue;
    const char* turn = "step";
    std::size_t turns = turns_of(line, index.steps(), last);
    if (!turns) turn = "gradient", turns = turns_of(line, index.gradients(), last);
    if (!turns) turn = "run of the cell", turns = turns_of(line, index.cells(), last);
    if (!turns) {
      turn = "run of the line";
      const std::size_t runs = runs_of(line, recorder, last, cancel);
      if (line.storages.size() * 10 < runs * 9) continue;
      turns = runs;
    }
    Growing& growing = found[turn];
    growing.until = until;
    growing.turn = turn;
    growing.turns = std::max<std::uint64_t>(growing.turns, turns);
    growing.total += line.bytes;
    growing.results += line.storages.size();
    growing.lines.push_back(&line);
    for (const AliveStorage* storage : line.storages)
      if (storage->tape) growing.held_by_tapes += storage->life.bytes;
  }
  for (auto& [turn, growing] : found) {
    if (growing.total < least_growth) continue;
    growing.bytes = growing.total / growing.turns;
    visit(growing);
  }
}

bool grows_more(const protocol::MemoryGrowth& a, const protocol::MemoryGrowth& b) {
  return a.bytes * a.turns > b.bytes * b.turns;
}

}  // namespace

std::vector<protocol::MemoryGrowth> find_growth(const MemoryIndex& index, const Recorder& recorder,
                                                const CancelFlag* cancel) {
  std::vector<protocol::MemoryGrowth> growth;
  find_growing(index, recorder, 0, cancel,
               [&](const Growing& growing) { growth.push_back(describe_growth(growing)); });
  std::sort(growth.begin(), growth.end(), grows_more);
  return growth;
}

std::vector<PastGrowth> find_past_growth(const MemoryIndex& index, const Recorder& recorder,
                                         std::uint32_t record, const CancelFlag* cancel) {
  std::vector<PastGrowth> past;
  find_growing(index, recorder, record, cancel, [&](const Growing& growing) {
    if (growing.total * 10 < index.at(record).sum()) return;
    PastGrowth one{describe_growth(growing), {}};
    for (const Line* line : growing.lines)
      for (const AliveStorage* storage : line->storages) one.lives.push_back(storage->place);
    past.push_back(std::move(one));
  });
  return past;
}

// The same line may have grown in several runs: report the latest.
void add_past_growth(const MemoryIndex& index, std::map<std::uint32_t, std::vector<PastGrowth>>& past,
                     std::vector<protocol::MemoryGrowth>& growth) {
  const auto is_told = [&](const protocol::MemoryGrowth& one) {
    return std::ranges::any_of(growth, [&](const protocol::MemoryGrowth& told) {
      return told.line == one.line && told.op == one.op && told.cell == one.cell && told.file == one.file;
    });
  };
  for (auto run = past.rbegin(); run != past.rend(); ++run) {
    for (const PastGrowth& one : run->second) {
      std::size_t gone = 0;
      std::uint32_t last = 0;
      for (const std::size_t place : one.lives)
        if (const std::uint32_t end = index.gone(index.lives()[place])) {
          ++gone;
          last = std::max(last, end);
        }
      if (gone * 10 < one.lives.size() * 8 || is_told(one.growth)) continue;
      growth.push_back(one.growth);
      growth.back().freed = last;
      growth.back().sentence += " They were freed after op " + std::to_string(last - 1) + ".";
    }
  }
  if (growth.size() > most_growths) growth.resize(most_growths);
}

}  // namespace tapedeck::debug
