#include "engine/python/inspector_answers.h"

#include <pybind11/stl.h>

#include "engine/debug/describe.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/random/random_state.h"
#include "engine/python/errors.h"
#include "engine/python/inspector.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/record/replay/replay.h"
#include "engine/record/values/summary.h"
#include "engine/tape/tape.h"

namespace tapedeck::python {
namespace {

using namespace protocol;

constexpr std::uint32_t most_bins = 4096;

/// The stop that a request is about is over.
struct Gone {};

py::module_ part(const char* name) {
  return py::module_::import((std::string("tapedeck._session.") + name).c_str());
}

/// Python's name for the thread that waits at the gate; 0: between two cells.
std::uint64_t waiting_thread(const Recorder& recorder, std::optional<std::uint64_t> stop) {
  if (!stop) return 0;
  const GateStatus gate = recorder.gate().status();
  if (gate.stop != *stop) throw Gone();
  return gate.thread;
}
/// As tapedeck/_session/*.py have it: 0 between two cells.
std::uint64_t python_stop(std::optional<std::uint64_t> stop) {
  return stop.value_or(0);
}

py::tuple place_of(const Recorder& recorder, const ValuePlace& place) {
  return py::make_tuple(python_stop(place.stop), waiting_thread(recorder, place.stop), place.frame,
                        std::string(protocol::names(place.scope).at(static_cast<std::size_t>(place.scope))),
                        place.name.value_or(""), place.path);
}

/// places.PastPlace; only where the place has a moment.
py::object past_place(const Recorder& recorder, const ValuePlace& place) {
  const py::tuple now = place_of(recorder, place);
  return part("places").attr("PastPlace")(now[0], now[1], now[2], now[3], now[4], now[5], *place.moment);
}

template <class T>
void read_value(const py::handle& value, T& member) {
  member = py::cast<T>(value);
}
/// Python says 0 or "" for what is absent; a list is there where it says one: a scalar's shape is [].
template <class T>
void read_value(const py::handle& value, std::optional<T>& member) {
  member = if_there(py::cast<T>(value));
}
template <class T>
void read_value(const py::handle& value, std::optional<std::vector<T>>& member) {
  member = py::cast<std::vector<T>>(value);
}

/// Sets what the row has of the message's fields; those that Python spells in another way, enumerations and
/// messages inside, are left to the caller.
template <class Message>
void read_fields(const py::dict& row, Message& message) {
  const auto read = [&]<class T>(const Field<Message, T>& field) {
    if constexpr (!std::is_enum_v<T> && !std::is_same_v<T, std::optional<ValueInfo>>)
      if (row.contains(field.name)) read_value(row[field.name], message.*field.member);
  };
  Message::fields([&](const auto&... field) { (read(field), ...); });
}

ValueInfo value_info(const py::dict& row) {
  ValueInfo info;
  read_fields(row, info);
  if (row.contains("kind")) info.kind = protocol::ValueKind::code;
  return info;
}

Evaluation evaluation(const py::dict& outcome) {
  Evaluation answer;
  read_fields(outcome, answer);
  if (outcome.contains("value")) answer.value = value_info(outcome["value"]);
  return answer;
}

struct TensorAt {
  Tensor tensor;
  std::string text;  ///< its name for the user
  bool variable = false;
};

/// A tensor, variable or array as a tensor.
TensorAt tensor_at(const Recorder& recorder, const ValuePlace& place) {
  const QuietScope quiet;
  const py::tuple found = place.moment
                              ? py::tuple(past_place(recorder, place).attr("value")())
                              : py::tuple(part("places").attr("value_at")(place_of(recorder, place)));
  const py::object value = found[0];
  const auto text = py::cast<std::string>(found[1]);
  if (is_tensor(value.ptr()) && tensor_of(value.ptr()).is_symbolic())
    throw ValueError("bad_request",
                     text + " has no value: it belongs to a graph function that is or was being traced.");
  if (is_tensor(value.ptr())) return {tensor_of(value.ptr()), text};
  if (is_variable(value.ptr())) return {variable_of(value.ptr()).peek(), text, true};
  if (is_numpy_array(value.ptr())) return {tensor_from_numpy(value.ptr(), {}, {nullptr, nullptr}), text};
  throw ValueError("bad_request",
                   text + " is not a tensor: " + py::cast<std::string>(py::str(py::type::of(value))));
}

/// The user's code at a stop: tapes work in it, with none of the program's among them, its ops are no
/// records, and it draws from a copy of the random sequences.
struct EvaluationScope {
  EvaluationScope() = default;
  EvaluationScope(const EvaluationScope&) = delete;
  ~EvaluationScope() { Tape::stop_all_here(); }
  const UnobservedScope unobserved;
  const RandomCopyScope random;
};

/// Runs `evaluate`, and puts back what _session/isolation.py keeps of the program: `watch`, also what only
/// its own code could put back. Whatever the evaluation raises, and however it was ended; not where it took
/// so long that the program has gone on.
template <class Function>
py::dict isolated(Gate& gate, const py::tuple& place, const std::string& watch, Function&& evaluate) {
  const EvaluationScope scope;
  const py::object kept = part("isolation").attr("keep")(place, watch);
  const auto put_back = [&] {
    const RestoreScope undisturbed;
    if (!gate.settle()) return;
    kept.attr("put_back")();
  };
  try {
    py::dict outcome = evaluate();
    put_back();
    return outcome;
  } catch (py::error_already_set&) {
    put_back();
    throw;
  }
}

/// What tapedeck/_session/*.py raise has a sentence for the user.
Failure failure_of(const py::error_already_set& error) {
  if (error.matches(part("values").attr("TimeUp")))
    return {"Looking at the values took longer than 10 s, and was ended.", "too_expensive"};
  const auto text = py::cast<std::string>(py::str(error.value()));
  if (error.matches(PyExc_LookupError)) return {text, "gone"};
  return {py::cast<std::string>(error.type().attr("__name__")) + ": " + text, "bad_request"};
}

struct Answering {
  Recorder& recorder;
  const CancelFlag& cancel;

