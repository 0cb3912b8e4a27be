#include "engine/debug/compare/curves.h"

#include <algorithm>
#include <map>

namespace tapedeck::debug {
namespace {

using protocol::ComparedCurve;
using protocol::CurvePart;

constexpr std::size_t most_curves = 100;

void add_point(CurvePart& part, double step, double value, double record) {
  part.steps.push_back(step);
  part.values.push_back(value);
  part.records.push_back(record);
}

/// Of each part of the curve its lowest and its highest point, in order.
CurvePart thinned(const CurvePart& all, std::size_t points) {
  const std::size_t count = all.values.size();
  if (count <= std::max<std::size_t>(points, 2)) return all;
  CurvePart few;
  few.x = all.x;
  const std::size_t parts = std::max<std::size_t>(points / 2, 1);
  for (std::size_t i = 0; i < parts; ++i) {
    const auto begin = all.values.begin() + static_cast<std::ptrdiff_t>(i * count / parts),
               end = all.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * count / parts);
    const auto [low, high] = std::minmax_element(begin, end);
    std::size_t places[] = {static_cast<std::size_t>(low - all.values.begin()),
                            static_cast<std::size_t>(high - all.values.begin())};
    std::ranges::sort(places);
    for (std::size_t k = 0; k < (places[0] == places[1] ? 1u : 2u); ++k)
      add_point(few, all.steps[places[k]], all.values[places[k]], all.records[places[k]]);
  }
  return few;
}

/// By name, in the order in which they began.
std::vector<ComparedCurve> curves_of(const Side& side, CurvePart ComparedCurve::*part) {
  std::vector<ComparedCurve> curves;
  std::map<std::string, std::size_t> places;
  const SeriesStore& series = side.recorder->series();
  for (const protocol::SeriesPoint& point : series.between(side.first, side.last)) {
    const auto [found, fresh] = places.try_emplace(point.series, curves.size());
    if (fresh) {
      const protocol::CurveInfo info = series.info(point.series).value_or(protocol::CurveInfo{});
      curves.emplace_back().name = info.name;
      (curves.back().*part).x = info.x;
    }
    add_point(curves[found->second].*part, point.step, point.value, static_cast<double>(point.record));
  }
  return curves;
}

std::string without_cell(const std::string& name) {
  const std::size_t colon = name.starts_with("cell ") ? name.find(": ") : std::string::npos;
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

}  // namespace

std::vector<ComparedCurve> compare_curves(const Side& left, const Side& right, std::size_t points) {
  std::vector<ComparedCurve> curves = curves_of(left, &ComparedCurve::left);
  for (ComparedCurve& theirs : curves_of(right, &ComparedCurve::right)) {
    const auto alone = [](const ComparedCurve& curve) { return curve.right.values.empty(); };
    auto mine = std::ranges::find_if(
        curves, [&](const ComparedCurve& curve) { return alone(curve) && curve.name == theirs.name; });
    if (mine == curves.end())
      mine = std::ranges::find_if(curves, [&](const ComparedCurve& curve) {
        return alone(curve) && without_cell(curve.name) == without_cell(theirs.name);
      });
    if (mine == curves.end())
      curves.push_back(std::move(theirs));
    else
      mine->right = std::move(theirs.right);  // of one name several cells may have drawn one each
  }
  if (curves.size() > most_curves) curves.resize(most_curves);
  for (ComparedCurve& curve : curves) {
    curve.left = thinned(curve.left, points);
    curve.right = thinned(curve.right, points);
  }
  return curves;
}

}  // namespace tapedeck::debug
