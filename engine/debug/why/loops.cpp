#include "engine/debug/why/loops.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t longest_round = 64, least_rounds = 3;
/// A round that makes more of it than this share is the place to look at, not the loop.
constexpr double most_of_one_round = 0.5;

/// The rounds of that length from `first` on, at least two of them.
std::size_t rounds_from(const std::vector<OnWay>& way, std::size_t first, std::size_t length) {
  std::size_t same = 0;
  while (first + same + length < way.size() && way[first + same].same_as(way[first + same + length])) ++same;
  return 1 + same / length;
}

Loop measured_loop(const std::vector<OnWay>& way, std::size_t first, std::size_t length, std::size_t rounds) {
  Loop loop{first, length, rounds};
  for (std::size_t round = 0; round < rounds; ++round) {
    double gain = 0;
    for (std::size_t i = 0; i < length; ++i) gain += way[first + round * length + i].log_gain;
    loop.log_gain += gain;
    loop.least_round = round == 0 ? gain : std::min(loop.least_round, gain);
    loop.most_round = round == 0 ? gain : std::max(loop.most_round, gain);
  }
  return loop;
}

/// How much each op of a round does in all rounds.
std::vector<double> gains_of_round(const std::vector<OnWay>& way, const Loop& loop) {
  std::vector<double> gains(loop.length);
  for (std::size_t i = 0; i < loop.length * loop.rounds; ++i)
    gains[i % loop.length] += way[loop.first + i].log_gain;
  return gains;
}

}  // namespace

double Loop::each() const {
  return std::exp(log_gain / static_cast<double>(rounds));
}

std::vector<Loop> loops_of(const std::vector<OnWay>& way, bool grew) {
  std::vector<Loop> all;
  for (std::size_t length = 1; length <= std::min(longest_round, way.size() / least_rounds); ++length)
    for (std::size_t first = 0; first + length * least_rounds <= way.size();) {
      const std::size_t rounds = rounds_from(way, first, length);
      if (rounds >= least_rounds) all.push_back(measured_loop(way, first, length, rounds));
      // What is left of a run of rounds begins no better one.
      first += rounds >= least_rounds ? (rounds - 1) * length + 1 : 1;
    }
  const auto towards = [grew](double gain) { return grew ? gain : -gain; };
  std::erase_if(all, [&](const Loop& loop) {
    const double one = std::max(towards(loop.most_round), towards(loop.least_round));
    return !(towards(loop.log_gain) > 0) || one > most_of_one_round * towards(loop.log_gain);
  });
  // Of those that do as much the one of shorter rounds is the loop; the others are several of its rounds.
  std::ranges::stable_sort(all, [&](const Loop& a, const Loop& b) {
    const double left = towards(a.log_gain), right = towards(b.log_gain);
    if (std::abs(left - right) > 0.05 * std::max(left, right)) return left > right;
    return a.length < b.length;
  });
  std::vector<Loop> chosen;
  for (const Loop& loop : all)
    if (std::ranges::none_of(
            chosen, [&](const Loop& other) { return loop.first < other.end() && other.first < loop.end(); }))
      chosen.push_back(loop);
  return chosen;
}

std::uint32_t called_at(Past& past, const RecordView& record) {
  if (!record.head.backward) return record.head.location;
  const RecordView* vjp = past.around(record, EventKind::vjp);
  const RecordView* forward = vjp ? past.record(vjp->head.forward) : nullptr;
  return forward ? forward->head.location : record.head.location;
}

std::string round_text(const std::vector<OnWay>& way, const Loop& loop) {
  const std::vector<double> gains = gains_of_round(way, loop);
  std::vector<std::size_t> order(loop.length);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return std::abs(gains[a]) > std::abs(gains[b]); });
  constexpr std::size_t most_ops_named = 4;
  std::vector<std::string> names;
  std::set<std::string> told;
  for (const std::size_t i : order)
    if (const std::string& name = way[loop.first + i].op; told.insert(name).second) names.push_back(name);
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_ops_named); ++i) {
    const bool last = i + 1 == names.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  return text + (names.size() > most_ops_named ? ", …" : "");
}

std::string rounds_text(const std::vector<OnWay>& way, const Loop& loop) {
  const std::vector<double> gains = gains_of_round(way, loop);
  const auto most =
      std::ranges::max_element(gains, {}, [&](double gain) { return loop.log_gain > 0 ? gain : -gain; });
  const std::string& op = way[loop.first + static_cast<std::size_t>(most - gains.begin())].op;
  const auto products = static_cast<std::size_t>(
      std::count_if(way.begin() + static_cast<std::ptrdiff_t>(loop.first),
                    way.begin() + static_cast<std::ptrdiff_t>(loop.first + loop.length),
                    [](const OnWay& each) { return each.op == "matmul" || each.op == "multiply"; }));
  // "Each" is said of a round: of a round with two products it would be wrong of one.
  const bool product = products == 1 && (op == "matmul" || op == "multiply");
  return counted(loop.rounds, product ? "product" : "round");
}

std::pair<std::uint32_t, std::uint32_t> loop_lines(const std::vector<OnWay>& way, const Loop& loop) {
  std::uint32_t first = 0, last = 0;
  SourceLocation place;
  for (std::size_t i = 0; i < loop.length; ++i) {
    const SourceLocation here = location_of(way[loop.first + i].location);
    if (here.line == 0 || (first != 0 && (here.cell != place.cell || here.file != place.file))) return {0, 0};
    place = here;
    first = first == 0 ? here.line : std::min(first, here.line);
    last = std::max(last, here.line);
  }
  return {first, last};
}

}  // namespace tapedeck::debug