  Reply operator()(const GetFrames& get) const {
    const QuietScope quiet;
    const py::tuple found = part("moments").attr("frames")(
        python_stop(get.stop), recorder.gate().status().stopped_after, waiting_thread(recorder, get.stop),
        get.first, get.count, get.moment.value_or(0));
    Frames answer;
    answer.stop = get.stop.value_or(0);
    answer.moment = get.moment;
    answer.noted = if_there(py::cast<std::uint64_t>(found[3]));
    answer.noted_after = py::cast<bool>(found[4]);
    answer.noted_cell = if_there(py::cast<std::string>(found[5]));
    answer.unknown_function = if_there(py::cast<std::string>(found[6]));
    answer.first = get.first;
    answer.thread = py::cast<std::string>(found[0]);
    answer.total = py::cast<std::uint32_t>(found[1]);
    for (const py::handle row : found[2]) {
      const auto fields = py::reinterpret_borrow<py::tuple>(row);
      answer.frames.push_back({py::cast<std::string>(fields[0]), py::cast<std::string>(fields[1]),
                               py::cast<std::string>(fields[2]), py::cast<std::uint32_t>(fields[3]),
                               py::cast<bool>(fields[4])});
    }
    return answer;
  }

  Reply operator()(const GetVariables& get) const {
    const QuietScope quiet;
    const py::tuple found =
        get.place.moment
            ? py::tuple(past_place(recorder, get.place).attr("page")(get.first, get.count))
            : py::tuple(part("places").attr("page")(place_of(recorder, get.place), get.first, get.count));
    Variables answer;
    answer.first = get.first;
    answer.total = py::cast<std::uint64_t>(found[0]);
    for (const py::handle row : found[1])
      answer.variables.push_back(value_info(py::reinterpret_borrow<py::dict>(row)));
    return answer;
  }

  Reply operator()(const Evaluate& evaluate) const {
    const auto stop = python_stop(evaluate.stop);
    const auto thread = waiting_thread(recorder, evaluate.stop);
    const py::tuple place = py::make_tuple(stop, thread, evaluate.frame);
    return evaluation(isolated(recorder.gate(), place, evaluate.statements ? "" : evaluate.code, [&] {
      return py::dict(part("console").attr("evaluate")(stop, thread, evaluate.frame, evaluate.code,
                                                       evaluate.statements, evaluate.moment.value_or(0)));
    }));
  }

