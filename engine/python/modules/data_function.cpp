#include "engine/python/modules/data_function.h"

#include <cxxabi.h>

#include "engine/data/data_error.h"
#include "engine/ops/core/placement.h"
#include "engine/python/errors.h"
#include "engine/python/host.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {

namespace {

/// Python's lock, held while it lives, on any thread.
class LockHeld {
 public:
  LockHeld() {
    try {
      state_ = PyGILState_Ensure();
    } catch (const abi::__forced_unwind&) {
      wait_for_exit();
    }
  }
  ~LockHeld() { PyGILState_Release(state_); }
  LockHeld(const LockHeld&) = delete;

 private:
  PyGILState_STATE state_{};
};

/// Runs with the lock held, with ops on the CPU as TensorFlow has it; what is thrown becomes a PythonFailure.
template <class Work>
auto with_python(Work&& work) {
  const LockHeld lock;
  const DeviceScope on_cpu(Device{});
  try {
    return work();
  } catch (const abi::__forced_unwind&) {
    wait_for_exit();
  } catch (...) {
    set_python_error();
  }
  throw PythonFailure();
}

class PythonFunction final : public data::Function {
 public:
  explicit PythonFunction(const py::object& function) : function_(function) {}
  void call(const data::Element& arguments, data::Element& results) const override {
    with_python([&] {
      const py::list leaves = to_python(arguments);
      results = element_from_python(checked(PyObject_CallOneArg(function_.get(), leaves.ptr())));
    });
  }

 private:
  SharedObject function_;
};

class PythonRun final : public data::GeneratorRun {
 public:
  explicit PythonRun(const py::object& iterator) : iterator_(iterator) {}
  bool next(data::Element& element) override {
    return with_python([&] {
      const auto leaves = py::reinterpret_steal<py::object>(PyIter_Next(iterator_.get()));
      if (!leaves && PyErr_Occurred()) throw ForeignException{};
      if (leaves) element = element_from_python(leaves);
      return static_cast<bool>(leaves);
    });
  }

 private:
  SharedObject iterator_;
};

std::string text_of_exception(PyObject* exception) {
  const auto text = py::reinterpret_steal<py::object>(PyObject_Str(exception));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  PyErr_Clear();
  return utf8 ? utf8 : Py_TYPE(exception)->tp_name;
}

py::object fetch_exception() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return py::reinterpret_steal<py::object>(value);
}

void raise(const py::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

/// The class that the annotated exception has. An end of iteration in a function is none of the data set's.
py::handle annotated_class(const py::object& original, const py::object& invalid_argument,
                           const py::object& out_of_range) {
  if (PyErr_GivenExceptionMatches(original.ptr(), PyExc_StopIteration)) return PyExc_RuntimeError;
  if (PyErr_GivenExceptionMatches(original.ptr(), out_of_range.ptr())) return invalid_argument;
  return py::type::handle_of(original);
}

void raise_annotated(const py::object& original, const std::string& place) {
  if (!PyErr_GivenExceptionMatches(original.ptr(), PyExc_Exception)) return raise(original);  // an interrupt
  const py::module_ engine = py::module_::import("tapedeck._engine");
  const py::handle kind =
      annotated_class(original, engine.attr("InvalidArgumentError"), engine.attr("OutOfRangeError"));
  const std::string text = place + ": " + text_of_exception(original.ptr());
  const py::str message(text);
  py::object made = py::reinterpret_steal<py::object>(PyObject_CallOneArg(kind.ptr(), message.ptr()));
  if (made && Py_TYPE(made.ptr()) == reinterpret_cast<PyTypeObject*>(kind.ptr()) &&
      text_of_exception(made.ptr()).find(place) != std::string::npos) {
    if (py::hasattr(original, "__notes__"))  // the line of a graph, say
      for (const py::handle note : py::list(original.attr("__notes__"))) made.attr("add_note")(note);
    PyException_SetCause(made.ptr(), py::object(original).release().ptr());
    return raise(made);
  }
  PyErr_Clear();  // it cannot be made of a text: then the original has a note
  original.attr("add_note")(message);
  raise(original);
}

}  // namespace

PythonFailure::PythonFailure() : Error("an exception of Python") {
  exception = std::make_shared<SharedObject>(fetch_exception());
}

data::FunctionPointer data_function(const py::object& function) {
  return std::make_shared<PythonFunction>(function);
}

data::GeneratorStarter data_generator(const py::object& starter) {
  auto kept = std::make_shared<SharedObject>(starter);
  return [kept] {
    return with_python([&]() -> std::unique_ptr<data::GeneratorRun> {
      return std::make_unique<PythonRun>(checked(PyObject_CallNoArgs(kept->get())));
    });
  };
}

py::list to_python(const data::Element& element) {
  py::list leaves(element.size());
  for (std::size_t i = 0; i < element.size(); ++i)
    leaves[i] =
        element[i].dataset ? py::cast(DatasetHandle{element[i].dataset}) : checked(wrap(element[i].tensor));
  return leaves;
}

data::Element element_from_python(const py::handle& leaves) {
  data::Element element;
  for (const py::handle leaf : py::reinterpret_borrow<py::sequence>(leaves)) {
    if (is_tensor(leaf.ptr()))
      element.emplace_back(tensor_of(leaf.ptr()).on_host());
    else if (py::isinstance<DatasetHandle>(leaf))
      element.emplace_back(leaf.cast<const DatasetHandle&>().dataset);
    else
      fail<TypeMismatchError>("data set: ", short_repr(leaf.ptr()), " is neither a tensor nor a Dataset");
  }
  return element;
}

void set_stage_error(const data::StageFailure& failure) noexcept {
  try {
    py::object original;
    try {
      std::rethrow_exception(failure.cause);
    } catch (const PythonFailure& python) {
      original = py::reinterpret_borrow<py::object>(python.exception->get());
    } catch (...) {
      set_python_error();
      original = fetch_exception();
    }
    raise_annotated(original, failure.place);
  } catch (...) {
    set_python_error();
  }
}

}  // namespace tapedeck::python
