#include "engine/python/modules/data_module.h"

#include <pybind11/stl.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <thread>

#include "engine/data/state.h"
#include "engine/data/threads.h"
#include "engine/graph/control.h"
#include "engine/ops/random/random_state.h"
#include "engine/python/errors.h"
#include "engine/python/modules/data_function.h"
#include "engine/python/modules/host_function.h"
#include "engine/python/modules/tape_object.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::python {

namespace {

using data::DatasetPointer;

/// Runs without Python's lock; the exception is set and travels on where a stage failed.
template <class Work>
auto without_lock(Work&& work) {
  std::exception_ptr failed;
  {
    const HostUnlock unlocked;
    try {
      return work();
    } catch (const data::StageFailure&) {
      failed = std::current_exception();
    } catch (const PythonFailure&) {
      failed = std::current_exception();
    }
  }
  try {
    std::rethrow_exception(failed);
  } catch (const data::StageFailure& failure) {
    set_stage_error(failure);
  } catch (const PythonFailure& failure) {
    PyObject* exception = failure.exception->get();
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  }
  throw ForeignException{};
}

/// The interpreter ends, and this is a daemon thread. An exception would print its traceback, and Python
/// aborts where a thread does that while it ends.
[[noreturn]] void wait_for_the_end() {
  while (true) ::pause();
}

/// An iterator as Python holds it: one thread after another may ask it.
class IteratorHandle {
 public:
  IteratorHandle(DatasetPointer dataset, bool own_threads) : dataset_(std::move(dataset)) {
    iterator_ = without_lock([&] { return data::iterate(*dataset_, own_threads); });
  }
  ~IteratorHandle() {
    const HostUnlock unlocked;
    iterator_.reset();
    dataset_.reset();
  }
  IteratorHandle(const IteratorHandle&) = delete;

  py::object next() {
    data::Element element;
    if (!take(element)) return py::none();
    return to_python(element);
  }
  /// Whether there is another element, which becomes `element`.
  bool take(data::Element& element) {
    return asked([&] {
      if (!ahead_) return iterator_->next(element);
      element = std::move(*ahead_);
      ahead_.reset();
      return true;
    });
  }
  /// Whether there is another element, which stays the next one.
  bool has_next() {
    return asked([&] {
      if (ahead_) return true;
      data::Element element;
      if (!iterator_->next(element)) return false;
      ahead_ = std::move(element);
      return true;
    });
  }
  py::tuple save() {
    data::State state;
    without_lock([&] {
      const Turn turn(*this);
      data::StateWriter writer(state);
      iterator_->save(writer);
    });
    py::list tensors;
    for (const Tensor& tensor : state.tensors) tensors.append(checked(wrap(tensor)));
    const auto count = static_cast<std::int64_t>(state.numbers.size());
    return py::make_tuple(checked(wrap(Tensor::from_values<std::int64_t>(state.numbers, {count}))), tensors);
  }
  void restore(const py::handle numbers, const py::sequence& tensors) {
    data::State state;
    if (!is_tensor(numbers.ptr()) || tensor_of(numbers.ptr()).dtype() != DType::int64)
      fail<InvalidArgumentError>("the saved state of an iterator holds no int64 numbers");
    const Tensor values = tensor_of(numbers.ptr()).on_host().make_contiguous();
    state.numbers.assign(values.data<std::int64_t>(), values.data<std::int64_t>() + values.count());
    for (const py::handle tensor : tensors) {
      if (!is_tensor(tensor.ptr()))
        fail<InvalidArgumentError>("the saved state of an iterator holds ", short_repr(tensor.ptr()));
      state.tensors.push_back(tensor_of(tensor.ptr()).on_host());
    }
    without_lock([&] {
      const Turn turn(*this);
      data::StateReader reader(state);
      iterator_->restore(reader);
      ahead_.reset();
      reader.end();
    });
  }

