#include "engine/python/inspector.h"

#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "engine/ops/core/observer.h"
#include "engine/python/errors.h"
#include "engine/python/inspector_answers.h"
#include "engine/python/source_lines.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/record/background_thread.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::python {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto look_again = milliseconds(20);
constexpr auto value_limit = milliseconds(300);  // VALUE_SECONDS in _session/values.py
constexpr auto page_limit = milliseconds(10'000);
constexpr auto between_interrupts = milliseconds(500);
constexpr auto patience = milliseconds(2000);  // for code that catches what should end it

/// 0: until it is cancelled.
milliseconds limit_of(const debug::HostRequest& request) {
  const auto* evaluate = std::get_if<protocol::Evaluate>(&request);
  return evaluate ? milliseconds(evaluate->limit_ms.value_or(0)) : page_limit;
}

/// Of a request that runs the user's code and puts back what that changed: its stop, nothing inside: between
/// two cells. The program must not go on meanwhile.
std::optional<std::optional<std::uint64_t>> held_stop(const debug::HostRequest& request) {
  if (const auto* evaluate = std::get_if<protocol::Evaluate>(&request)) return evaluate->stop;
  if (const auto* assign = std::get_if<protocol::Assign>(&request)) return assign->place.stop;
  return std::nullopt;
}

std::atomic<bool> putting_back{false};

std::atomic<Clock::rep> value_began{0};  ///< 0: no value is looked at
/// Of the task that is performed: values are not computed for it any longer. nullptr: there is none.
std::atomic<const CancelFlag*> computing_ends{nullptr};

/// An exception that came too late for what it was to end. It has to be raised and caught: to set it to
/// nothing (PyThreadState_SetAsyncExc) would leave Python's mark of it, at which a thread whose lines are
/// traced loops forever when it enters a function.
void drop_late_exception() {
  if (PyThreadState_Get()->async_exc == nullptr) return;
  const py::dict names;
  const auto raised =
      py::reinterpret_steal<py::object>(PyRun_String("0", Py_eval_input, names.ptr(), names.ptr()));
  if (!raised) PyErr_Clear();
}

bool value_takes_long() {
  const Clock::rep began = value_began.load();
  return began != 0 && Clock::now().time_since_epoch() - Clock::duration(began) > value_limit;
}

}  // namespace

struct Inspector::Task {
  debug::HostRequest request;
  CancelFlag cancel{false};
  CancelFlag ends{false};  ///< cancelled, or late
  std::optional<protocol::Reply> reply;
  bool begun = false, done = false, abandoned = false;
  bool holds_gate = false;
  Clock::time_point began{};
  Clock::time_point last_interrupt{};
  std::optional<Clock::time_point> first_interrupt;
};

struct Inspector::State {
  explicit State(Recorder& observed) : recorder(observed) {}
  Recorder& recorder;
  std::mutex mutex;  // taken after Python's lock, where both are
  std::condition_variable changed;
  std::deque<std::shared_ptr<Task>> queue;
  std::shared_ptr<Task> current;
  unsigned long thread = 0;  ///< Python's name for it
  bool stopping = false, ended = false;

  void run();
  void perform(const std::shared_ptr<Task>& task);
  void release_gate(Task& task);
  void abandon(Task& task);
  bool interrupt(const std::shared_ptr<Task>& task, const char* exception);
  void watch(const std::shared_ptr<Task>& task, const CancelFlag& cancel, std::unique_lock<std::mutex>& lock);
};

void Inspector::State::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopping || !queue.empty(); });
    if (stopping) break;
    const std::shared_ptr<Task> task = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    perform(task);
    lock.lock();
    task->done = true;
    changed.notify_all();
  }
  ended = true;
  changed.notify_all();
}

/// With the mutex locked.
void Inspector::State::release_gate(Task& task) {
  if (std::exchange(task.holds_gate, false)) recorder.gate().release();
}

/// The same.
void Inspector::State::abandon(Task& task) {
  task.abandoned = true;
  release_gate(task);
}

