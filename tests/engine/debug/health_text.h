// Samples of Health as text, for the tests of its rules.
//
//   variable W1 784x32 line 14
//     gradient 1:0.5 2:0.25 40:none
//   activation dense relu 32
//     dead 1:0 2:0.9
#pragma once

#include <limits>
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
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    if (!(words >> first)) continue;
    const auto kinds = protocol::names(protocol::HealthKind{});
    const auto kind = std::find(kinds.begin(), kinds.end(), first);
    if (kind == kinds.end() || line[0] == ' ') {  // a curve stands further in
      std::string quantity = first;
      if (quantity == "step") {  // "step length"
        words >> first;
        quantity += " " + first;
      }
      if (quantity == "not") {  // "not finite"
        words >> first;
        quantity += " " + first;
      }
      cases.back().curves[quantity] = points_of(words);
      continue;
    }
    debug::HealthCase& one = cases.emplace_back();
    one.subject = static_cast<std::uint32_t>(cases.size());
    one.kind = static_cast<protocol::HealthKind>(kind - kinds.begin());
    words >> one.text;
    for (std::string word; words >> word;) {
      if (word == "line")
        words >> one.line;
      else if (std::isdigit(static_cast<unsigned char>(word[0])))
        one.shape = extents(word);
      else
        one.op = word;
    }
  }
  return cases;
}
