#include "engine/debug/profile/views.h"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "engine/protocol/record_filter.h"
#include "engine/record/trace/scope.h"
#include "engine/tensor/device.h"

namespace tapedeck::debug {
namespace {

using protocol::ProfileBound;
using protocol::ProfileGroup;
using protocol::ProfileNode;
using protocol::ProfileOrder;
using protocol::ProfileRow;

std::string lowered(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

/// Whether every word of the filter occurs in what the row shows.
bool lets_through(const std::vector<std::string>& words, const ProfileRow& row, const ProfileTexts& texts,
                  const std::vector<std::string>& labels) {
  if (words.empty()) return true;
  std::string text = lowered(row.name + ' ' + row.file + ' ' + row.cell);
  const std::uint32_t execution =
      row.cell.empty() ? 0 : texts.execution(row.cell, static_cast<std::uint32_t>(row.slowest));
  if (execution != 0) text += ' ' + protocol::execution_label(execution);
  for (std::size_t i = 0; i + 1 < labels.size() && execution == 0; i += 2)
    if (!row.cell.empty() && labels[i] == row.cell) text += ' ' + lowered(labels[i + 1]);
  if (row.line != 0) text += " line " + std::to_string(row.line);
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return text.find(word) != std::string::npos; });
}

/// Rows of one group are of one key.
using RowKey = std::tuple<std::string, int, std::string, std::string, std::uint32_t>;

struct Gathered {
  ProfileRow row;
  Roof roof;
  std::int64_t largest = -1;  ///< self time of the op that the row is named after
};

RowKey key_of(const ProfileClass& of, const ProfileTexts& texts, ProfileGroup group) {
  if (group == ProfileGroup::op) return {of.op, static_cast<int>(of.role) + 8 * of.gpu, {}, {}, 0};
  if (group == ProfileGroup::scope) return {texts.scope(of.scope), 0, {}, {}, 0};
  const SourceLocation place = texts.location(of.location);
  return {{},
          0,
          place.cell,
          place.cell.empty() ? place.file : std::string(),
          group == ProfileGroup::line ? place.line : 0};
}

double mean(const ProfileRow& row) {
  const std::uint64_t timed = row.calls - row.pending - row.lost;
  return static_cast<double>(row.total_ns) / static_cast<double>(std::max<std::uint64_t>(1, timed));
}
double roof_share(const ProfileRow& row) {
  return row.self_ns > 0 ? row.roof_ns.value_or(0) / static_cast<double>(row.self_ns) : 0;
}

double measure(const ProfileRow& row, ProfileOrder order) {
  switch (order) {
    case ProfileOrder::self:
      return static_cast<double>(row.self_ns);
    case ProfileOrder::total:
      return static_cast<double>(row.total_ns);
    case ProfileOrder::calls:
      return static_cast<double>(row.calls);
    case ProfileOrder::mean:
      return mean(row);
    case ProfileOrder::max:
      return static_cast<double>(row.max_ns);
    case ProfileOrder::flops:
      return row.self_ns > 0 ? row.flops / static_cast<double>(row.self_ns) : 0;
    case ProfileOrder::roof:
      return roof_share(row);
    case ProfileOrder::name:
      break;
  }
  return 0;
}

auto name_of_row(const ProfileRow& row) {
  return std::tuple(row.cell, row.file, row.line, row.name, static_cast<int>(row.role));
}

std::vector<std::string> words_of(const std::string& filter) {
  std::istringstream stream(lowered(filter));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// A tree of paths, whose nodes add up what is below them.
struct Tree {
  struct Node {
    ProfileNode shown;
    std::map<RowKey, std::size_t> children;
  };
  std::vector<Node> nodes{1};

  std::size_t child(std::size_t parent, const ProfileNode& like) {
    const RowKey key{like.name + like.device.value_or(""), static_cast<int>(like.role) * 2 + like.op,
                     like.cell, like.file, like.line};
    const auto [found, is_new] = nodes[parent].children.try_emplace(key, nodes.size());
    const std::size_t at = found->second;
    if (is_new) {
      nodes.emplace_back();
      nodes.back().shown = like;
      nodes.back().shown.parent = parent;
    }
    return at;
  }
  void add(std::size_t at, const ClassSums& sums) {
    while (true) {
      ProfileNode& node = nodes[at].shown;
      node.calls += sums.calls;
      node.total_ns += sums.self;
      if (sums.max > node.max_ns || node.slowest == 0) {
        node.max_ns = sums.max;
        node.slowest = sums.slowest;
      }
      if (at == 0) return;
      at = node.parent;
    }
  }
};

std::size_t scope_node(Tree& tree, const std::string& scope) {
  std::size_t at = 0;
  for (std::size_t begin = 0; begin < scope.size();) {
    const std::size_t end = std::min(scope.find('/', begin), scope.size());
    ProfileNode part;
    part.name = scope.substr(begin, end - begin);
    if (!part.name.empty()) at = tree.child(at, part);
    begin = end + 1;
  }
  return at;
}

std::size_t line_node(Tree& tree, const SourceLocation& place) {
  ProfileNode part;
  part.cell = place.cell;
  part.file = place.cell.empty() ? place.file : std::string();
  const std::size_t cell = tree.child(0, part);
  part.line = place.line;
  return part.line == 0 ? cell : tree.child(cell, part);
}

}  // namespace

std::string device_text(std::uint8_t gpu) {
  return gpu == 0 ? std::string() : to_string(Device{DeviceKind::gpu, static_cast<std::uint8_t>(gpu - 1)});
}

ProfileTexts::ProfileTexts()
    : scope(scope_text), execution([](const std::string&, std::uint32_t) { return 0u; }) {}

double Roof::ns() const {
  return std::max(compute_ns, memory_ns);
}
void Roof::add(const Roof& other) {
  compute_ns += other.compute_ns;
  memory_ns += other.memory_ns;
  overhead_ns += other.overhead_ns;
}
ProfileBound Roof::bound() const {
  if (compute_ns <= 0 && memory_ns <= 0 && overhead_ns <= 0) return ProfileBound::unknown;
  if (overhead_ns > ns()) return ProfileBound::overhead;
  return compute_ns > memory_ns ? ProfileBound::compute : ProfileBound::memory;
}

Roof roof_of(double flops, double bytes, bool wide, const protocol::Peaks& peaks) {
  if (!peaks.known) return {};
  const double rate = bytes <= peaks.cache_bytes ? peaks.cache_gbytes : peaks.memory_gbytes;
  return {flops / (wide ? peaks.float64_gflops : peaks.float32_gflops), bytes / rate, peaks.overhead_ns};
}

Roof roof_of(const ClassSums& sums, bool wide, const protocol::Peaks& peaks) {
  if (sums.calls == 0) return {};
  const auto calls = static_cast<double>(sums.calls);
  const Roof one = roof_of(sums.flops / calls, sums.bytes / calls, wide, peaks);
  return {one.compute_ns * calls, one.memory_ns * calls, one.overhead_ns * calls};
}

std::vector<ProfileRow> profile_rows(const Sums& sums, const ProfileClasses& classes,
                                     const ProfileTexts& texts, const protocol::Peaks& peaks,
                                     const protocol::GetProfileTotals& asked) {
  std::map<RowKey, Gathered> gathered;
  for (std::size_t i = 0; i < sums.kinds.size(); ++i) {
    const ProfileClass& of = classes.at(sums.kinds[i]);
    const ClassSums& one = sums.sums[i];
    if (one.calls == 0) continue;
    const RowKey key = key_of(of, texts, asked.group);
    Gathered& into = gathered[key];
    ProfileRow& row = into.row;
    if (asked.group == ProfileGroup::op || asked.group == ProfileGroup::scope) row.name = std::get<0>(key);
    std::tie(row.cell, row.file, row.line) = std::tie(std::get<2>(key), std::get<3>(key), std::get<4>(key));
    if (one.self > into.largest) {
      into.largest = one.self;
      row.role = of.role;
      if (asked.group == ProfileGroup::line || asked.group == ProfileGroup::cell) row.name = of.op;
    }
    if (asked.group == ProfileGroup::op) row.device = protocol::if_there(device_text(of.gpu));
    row.calls += one.calls;
    row.pending += one.pending;
    row.lost += one.lost;
    row.total_ns += of.inner && asked.group != ProfileGroup::op ? one.self : one.total;
    row.self_ns += one.self;
    row.flops += one.flops;
    row.bytes += one.bytes;
    if (one.max > row.max_ns || row.slowest == 0) {
      row.max_ns = one.max;
      row.slowest = one.slowest;
    }
    // The peaks are the host's: of GPUs nothing was measured.
    if (!of.inner && of.gpu == 0) into.roof.add(roof_of(one, of.wide, peaks));
  }
  const std::vector<std::string> words = words_of(asked.filter);
  std::vector<ProfileRow> rows;
  for (auto& [key, one] : gathered) {
    one.row.roof_ns = protocol::if_there(one.roof.ns());
    one.row.bound = one.roof.bound();
    if (lets_through(words, one.row, texts, asked.label_cells)) rows.push_back(std::move(one.row));
  }
  const bool by_name = asked.order == ProfileOrder::name;
  std::stable_sort(rows.begin(), rows.end(), [&](const ProfileRow& a, const ProfileRow& b) {
    if (by_name) return asked.ascending ? name_of_row(a) < name_of_row(b) : name_of_row(b) < name_of_row(a);
    const double x = measure(a, asked.order), y = measure(b, asked.order);
    return asked.ascending ? x < y : y < x;
  });
  return rows;
}

std::vector<ProfileNode> profile_flame(const Sums& sums, const ProfileClasses& classes,
                                       const ProfileTexts& texts, bool by_line, std::size_t most) {
  Tree tree;
  for (std::size_t i = 0; i < sums.kinds.size(); ++i) {
    const ProfileClass& of = classes.at(sums.kinds[i]);
    const ClassSums& one = sums.sums[i];
    if (one.self <= 0) continue;
    const std::size_t at =
        by_line ? line_node(tree, texts.location(of.location)) : scope_node(tree, texts.scope(of.scope));
    ProfileNode leaf;
    leaf.name = of.op;
    leaf.role = of.role;
    leaf.op = true;
    leaf.device = protocol::if_there(device_text(of.gpu));
    tree.add(tree.child(at, leaf), one);
  }
  // Those that take the most, for a child never takes more than its parent.
  std::vector<std::size_t> order(tree.nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tree.nodes[a].shown.total_ns > tree.nodes[b].shown.total_ns;
  });
  std::vector<bool> kept(tree.nodes.size(), false);
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    for (std::size_t at = order[i]; !kept[at]; at = tree.nodes[at].shown.parent) kept[at] = true;
  kept[0] = true;
  std::vector<ProfileNode> shown;
  std::vector<std::pair<std::size_t, std::size_t>> left{{0, 0}};  // a node, and its parent's place
  while (!left.empty()) {
    const auto [at, parent] = left.back();
    left.pop_back();
    const std::size_t place = shown.size();
    shown.push_back(tree.nodes[at].shown);
    shown.back().parent = parent;
    std::vector<std::size_t> children;
    ProfileNode rest;
    for (const auto& [key, child] : tree.nodes[at].children) {
      if (kept[child]) {
        children.push_back(child);
        continue;
      }
      const ProfileNode& small = tree.nodes[child].shown;
      rest.calls += small.calls;
      rest.total_ns += small.total_ns;
      if (small.max_ns > rest.max_ns || rest.slowest == 0) {
        rest.max_ns = small.max_ns;
        rest.slowest = small.slowest;
      }
    }
    if (rest.calls > 0) {
      rest.name = "…";
      rest.op = true;
      rest.parent = place;
      shown.push_back(rest);
    }
    std::stable_sort(children.begin(), children.end(), [&](std::size_t a, std::size_t b) {
      return tree.nodes[a].shown.total_ns < tree.nodes[b].shown.total_ns;
    });
    for (const std::size_t child : children) left.emplace_back(child, place);
  }
  return shown;
}