void Inspector::State::perform(const std::shared_ptr<Task>& task) {
  const py::gil_scoped_acquire locked;
  {
    const std::lock_guard lock(mutex);
    if (task->abandoned) return;
    if (const auto stop = held_stop(task->request)) {
      task->holds_gate = recorder.gate().hold(*stop);
      if (!task->holds_gate) {
        task->reply = protocol::Failure{"The program has gone on since.", "gone"};
        return;
      }
    }
    thread = PyThread_get_thread_ident();
    current = task;
    task->begun = true;
    task->began = Clock::now();
  }
  drop_late_exception();  // of the one before
  computing_ends = &task->ends;
  protocol::Reply reply = answer_from_python(recorder, task->request, task->cancel);
  const std::lock_guard lock(mutex);
  value_began = 0;
  computing_ends = nullptr;
  current.reset();
  release_gate(*task);
  task->reply = std::move(reply);
}

/// Raises the exception in the user's code; false where the task is not there any longer.
bool Inspector::State::interrupt(const std::shared_ptr<Task>& task, const char* exception) {
  const py::gil_scoped_acquire locked;
  const py::object type = py::module_::import("tapedeck._session.values").attr(exception);
  const std::lock_guard lock(mutex);
  if (current.get() != task.get() || putting_back) return false;
  if (std::string_view(exception) == "ValueTimeUp" && !value_takes_long()) return false;
  PyThreadState_SetAsyncExc(thread, type.ptr());
  return true;
}

/// Until the task is done or its client gives up: then `abandoned` is set. `cancel` may go before
/// the task does, so the task has a flag of its own.
void Inspector::State::watch(const std::shared_ptr<Task>& task, const CancelFlag& cancel,
                             std::unique_lock<std::mutex>& lock) {
  const milliseconds limit = limit_of(task->request);
  while (!changed.wait_for(lock, look_again, [&] { return task->done; })) {
    if (cancel) task->cancel = task->ends = true;
    const auto now = Clock::now();
    if (!task->begun) {
      if (!task->cancel) continue;
      abandon(*task);
      return;
    }
    const bool late = limit.count() > 0 && now - task->began > limit;
    if ((task->cancel || late) && task->first_interrupt && now - *task->first_interrupt > patience) {
      abandon(*task);
      return;
    }
    if (task->cancel || late) task->ends = true;
    const char* exception = task->cancel ? "Cancelled" : late ? "TimeUp" : "ValueTimeUp";
    if (!task->cancel && !late && !value_takes_long()) continue;
    if (now - task->last_interrupt < between_interrupts) continue;
    task->last_interrupt = now;
    lock.unlock();
    const bool raised = interrupt(task, exception);
    lock.lock();
    if (raised && (task->cancel || late) && !task->first_interrupt) task->first_interrupt = now;
  }
}

Inspector::Inspector(Recorder& recorder) : state_(std::make_shared<State>(recorder)) {
  start_background_thread([state = state_] {
    try {
      state->run();
    } catch (const abi::__forced_unwind&) {
      wait_for_exit();
    }
  }).detach();
}

Inspector::~Inspector() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, patience, [this] { return state_->ended; });
}

protocol::Reply Inspector::answer(const debug::HostRequest& request, const CancelFlag& cancel) {
  auto task = std::make_shared<Inspector::Task>();
  task->request = request;
  std::unique_lock lock(state_->mutex);
  state_->queue.push_back(task);
  state_->changed.notify_all();
  state_->watch(task, cancel, lock);
  if (cancel) throw Cancelled();
  if (!task->done)
    return protocol::Failure{
        "The code that was evaluated catches what should end it, and goes on: interrupt the session.",
        "too_expensive"};
  return std::move(*task->reply);
}

RestoreScope::RestoreScope() {
  putting_back = true;
  drop_late_exception();
}
RestoreScope::~RestoreScope() {
  putting_back = false;
}

#if PY_VERSION_HEX >= 0x030D0000
// What Python gives is a view onto the frame (PEP 667): nothing
/// of it stays behind.
py::dict frame_locals(const py::handle frame) {
  const py::object view = checked(PyFrame_GetLocals(reinterpret_cast<PyFrameObject*>(frame.ptr())));
  py::dict copy;
  checked(PyDict_Update(copy.ptr(), view.ptr()));
  return copy;
}