 private:
  /// One thread at a time; a function of the data set's own may not ask for the next element.
  class Turn {
   public:
    explicit Turn(IteratorHandle& handle) : handle_(handle) {
      if (handle.owner_.load() == std::this_thread::get_id())
        fail<FailedPreconditionError>(
            "an iterator was asked for an element by a function of its own data set");
      handle.mutex_.lock();
      handle.owner_ = std::this_thread::get_id();
    }
    ~Turn() {
      handle_.owner_ = std::thread::id();
      handle_.mutex_.unlock();
    }
    Turn(const Turn&) = delete;

   private:
    IteratorHandle& handle_;
  };

  template <class Work>
  bool asked(Work&& work) {
    return without_lock([&] {
      try {
        const Turn turn(*this);
        return work();
      } catch (...) {
        if (::gettid() != ::getpid() && data::all_threads_stopped()) wait_for_the_end();
        throw;
      }
    });
  }

  DatasetPointer dataset_;
  data::IteratorPointer iterator_;
  std::optional<data::Element> ahead_;  ///< what has_next() found
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

Tensors tensors_of(const py::sequence& objects) {
  Tensors tensors;
  for (const py::handle object : objects) {
    if (!is_tensor(object.ptr()))
      fail<TypeMismatchError>("data set: ", short_repr(object.ptr()), " is not a tensor");
    tensors.push_back(tensor_of(object.ptr()).on_host());
  }
  return tensors;
}

std::vector<DatasetPointer> datasets_of(const std::vector<DatasetHandle>& handles) {
  std::vector<DatasetPointer> datasets;
  for (const DatasetHandle& handle : handles) datasets.push_back(handle.dataset);
  return datasets;
}

data::FunctionPointer optional_function(const py::object& function) {
  return function.is_none() ? nullptr : data_function(function);
}

data::Padding padding_of(const py::sequence& shapes, const py::sequence& values) {
  data::Padding padding;
  for (const py::handle shape : shapes) {
    if (shape.is_none())
      padding.shapes.emplace_back();
    else
      padding.shapes.emplace_back(shape.cast<std::vector<std::int64_t>>());
  }
  for (const py::handle value : values)
    padding.values.push_back(
        value.is_none() ? Tensor() : required_tensor(value.ptr(), "padded_batch: padding_values").on_host());
  return padding;
}

/// With a seed of its own a stage draws alike in every program of the same global seed; without, as the next
/// random op would.
std::uint64_t stage_seed(std::optional<std::int64_t> seed) {
  if (seed) return static_cast<std::uint64_t>(random_key(seed));
  const auto [key, counter] = next_random_key({}, 0);
  return static_cast<std::uint64_t>(key) + static_cast<std::uint64_t>(counter) * 0x9E3779B97F4A7C15U;
}

void bind_sources(py::module_& module) {
  const auto define = [&](const char* name, auto function) { module.def(name, function); };
  define("data_from_element", [](const py::sequence& leaves) {
    return DatasetHandle{data::from_element(element_from_python(leaves))};
  });
  define("data_from_slices",
         [](const py::sequence& tensors) { return DatasetHandle{data::from_slices(tensors_of(tensors))}; });
  define("data_range", [](std::int64_t first, std::int64_t end, std::int64_t step, const py::handle dtype) {
    return DatasetHandle{data::range(first, end, step,
                                     to_dtype(dtype.ptr(), {"range", "output_type"}).value_or(DType::int64))};
  });
  define("data_random", [](std::optional<std::int64_t> seed, bool same) {
    return DatasetHandle{data::random_numbers(stage_seed(seed), same)};
  });
  define("data_from_generator", [](const py::object& starter) {
    return DatasetHandle{data::from_generator(data_generator(starter))};
  });
  define("data_zip", [](const std::vector<DatasetHandle>& inputs) {
    return DatasetHandle{data::zip(datasets_of(inputs))};
  });
  define("data_choose", [](const DatasetHandle& choice, const std::vector<DatasetHandle>& inputs, bool stop) {
    return DatasetHandle{data::choose(choice.dataset, datasets_of(inputs), stop)};
  });
  define("data_from_files",
         [](std::vector<std::string> paths, int kind, const std::string& compression, std::size_t buffer_size,
            std::int64_t record_bytes, std::int64_t header_bytes, std::int64_t footer_bytes) {
           const data::FileFormat format{static_cast<data::FileFormat::Kind>(kind),
                                         data::compression_from_name(compression, "data set of files"),
                                         buffer_size,
                                         record_bytes,
                                         header_bytes,
                                         footer_bytes};
           return DatasetHandle{data::from_files(std::move(paths), format)};
         });
  module.def("data_stop_threads", &data::stop_all_threads, py::call_guard<HostUnlock>(),
             "Ends the threads of all iterators, for good: when the interpreter ends.");
}

void bind_stages(py::class_<DatasetHandle>& stage) {
  const auto define = [&](const char* name, auto function) { stage.def(name, function); };
  using Self = const DatasetHandle&;
  define("take",
         [](Self self, std::int64_t count) { return DatasetHandle{data::take(self.dataset, count)}; });
  define("skip",
         [](Self self, std::int64_t count) { return DatasetHandle{data::skip(self.dataset, count)}; });
  define("repeat",
         [](Self self, std::int64_t count) { return DatasetHandle{data::repeat(self.dataset, count)}; });
  define("shard", [](Self self, std::int64_t shards, std::int64_t index) {
    return DatasetHandle{data::shard(self.dataset, shards, index)};
  });
  define("concatenate",
         [](Self self, Self other) { return DatasetHandle{data::concatenate(self.dataset, other.dataset)}; });
  define("ignore_errors", [](Self self) { return DatasetHandle{data::ignore_errors(self.dataset)}; });
  define("unbatch", [](Self self) { return DatasetHandle{data::unbatch(self.dataset)}; });
  define("window", [](Self self, std::int64_t size, std::int64_t shift, std::int64_t stride, bool drop) {
    return DatasetHandle{data::window(self.dataset, size, shift, stride, drop)};
  });
  define("map", [](Self self, const py::object& function, const std::string& name) {
    return DatasetHandle{data::map(self.dataset, data_function(function), name)};
  });
  define("parallel_map", [](Self self, const py::object& function, int threads) {
    return DatasetHandle{data::parallel_map(self.dataset, data_function(function), threads)};
  });
  define("filter", [](Self self, const py::object& predicate) {
    return DatasetHandle{data::filter(self.dataset, data_function(predicate))};
  });
  define("take_while", [](Self self, const py::object& predicate) {
    return DatasetHandle{data::take_while(self.dataset, data_function(predicate))};
  });
  define("scan", [](Self self, const py::sequence& state, const py::object& function) {
    return DatasetHandle{data::scan(self.dataset, element_from_python(state), data_function(function))};
  });
  define("interleave", [](Self self, const py::object& function, std::int64_t cycle, std::int64_t block,
                          bool prefetched, const std::string& name) {
    return DatasetHandle{
        data::interleave(self.dataset, data_function(function), cycle, block, prefetched, name)};
  });
  define("group_by_window", [](Self self, const py::object& key, const py::object& reduce,
                               const py::object& size, std::int64_t fixed) {
    return DatasetHandle{data::group_by_window(
        self.dataset, {data_function(key), data_function(reduce), optional_function(size), fixed})};
  });
}

void bind_buffering_stages(py::class_<DatasetHandle>& stage) {
  const auto define = [&](const char* name, auto function) { stage.def(name, function); };
  using Self = const DatasetHandle&;
  define("batch", [](Self self, std::int64_t size, bool drop) {
    return DatasetHandle{data::batch(self.dataset, size, drop)};
  });
  define("padded_batch",
         [](Self self, std::int64_t size, const py::sequence& shapes, const py::sequence& values, bool drop) {
           return DatasetHandle{data::padded_batch(self.dataset, size, padding_of(shapes, values), drop)};
         });
  define("shuffle",
         [](Self self, std::int64_t buffer_size, std::optional<std::int64_t> seed, bool reshuffle) {
           return DatasetHandle{data::shuffle(self.dataset, buffer_size, stage_seed(seed), reshuffle)};
         });
  define("cache", [](Self self, const std::string& path) {
    return DatasetHandle{path.empty() ? data::cache(self.dataset) : data::cache_in_file(self.dataset, path)};
  });
  define("prefetch", [](Self self, std::int64_t buffer_size) {
    return DatasetHandle{data::prefetch(self.dataset, buffer_size)};
  });
  define("cardinality", [](Self self) { return self.dataset->cardinality(); });
  define("iterate", [](Self self, bool own_threads) {
    return std::make_unique<IteratorHandle>(self.dataset, own_threads);
  });
  stage.def_property_readonly(
      "name", [](Self self) { return self.dataset->name(); }, "What it does.\nReturns: str.");
}

// ---- loops of graphs over data sets: two calls for each element, which therefore do without Python's
// functions

/// The handle of what `carrier_of(tf.data.Iterator)` gave.
IteratorHandle& handle_carried_by(const Tensor& carrier) {
  static PyObject* name = PyUnicode_InternFromString("_iterator");
  const py::object iterator = carried_by(carrier);
  return checked(PyObject_GetAttr(iterator.ptr(), name)).cast<IteratorHandle&>();
}

Tensors next_of_carried(std::span<const Tensor> values) {
  const py::gil_scoped_acquire lock;
  Tensors leaves;
  if (gpu_count() > 0) {  // elements may go to one
    const py::object found = checked(PyObject_CallNoArgs(carried_by(values[0]).attr("_next_leaves").ptr()));
    if (found.is_none()) fail<OutOfRangeError>("End of sequence");
    for (const py::handle leaf : found) leaves.push_back(required_tensor(leaf.ptr(), "next element"));
    return leaves;
  }
  data::Element element;
  if (!handle_carried_by(values[0]).take(element)) fail<OutOfRangeError>("End of sequence");
  for (data::Component& leaf : element) leaves.push_back(std::move(leaf.tensor));
  return leaves;
}

py::object more_in_graph(const py::handle carrier) {
  const auto more = [](std::span<const Tensor> values) {
    const py::gil_scoped_acquire lock;
    return Tensors(1, Tensor::scalar(handle_carried_by(values[0]).has_next(), DType::bool_));
  };
  const graph::ValueSpec result{DType::bool_, {}, {}};
  return checked(wrap(graph::host_call({"more elements", more, false, {}}, {&result, 1},
                                       {&required_tensor(carrier.ptr(), "iterator"), 1})[0]));
}

/// `results`: dtype and shape of each leaf, all of which are tensors.
py::list next_in_graph(const py::handle carrier, const py::sequence& results) {
  std::vector<graph::ValueSpec> specs;
  for (const py::handle result : results) {
    const auto [dtype, shape] = py::cast<std::pair<py::object, py::object>>(result);
    const auto [sample, unknown] = shape_given(shape.ptr());
    specs.push_back({to_dtype(dtype.ptr(), {"iterator", "dtype"}).value(), sample, unknown});
  }
  return list_of(graph::host_call({"next element", next_of_carried, false, {}}, specs,
                                  {&required_tensor(carrier.ptr(), "iterator"), 1}));
}

}  // namespace

void bind_data(py::module_& module) {
  py::class_<IteratorHandle>(module, "DataIterator",
                             "An iterator of a data set's stages; elements are lists of leaves.")
      .def("next", &IteratorHandle::next, "The next element, or None at the end.")
      .def("has_next", &IteratorHandle::has_next, "Whether there is another element, which next() gives.")
      .def("save", &IteratorHandle::save, "(numbers, tensors): what restore() takes.")
      .def("restore", &IteratorHandle::restore);
  py::class_<DatasetHandle> stage(module, "DataStage",
                                  "A data set as the engine has it: without a structure.");
  bind_sources(module);
  bind_stages(stage);
  bind_buffering_stages(stage);
  bind_data_files(module);
  module.def("graph_iterator_more", &more_in_graph, py::arg("carrier"),
             "In a graph, whether an iterator that carrier_of gave has another element.");
  module.def("graph_iterator_next", &next_in_graph, py::arg("carrier"), py::arg("results"),
             "In a graph, its next element: a list of tensors of these (dtype, shape).");
}

}  // namespace tapedeck::python