std::uint16_t busiest_thread(const Sums& sums) {
  std::uint16_t busiest = 0;
  std::int64_t most = -1;
  for (const auto& [thread, one] : sums.threads) {
    std::int64_t time = 0;
    for (const std::int64_t part : one.by_role) time += part;
    if (time <= most) continue;
    most = time;
    busiest = thread;
  }
  return busiest;
}

std::vector<protocol::ProfileGap> profile_gaps(const Sums& sums, const ProfileClasses& classes,
                                               const ProfileTexts& texts, std::uint16_t thread) {
  std::vector<protocol::ProfileGap> gaps;
  const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint64_t count, std::int64_t total,
                       std::int64_t max, std::uint32_t record) {
    protocol::ProfileGap gap;
    gap.thread = thread;
    const SourceLocation before = texts.location(from), after = texts.location(to);
    std::tie(gap.from_cell, gap.from_file) = std::tie(before.cell, before.file);
    std::tie(gap.to_cell, gap.to_file) = std::tie(after.cell, after.file);
    gap.from_line = protocol::if_there(before.line);
    gap.to_line = protocol::if_there(after.line);
    gap.count = count;
    gap.total_ns = total;
    gap.max_ns = max;
    gap.record = record;
    gaps.push_back(std::move(gap));
  };
  for (const auto& [key, one] : sums.gaps)
    if (key.thread == thread) add(key.from, key.to, one.count, one.total, one.max, one.record);
  for (std::size_t i = 0; i < sums.kinds.size(); ++i) {
    const ProfileClass& of = classes.at(sums.kinds[i]);
    const ClassSums& one = sums.sums[i];
    if (of.user_gradient && one.self > 0)
      add(of.location, of.location, one.calls, one.self, one.max, one.slowest);
  }
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return gaps;
}

}  // namespace tapedeck::debug