  // The observer is passed by, for a breakpoint on the variable would make the debugger wait for itself.
  Reply operator()(const Assign& assign) const {
    if (assign.place.moment)
      return Failure{"The values are those before op " + std::to_string(*assign.place.moment) +
                         ", and the past is not edited.",
                     "bad_request"};
    const QuietScope quiet;
    const py::tuple place = place_of(recorder, assign.place);
    py::dict outcome = isolated(recorder.gate(), py::make_tuple(place[0], place[1], place[2]), "",
                                [&] { return py::dict(part("console").attr("assign")(place, assign.code)); });
    if (outcome.contains("variable")) {
      Variable variable = variable_of(py::object(outcome["variable"]).ptr());
      const Tensor value = tensor_of(py::object(outcome["tensor"]).ptr());
      try {
        variable.assign(value);
      } catch (const Error& error) {
        Evaluation refused;
        refused.error = error.what();
        refused.traceback = error.what();
        return refused;
      }
      recorder.assigned_by_debugger(variable.peek(), variable.name(), value, variable.id());
      outcome = part("console").attr("assigned")(place);
    }
    Evaluation answer = evaluation(outcome);
    // Where Continue came while the value was computed, the lines that were to see it may have run.
    if (!answer.error && assign.place.stop && recorder.gate().status().stop != *assign.place.stop)
      answer.note = py::cast<std::string>(part("console").attr("WENT_ON"));
    return answer;
  }

  Reply operator()(const Complete& complete) const {
    const QuietScope quiet;
    const py::tuple found =
        part("console").attr("complete")(python_stop(complete.stop), waiting_thread(recorder, complete.stop),
                                         complete.frame, complete.code, complete.position);
    return Completions{py::cast<std::uint32_t>(found[0]), py::cast<std::vector<std::string>>(found[1])};
  }

  Reply operator()(const HoldValue& hold) const {
    if (hold.place.moment) {
      const QuietScope quiet;
      const py::tuple found = past_place(recorder, hold.place).attr("held")();
      // What a record has needs no holding.
      if (const auto id = py::cast<std::uint64_t>(found[0])) {
        HeldValue past{debug::tensor_info(recorder, id, true), py::cast<bool>(found[2])};
        past.tensor.name = py::cast<std::string>(found[1]);
        return past;
      }
    }
    const auto [tensor, name, variable] = tensor_at(recorder, hold.place);
    const std::uint64_t id = tensor.id();
    Values& values = recorder.values();
    const TensorOrigin origin = recorder.trace().tensors().get(id);
    if (!origin.known() || (origin.is_leaf() && !origin.is_version() && !values.held(id)))
      recorder.leaf(tensor, {});
    else if (!values.held(id))
      values.add_recomputed(id, tensor);
    HeldValue answer{debug::tensor_info(recorder, id, true), variable};
    answer.tensor.name = name;
    return answer;
  }

  Reply operator()(const FindNames& find) const {
    constexpr std::size_t most = 1000;
    if (find.tensors.size() > most || find.tapes.size() > most)
      return Failure{"find_names: at most 1000 tensors and 1000 tapes can be looked for at once.",
                     "bad_request"};
    const QuietScope quiet;
    const py::tuple found = part("names").attr("find_names")(
        python_stop(find.stop), waiting_thread(recorder, find.stop), find.tensors, find.tapes);
    FoundNames answer;
    for (const py::handle row : found[0]) {
      const auto fields = py::reinterpret_borrow<py::tuple>(row);
      answer.names.push_back({if_there(py::cast<std::uint64_t>(fields[0])),
                              if_there(py::cast<std::uint64_t>(fields[1])), py::cast<std::string>(fields[2]),
                              py::cast<std::string>(fields[3]),
                              if_there(py::cast<std::uint64_t>(fields[4]))});
    }
    answer.complete = py::cast<bool>(found[1]);
    return answer;
  }

  Reply operator()(const SummarizeValue& summarize) const {
    if (summarize.bins > most_bins)
      return Failure{"summarize_value: " + std::to_string(summarize.bins) +
                         " bins were asked for, the most is " + std::to_string(most_bins),
                     "bad_request"};
    const Tensor tensor = tensor_at(recorder, summarize.place).tensor;
    const QuietScope quiet;
    const py::gil_scoped_release unlocked;
    return debug::describe_summary(tensor.id(), tapedeck::summarize(tensor, summarize.bins, true, &cancel),
                                   "held");
  }
};

}  // namespace

protocol::Reply answer_from_python(Recorder& recorder, const debug::HostRequest& request,
                                   const CancelFlag& cancel) noexcept {
  try {
    return std::visit(Answering{recorder, cancel}, request);
  } catch (const abi::__forced_unwind&) {
    wait_for_exit();
  } catch (const Gone&) {
    return Failure{"The program has gone on since.", "gone"};
  } catch (const Cancelled&) {
    return Failure{"The request was cancelled.", "cancelled"};
  } catch (const ValueError& error) {
    return Failure{error.what(), error.code};
  } catch (py::error_already_set& error) {
    return failure_of(error);
  } catch (const std::exception& error) {
    return Failure{error.what(), "bad_request"};
  }
}

}  // namespace tapedeck::python
