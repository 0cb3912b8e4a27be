#include "engine/graph/inference.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "engine/graph/results_of_values.h"
#include "engine/graph/unknowns.h"

namespace tapedeck::graph {
namespace {

constexpr std::array<std::int64_t, world_count> assumed_numbers{4, 6, 2};  // equal to no unknown extent
constexpr int most_trials = 400;                                           // of a search, in one world

class Search {
 public:
  explicit Search(const OpenCall& call) : call_(call) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) firsts_.push_back(first_of(call, i));
    for (std::size_t i = 0; i < call.attributes.size(); ++i) attributes_.push_back(call.attributes[i]);
  }

  Inferred inferred() {
    for (std::size_t world = 0; world < world_count; ++world) answer(world);
    for (std::size_t world = 0; world < world_count; ++world)
      if (!answers_[world]) look_further(world);
    const bool assumes =
        std::ranges::any_of(call_.numbers, [](const OpenNumber& number) { return number.assumed; });
    if (searched_ || assumes)
      vary();
    else
      doubt_cancellations();
    return merge();
  }

 private:
  struct Trial {
    std::vector<Shape> shapes;
    std::vector<std::int64_t> numbers;
    std::vector<std::vector<std::int64_t>> lists;
  };
  struct Answer {
    Attributes attributes;
    std::vector<OpenResult> results;
  };

