// What the samples say, in plain sentences: a small pure function for each rule.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/protocol/health.h"

namespace tapedeck::debug {

struct HealthPoint {
  std::uint64_t step = 0, record = 0;
  double value = 0;
};
using HealthPoints = std::vector<HealthPoint>;

/// A subject as the rules see it.
struct HealthCase {
  std::uint32_t subject = 0;
  protocol::HealthKind kind = protocol::HealthKind::variable;
  std::string text;  ///< what sentences call it: "W1", "dense (relu)", "relu after W1"
  std::string op;    ///< of an activation
  std::vector<std::int64_t> shape;
  std::uint32_t line = 0;  ///< 0: unknown
  std::map<std::string, HealthPoints, std::less<>> curves;
};
using HealthCases = std::vector<HealthCase>;
/// Place, op and tensor are left to whoever knows the records.
using Findings = std::vector<protocol::HealthFinding>;

// Each returns what it finds, in the cases' order.
Findings not_finite_values(const HealthCases& cases);
Findings dead_units(const HealthCases& cases);
Findings saturated_units(const HealthCases& cases);
Findings no_learning(const HealthCases& cases);
Findings vanishing_gradients(const HealthCases& cases);
Findings exploding_gradients(const HealthCases& cases);
Findings updates_out_of_range(const HealthCases& cases);
Findings collapsed_ranks(const HealthCases& cases);
Findings losses_that_do_not_fall(const HealthCases& cases);
Findings quasi_newton_trouble(const HealthCases& cases);  ///< L-BFGS (rules_lbfgs.cpp)

/// All of them: the gravest first, those that began earlier before others.
Findings judge(const HealthCases& cases);

// What the rules' files share.
namespace rules {
/// The points from which on all to the end hold; its size where the last one does not.
template <class Holds>
std::size_t trailing(const HealthPoints& points, Holds&& holds) {
  std::size_t first = points.size();
  while (first > 0 && holds(points[first - 1])) --first;
  return first;
}
double median(std::vector<double> values);
/// Of the points from `first` to before `last` that are finite.
double median_of(const HealthPoints& points, std::size_t first, std::size_t last);
const HealthPoints& curve_of(const HealthCase& subject, std::string_view quantity);  ///< empty: there is none
/// " since step 120", " in all steps that were looked at", with ", line 14" where that is known.
std::string since_text(const HealthCase& subject, const HealthPoints& points, std::size_t first);
protocol::HealthFinding finding(const HealthCase& subject, std::string_view quantity,
                                const HealthPoints& points, std::size_t first, const char* rule,
                                protocol::HealthSeverity severity);
}  // namespace rules

}  // namespace tapedeck::debug