static void set_frame_local(const py::handle frame, const py::str& name, const py::handle value) {
  const py::object view = checked(PyFrame_GetLocals(reinterpret_cast<PyFrameObject*>(frame.ptr())));
  checked(PyObject_SetItem(view.ptr(), name.ptr(), value.ptr()));
}
#else
// Python's own way, frame.f_locals, would leave a dict behind
/// that holds every value until the function returns.
py::dict frame_locals(const py::handle frame) {
  const py::object snapshot = checked(PyFrame_GetLocals(reinterpret_cast<PyFrameObject*>(frame.ptr())));
  py::object copy = checked(PyDict_Copy(snapshot.ptr()));
  if (Py_REFCNT(snapshot.ptr()) == 2) PyDict_Clear(snapshot.ptr());  // else the program has it: locals()
  return py::reinterpret_steal<py::dict>(copy.release());
}

static void set_frame_local(const py::handle object, const py::str& name, const py::handle value) {
  auto* frame = reinterpret_cast<PyFrameObject*>(object.ptr());
  const py::object snapshot = checked(PyFrame_GetLocals(frame));
  checked(PyDict_SetItem(snapshot.ptr(), name.ptr(), value.ptr()));
  PyFrame_LocalsToFast(frame, 0);
  if (Py_REFCNT(snapshot.ptr()) == 2) PyDict_Clear(snapshot.ptr());
}
#endif

namespace {

/// Without Python's lock. A lost value is a LookupError with the reason.
py::object recorded_value(Recorder& recorder, std::uint64_t id) {
  std::optional<std::string> problem;
  Tensor value;
  bool ended = false;
  {
    const QuietScope quiet;
    const py::gil_scoped_release unlocked;
    try {
      value = find_value(recorder, id, {}, computing_ends).value;
    } catch (const Cancelled&) {
      ended = true;
    } catch (const ValueError& error) {
      problem = error.what();
    }
  }
  if (ended) {
    PyErr_SetNone(py::module_::import("tapedeck._session.values").attr("TimeUp").ptr());
    throw py::error_already_set();
  }
  if (problem) {
    PyErr_SetString(PyExc_LookupError, problem->c_str());
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(wrap(std::move(value)));
}

std::optional<std::uint64_t> version_before(const Recorder& recorder, std::uint64_t id,
                                            std::uint64_t record) {
  const auto assignment = recorder.data_flow().assignment_of(id);
  return assignment ? recorder.data_flow().value_before(assignment->variable, record) : std::nullopt;
}

}  // namespace

void bind_inspector(py::module_& debug, Recorder& (*recorder)()) {
  debug.def(
      "_value_of", [recorder](std::uint64_t id) { return recorded_value(recorder(), id); }, py::arg("tensor"),
      "The value of a tensor that records know, computed again where it is not held. LookupError where it "
      "can "
      "not be had.");
  debug.def(
      "_version_before",
      [recorder](std::uint64_t id, std::uint64_t record) { return version_before(recorder(), id, record); },
      py::arg("tensor"), py::arg("record"),
      "Id of the value that the variable with that value had before the record; 0: it was made later. None: "
      "that is not known.");
  debug.def(
      "_value_begins", [] { value_began = Clock::now().time_since_epoch().count(); },
      "Code of a value's class is called from now on, which has a limit of time.");
  debug.def("_value_ended", [] { value_began = 0; });
  debug.def("_frame_locals", &frame_locals, py::arg("frame"),
            "A function's variables, as a dict of its own.");
  debug.def("_set_frame_local", &set_frame_local, py::arg("frame"), py::arg("name"), py::arg("value"),
            "Gives a variable of a function that waits another value.");
  debug.def(
      "_storage_of",
      [](const py::handle value) -> std::uint64_t {
        PyObject* object = value.ptr();
        // An array of a tensor's memory has that, or a view of its bytes, as its base.
        for (int depth = 0; is_numpy_array(object) && depth < 8; ++depth) {
          const py::object base = py::getattr(object, "base", py::none());
          object = base.ptr();
          if (PyMemoryView_Check(object)) object = PyMemoryView_GET_BUFFER(object)->obj;
          if (!object) return 0;
        }
        const Tensor* tensor = is_tensor(object) ? &tensor_of(object) : tensor_behind(object);
        return tensor && tensor->storage() ? tensor->storage()->mark() : 0;
      },
      py::arg("value"), "By which the recorder knows a tensor's memory; 0: it does not.");
  debug.def(
      "_cell_of", [](const std::string& filename) { return cell_of(filename); }, py::arg("filename"),
      "Id of the cell whose code was compiled under that name; '' for other files.");
}

}  // namespace tapedeck::python