  Trial usual(std::size_t world) const {
    Trial trial;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const Tensor& input = call_.inputs[i];
      const std::optional<Shape>& shape = call_.worlds[i][world];
      trial.shapes.push_back(shape ? *shape : *new_worlds(input.shape(), unknown_of(input))[world]);
    }
    for (const OpenNumber& number : call_.numbers) {
      const Shape any = filled(ranks[world], extents[world]);
      trial.numbers.push_back(number.values[world].value_or(assumed_numbers[world]));
      trial.lists.push_back(number.lists[world].value_or(std::vector<std::int64_t>(any.begin(), any.end())));
    }
    return trial;
  }

  Attributes with_numbers(const Trial& trial) const {
    if (call_.numbers.empty()) return call_.attributes;
    std::vector<Attribute> values = attributes_;
    for (std::size_t i = 0; i < call_.numbers.size(); ++i)
      if (call_.numbers[i].is_whole)
        values[call_.numbers[i].attribute] = trial.lists[i];
      else
        set_number(values, call_.numbers[i].attribute, call_.numbers[i].element, trial.numbers[i]);
    return Attributes(std::move(values));
  }

  std::optional<Answer> tried(const Trial& trial) {
    Tensors inputs;
    try {
      for (std::size_t i = 0; i < call_.inputs.size(); ++i)
        inputs.push_back(unknown_of(call_.inputs[i])
                             ? Tensor::symbolic(call_.inputs[i].dtype(), trial.shapes[firsts_[i]])
                             : call_.inputs[i]);
      Answer answer{with_numbers(trial), {}};
      const TensorSpecs specs = call_.op.shape_rule({call_.op, inputs, answer.attributes, {}});
      if (call_.op.shape_of_values)
        answer.results = results_of_values(call_.op, inputs, answer.attributes);
      else
        for (const TensorSpec& spec : specs) answer.results.push_back({spec, {}});
      for (const OpenResult& result : answer.results) element_count(result.spec.shape);  // it must exist
      return answer;
    } catch (const Error&) {
      if (!error_) error_ = std::current_exception();
      return std::nullopt;
    }
  }

  void answer(std::size_t world) {
    trials_[world] = usual(world);
    answers_[world] = tried(trials_[world]);
    if (answers_[world]) all_.push_back(answers_[world]->results);
  }

  static void put(Trial& trial, const Unknown& unknown, std::size_t option) {
    if (unknown.number != SIZE_MAX)
      trial.numbers[unknown.number] = unknown.values[option];
    else if (unknown.axis < 0)
      trial.shapes[unknown.input] = unknown.shapes[option];
    else
      trial.shapes[unknown.input][unknown.axis] = unknown.values[option];
  }

  /// Changes one unknown of the usual, then each two, then each three.
  void look_further(std::size_t world) {
    const std::vector<Unknown> all = unknowns_of(call_, world);
    const bool to_the_end = !searched_;
    searched_ = true;
    int trials = 0;
    const std::function<bool(Trial, std::size_t, int)> change = [&](const Trial& base, std::size_t first,
                                                                    int changes) {
      if (changes == 0) {
        if (++trials > most_trials) return true;
        std::optional<Answer> found = tried(base);
        if (!found) return false;
        all_.push_back(found->results);
        if (!answers_[world]) {
          answers_[world] = std::move(found);
          trials_[world] = base;
        }
        return !to_the_end;
      }
      for (std::size_t i = first; i < all.size(); ++i)
        for (std::size_t option = 0; option < all[i].options(); ++option) {
          Trial trial = base;
          put(trial, all[i], option);
          if (change(trial, i + 1, changes - 1)) return true;
        }
      return false;
    };
    // Once some extents fit, more changes would only say what else might.
    for (int changes = 1; changes <= 3 && !answers_[world]; ++changes)
      if (change(usual(world), 0, changes)) return;
  }

  /// What else fits near an answer that a search found: each unknown alone, those that are equal there
  /// together, and all together. Results that differ then are not known.
  void vary() {
    std::size_t world = 0;
    while (world < world_count && !answers_[world]) ++world;
    if (world == world_count) return;
    const Trial base = trials_[world];
    const std::vector<Unknown> all = unknowns_of(call_, world);
    const auto add = [&](const Trial& trial) {
      if (std::optional<Answer> found = tried(trial)) all_.push_back(std::move(found->results));
    };
    const auto value_in = [&](const Unknown& unknown) -> std::int64_t {
      if (unknown.number != SIZE_MAX) return base.numbers[unknown.number];
      const Shape& shape = base.shapes[unknown.input];
      return unknown.axis < 0 || unknown.axis >= shape.rank() ? -1 : shape[unknown.axis];
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t option = 0; option < all[i].options(); ++option) {
        Trial alone = base, equal = base, together = base;
        put(alone, all[i], option);
        add(alone);
        if (all[i].axis < 0 || all.size() == 1) continue;
        for (const Unknown& other : all) {
          if (other.axis < 0) continue;
          set_extent(together, other, all[i].values[option]);
          if (value_in(other) == value_in(all[i])) set_extent(equal, other, all[i].values[option]);
        }
        add(equal);
        if (i == 0) add(together);
      }
    }
  }

  static void set_extent(Trial& trial, const Unknown& unknown, std::int64_t extent) {
    trial.shapes[unknown.input][unknown.axis] = extent;
  }

  /// The error of the usual extents, where unknown ones read None.
  [[noreturn]] void refuse() const {
    try {
      std::rethrow_exception(error_);
    } catch (InvalidArgumentError& error) {
      std::string text = error.what();
      for (const Tensor& input : call_.inputs) {
        const std::string sample = to_string(input.shape());
        if (!unknown_of(input)) continue;
        for (std::size_t at = text.find(sample); at != std::string::npos; at = text.find(sample, at + 1))
          text.replace(at, sample.size(), shape_text(input));
      }
      InvalidArgumentError worded(text);
      worded.op_name = error.op_name;
      worded.argument = error.argument;
      throw worded;
    }
  }

  Inferred merge() {
    if (all_.empty()) refuse();
    Inferred inferred;
    const auto first = std::ranges::find_if(answers_, [](const auto& answer) { return answer.has_value(); });
    inferred.attributes = (*first)->attributes;
    const std::vector<OpenResult>& results = (*first)->results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      inferred.samples.push_back(results[i].spec);
      inferred.unknown.push_back(results[i].unknown);
      inferred.worlds.emplace_back();
    }
    for (const std::vector<OpenResult>& other : all_) {
      if (other.size() != results.size())
        fail<InvalidArgumentError>(
            call_.op.name, ": has ", results.size(), " results or ", other.size(),
            ", as an extent has it that is not known while the graph function is traced");
      for (std::size_t i = 0; i < results.size(); ++i) {
        const TensorSpec &one = results[i].spec, &two = other[i].spec;
        UnknownShape& unknown = inferred.unknown[i];
        unknown = merged(one.shape, unknown, two.shape, other[i].unknown);
      }
    }
    doubt_a_single_world(inferred);
    for (const auto& [result, axis] : doubts_)
      if (!inferred.unknown[result].rank) inferred.unknown[result].axes |= std::uint32_t{1} << axis;
    for (std::size_t i = 0; i < results.size(); ++i) set_worlds(inferred, i);
    return inferred;
  }

  bool is_given(std::int64_t number) const {
    for (const Tensor& input : call_.inputs)
      for (int axis = 0; axis < input.rank(); ++axis)
        if (!unknown_of(input).has(axis) && input.dim(axis) == number) return true;
    return std::ranges::any_of(attributes_, [&](const Attribute& attribute) {
      const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute);
      return list && std::ranges::find(*list, number) != list->end();
    });
  }

  /// Unknown extents that have nothing to do with each other are equal in each world. So a difference of two
  /// is 0 in all of them, a quotient or a window 1, and what is added to that any number. Where results have
  /// such extents, each unknown is changed alone; not where numbers of attributes follow from extents.
  void doubt_cancellations() {
    const auto is_doubtful = [&](std::size_t result, int axis) {
      return std::ranges::all_of(answers_, [&](const auto& answer) {
        const Shape& shape = answer->results[result].spec.shape;
        return axis < shape.rank() && shape[axis] == answers_[0]->results[result].spec.shape[axis] &&
               (shape[axis] <= 1 || (call_.numbers.empty() && !is_given(shape[axis])));
      });
    };
    std::vector<std::pair<std::size_t, int>> doubtful;
    for (std::size_t i = 0; i < answers_[0]->results.size(); ++i)
      for (int axis = 0; axis < answers_[0]->results[i].spec.shape.rank(); ++axis)
        if (std::ranges::all_of(answers_, [&](const auto& answer) { return i < answer->results.size(); }) &&
            is_doubtful(i, axis))
          doubtful.emplace_back(i, axis);
    if (doubtful.empty()) return;
    const std::vector<Unknown> all = unknowns_of(call_, 0);
    if (all.size() < 2) return;
    for (const Unknown& unknown : all)
      for (const std::int64_t value : {std::int64_t{0}, extents[2], extents[1]}) {
        if (!unknown.shapes.empty() || (value == 0 && unknown.number == SIZE_MAX)) continue;
        Trial trial = trials_[0];
        (unknown.number != SIZE_MAX ? trial.numbers[unknown.number]
                                    : trial.shapes[unknown.input][unknown.axis]) = value;
        const std::optional<Answer> found = tried(trial);
        for (const auto& [result, axis] : doubtful) {
          if (!found || result >= found->results.size()) continue;
          const Shape &other = found->results[result].spec.shape,
                      &own = answers_[0]->results[result].spec.shape;
          if (other.rank() == own.rank() && other[axis] != own[axis]) doubts_.emplace_back(result, axis);
        }
      }
  }

  /// One world alone tells nothing of what changes between them.
  void doubt_a_single_world(Inferred& inferred) const {
    if (std::ranges::count_if(answers_, [](const auto& answer) { return answer.has_value(); }) > 1) return;
    const bool any_rank =
        std::ranges::any_of(call_.inputs, [](const Tensor& input) { return unknown_of(input).rank; });
    for (std::size_t i = 0; i < inferred.unknown.size(); ++i) {
      inferred.unknown[i].rank = inferred.unknown[i].rank || any_rank;
      const int rank = inferred.unknown[i].rank ? 0 : inferred.samples[i].shape.rank();
      inferred.unknown[i].axes = static_cast<std::uint32_t>((std::uint64_t{1} << rank) - 1);
    }
  }

  void set_worlds(Inferred& inferred, std::size_t result) const {
    Worlds& worlds = inferred.worlds[result];
    const Shape* sample = nullptr;
    for (std::size_t world = 0; world < world_count; ++world)
      if (answers_[world]) worlds[world] = answers_[world]->results[result].spec.shape;
    for (const auto& shape : worlds)
      if (shape && !sample) sample = &*shape;
    // What is unknown differs between the worlds, although they may have found the same.
    const auto agree = [&](const auto& property) {
      return std::ranges::all_of(
          worlds, [&](const auto& shape) { return !shape || property(*shape) == property(*sample); });
    };
    const UnknownShape unknown = inferred.unknown[result];
    if (unknown.rank) {
      if (agree([](const Shape& shape) { return shape.rank(); })) worlds = new_worlds(*sample, unknown);
    } else {
      for (int axis = 0; axis < sample->rank(); ++axis)
        if (unknown.has(axis) && agree([&](const Shape& shape) { return shape[axis]; }))
          for (std::size_t world = 0; world < world_count; ++world)
            if (worlds[world]) (*worlds[world])[axis] = extents[world];
    }
    for (const auto& shape : worlds)
      if (shape) {
        inferred.samples[result].shape = *shape;
        break;
      }
  }

  const OpenCall& call_;
  std::vector<std::size_t> firsts_;
  std::vector<Attribute> attributes_;
  std::array<std::optional<Answer>, world_count> answers_;
  std::array<Trial, world_count> trials_;            ///< that gave the answers
  std::vector<std::vector<OpenResult>> all_;         ///< that were found
  std::exception_ptr error_;                         ///< the first one
  std::vector<std::pair<std::size_t, int>> doubts_;  ///< axes of results that are not known after all
  bool searched_ = false;
};

}  // namespace

