// Samples of Health as text, for the tests of its rules.
//
//   run steps 300 sampled 77
//   variable W1 784x32 line 14
//     gradient 1:0.5 2:0.25 40:none
//   activation dense relu 32
//     dead 1:0 2:0.9
//
// Without "run" the newest step of all is the run's last one, and the listed steps are the sampled ones;
// "cut": steps before the first were forgotten.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include "engine/debug/health/rules.h"

inline std::vector<std::int64_t> extents(const std::string& text) {
  std::vector<std::int64_t> shape;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, 'x');) shape.push_back(std::stoll(part));
  return shape;
}

/// Records are 100 times the steps.
inline tapedeck::debug::HealthPoints points_of(std::istringstream& words) {
  tapedeck::debug::HealthPoints points;
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    const std::uint64_t step = std::stoull(word.substr(0, colon));
    const std::string value = word.substr(colon + 1);
    points.push_back(
        {step, 100 * step, value == "none" ? std::numeric_limits<double>::quiet_NaN() : std::stod(value)});
  }
  return points;
}

inline tapedeck::debug::HealthCases cases_of(const std::string& text) {
  using namespace tapedeck;
  debug::HealthCases cases;
  std::set<std::uint64_t> steps;
  bool told = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    if (!(words >> first)) continue;
    if (first == "run") {
      told = true;
      for (std::string word; words >> word;) {
        if (word == "steps") words >> cases.steps;
        if (word == "sampled") words >> cases.sampled;
        if (word == "cut") cases.cut = true;
      }
      continue;
    }
    const auto kinds = protocol::names(protocol::HealthKind{});
    const auto kind = std::find(kinds.begin(), kinds.end(), first);
    if (kind == kinds.end() || line[0] == ' ') {  // a curve is indented
      std::string quantity = first;
      if (quantity == "step" || quantity == "not") {  // "step length", "not finite"
        words >> first;
        quantity += " " + first;
      }
      debug::HealthPoints& points = cases.all.back().curves[quantity];
      points = points_of(words);
      for (const debug::HealthPoint& point : points) steps.insert(point.step);
      continue;
    }
    debug::HealthCase& one = cases.all.emplace_back();
    one.subject = static_cast<std::uint32_t>(cases.all.size());
    one.kind = static_cast<protocol::HealthKind>(kind - kinds.begin());
    words >> one.text;
    for (std::string word; words >> word;) {
      if (word == "line")
        words >> one.line;
      else if (word == "largest")
        words >> one.largest_loss;
      else if (std::isdigit(static_cast<unsigned char>(word[0])))
        one.shape = extents(word);
      else
        one.op = word;
    }
  }
  cases.sampled_steps.assign(steps.begin(), steps.end());
  if (!told) {
    cases.steps = steps.empty() ? 0 : *steps.rbegin();
    cases.sampled = steps.size();
  }
  return cases;
}

/// "STEP:VALUE" for each of the steps; for the text of a curve.
inline std::string points_text(std::uint64_t first, std::uint64_t last,
                               const std::function<double(double)>& value) {
  std::ostringstream text;
  text.precision(17);
  for (std::uint64_t step = first; step <= last; ++step)
    text << " " << step << ":" << value(static_cast<double>(step));
  return text.str();
}

/// Whether a finding has that text in its sentence or its cure.
inline bool says(const tapedeck::debug::Findings& found, const std::string& part) {
  return std::ranges::any_of(found, [&](const tapedeck::protocol::HealthFinding& each) {
    return each.sentence.find(part) != std::string::npos || each.cure.find(part) != std::string::npos;
  });
}

/// For the message of a failing check.
inline std::string all_of(const tapedeck::debug::Findings& found) {
  std::string text;
  for (const tapedeck::protocol::HealthFinding& each : found)
    text += each.rule + ": " + each.sentence + "\n  " + each.cure + "\n";
  return text;
}