std::int64_t number_in_world(std::size_t world) {
  return assumed_numbers[world];
}

namespace {

/// An unknown extent of so many of one tensor, which must not have more elements than can be counted.
std::int64_t extent_of_many(int unknown, std::size_t world) {
  constexpr std::array<std::int64_t, world_count> smaller{12, 24, 1}, smallest{2, 3, 1};
  return unknown <= 6 ? extents[world] : unknown <= 13 ? smaller[world] : smallest[world];
}

}  // namespace

Worlds new_worlds(const Shape& shape, UnknownShape unknown) {
  Worlds worlds;
  for (std::size_t world = 0; world < world_count; ++world) {
    if (unknown.rank) {
      worlds[world] = filled(ranks[world], extents[world]);
      continue;
    }
    Shape known = shape;
    const std::int64_t extent = extent_of_many(std::popcount(unknown.axes), world);
    for (int axis = 0; axis < known.rank(); ++axis)
      if (unknown.has(axis)) known[axis] = extent;
    worlds[world] = known;
  }
  return worlds;
}

void set_number(std::vector<Attribute>& attributes, std::size_t attribute, std::int32_t element,
                std::int64_t value) {
  Attribute& place = attributes[attribute];
  if (element >= 0)
    std::get<std::vector<std::int64_t>>(place)[static_cast<std::size_t>(element)] = value;
  else if (std::holds_alternative<double>(place))
    place = static_cast<double>(value);
  else
    place = value;
}

Inferred infer(const OpenCall& call) {
  return Search(call).inferred();
}

}  // namespace tapedeck::graph
