#include "engine/python/torch/torch_library.h"

namespace tapedeck::python::torch {
namespace {

Library* loaded = nullptr;

PyObject* attribute_of(PyObject* owner, const char* name) {
  return checked(PyObject_GetAttrString(owner, name)).release().ptr();
}

PyObject* attribute_or_null(PyObject* owner, const char* name) {
  PyObject* found = PyObject_GetAttrString(owner, name);
  if (!found) PyErr_Clear();
  return found;
}

void find_dtypes(Library& torch) {
  constexpr std::pair<const char*, DType> known[] = {
      {"bool", DType::bool_},      {"int32", DType::int32},         {"int64", DType::int64},
      {"float32", DType::float32}, {"float64", DType::float64},     {"int8", DType::int8},
      {"int16", DType::int16},     {"uint8", DType::uint8},         {"uint16", DType::uint16},
      {"uint32", DType::uint32},   {"float16", DType::float16},     {"bfloat16", DType::bfloat16},
      {"uint64", DType::uint64},   {"complex64", DType::complex64}, {"complex128", DType::complex128}};
  for (const auto& [name, dtype] : known)
    if (PyObject* object = attribute_or_null(torch.module, name)) torch.dtypes.emplace(object, dtype);
}

/// A new tensor, because one of the program may have had its storage asked for.
bool has_lasting_storages(PyObject* module) {
  py::dict how;
  how["device"] = "cpu";
  const py::object tensor = checked(PyObject_GetAttrString(module, "empty"))(0, **how);
  return tensor.attr("untyped_storage")().is(tensor.attr("untyped_storage")());
}

void find_storages(PyObject* module, Library& torch) {
  torch.data_pointer = attribute_of(reinterpret_cast<PyObject*>(torch.tensor), "data_ptr");
  torch.storages_are_objects = has_lasting_storages(module);
  if (torch.storages_are_objects) return;
  const auto storage = checked(PyObject_GetAttrString(module, "UntypedStorage"));
  torch.storage_expired = attribute_of(storage.ptr(), "_expired");
  torch.free_weak_storage = attribute_of(storage.ptr(), "_free_weak_ref");
}

Reader reader_of(const Library& torch, const char* name, bool is_method) {
  Reader reader;
  reader.name = checked(PyUnicode_InternFromString(name)).release().ptr();
  reader.is_method = is_method;
  const auto found = checked(PyObject_GetAttr(reinterpret_cast<PyObject*>(torch.tensor), reader.name));
  if (!is_method && Py_IS_TYPE(found.ptr(), &PyGetSetDescr_Type)) {
    const PyGetSetDef* definition = reinterpret_cast<PyGetSetDescrObject*>(found.ptr())->d_getset;
    reader.get = definition->get;
    reader.closure = definition->closure;
  } else if (is_method && Py_IS_TYPE(found.ptr(), &PyMethodDescr_Type)) {
    const PyMethodDef* definition = reinterpret_cast<PyMethodDescrObject*>(found.ptr())->d_method;
    if (definition->ml_flags == METH_NOARGS) reader.call = definition->ml_meth;
  }
  return reader;  // a class keeps its descriptors
}

void find_readers(Library& torch) {
  const std::pair<Reader*, const char*> properties[] = {
      {&torch.version, "_version"}, {&torch.shape, "shape"},   {&torch.dtype_of, "dtype"},
      {&torch.layout, "layout"},    {&torch.is_cpu, "is_cpu"}, {&torch.requires_grad, "requires_grad"}};
  for (const auto& [reader, name] : properties) *reader = reader_of(torch, name, false);
  const std::pair<Reader*, const char*> methods[] = {{&torch.is_conj, "is_conj"},
                                                     {&torch.is_neg, "is_neg"},
                                                     {&torch.is_inference, "is_inference"},
                                                     {&torch.storage_offset, "storage_offset"},
                                                     {&torch.untyped_storage, "untyped_storage"}};
  for (const auto& [reader, name] : methods) *reader = reader_of(torch, name, true);
}

/// The start of DLPack's exchange table (DLPackExchangeAPI), version 1.
struct ExchangeTable {
  std::uint32_t major, minor;
  void *previous, *not_used[3];
  int (*describe)(void* tensor, DescribedTensor* described);
};

/// Whether a lazy clone is still one after it was described. Without lazy clones it does not matter.
bool keeps_lazy_clones(PyObject* core, const Library& torch, const ExchangeTable& table) {
  if (!torch.lazy_clone) return true;
  const auto is_lazy = py::reinterpret_steal<py::object>(PyObject_GetAttrString(core, "_is_cow_tensor"));
  if (!is_lazy) {
    PyErr_Clear();
    return false;
  }
  py::dict how;
  how["device"] = "cpu";
  const py::object tensor = checked(PyObject_GetAttrString(torch.module, "ones"))(1, **how);
  const py::object clone = py::handle(torch.lazy_clone)(tensor);
  DescribedTensor described;
  if (table.describe(clone.ptr(), &described) != 0) {
    PyErr_Clear();
    return false;
  }
  return is_lazy(clone).cast<bool>();
}

void find_description(PyObject* core, Library& torch) {
  constexpr std::uint32_t understood = 1;
  constexpr const char* name = "dlpack_exchange_api";
  torch.strided_layout = attribute_of(torch.module, "strided");
  const auto function =
      py::reinterpret_steal<py::object>(PyObject_GetAttrString(core, "_const_dlpack_exchange_api"));
  const auto capsule =
      py::reinterpret_steal<py::object>(function ? PyObject_CallNoArgs(function.ptr()) : nullptr);
  if (!capsule || !PyCapsule_IsValid(capsule.ptr(), name)) return PyErr_Clear();
  const auto* table = static_cast<const ExchangeTable*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (table->major == understood && table->describe && keeps_lazy_clones(core, torch, *table))
    torch.describe = table->describe;
}

}  // namespace

void load_library(PyObject* module) {
  if (loaded) return;
  auto torch = std::make_unique<Library>();
  torch->module = Py_NewRef(module);
  torch->tensor = reinterpret_cast<PyTypeObject*>(attribute_of(module, "Tensor"));
  torch->dtype = reinterpret_cast<PyTypeObject*>(attribute_of(module, "dtype"));
  torch->grad_enabled = attribute_of(module, "is_grad_enabled");
  torch->inference_enabled = attribute_of(module, "is_inference_mode_enabled");
  const auto operators = checked(PyObject_GetAttrString(module, "_ops"));
  torch->overload = reinterpret_cast<PyTypeObject*>(attribute_of(operators.ptr(), "OpOverload"));
  const auto core = checked(PyObject_GetAttrString(module, "_C"));
  torch->storage_address = attribute_or_null(core.ptr(), "_storage_address");
  if (!torch->storage_address) torch->storage_address = attribute_of(core.ptr(), "_storage_id");
  torch->function_modes = attribute_of(core.ptr(), "_len_torch_function_stack");
  torch->no_functions = attribute_of(core.ptr(), "DisableTorchFunction");
  torch->function_node = reinterpret_cast<PyTypeObject*>(attribute_of(core.ptr(), "_FunctionBase"));
  torch->data_address = attribute_or_null(core.ptr(), "_data_address");
  find_storages(module, *torch);
  torch->lazy_clone = attribute_or_null(module, "_lazy_clone");
  const auto autograd = checked(PyObject_GetAttrString(core.ptr(), "_autograd"));
  torch->sequence_number = attribute_or_null(autograd.ptr(), "_get_sequence_nr");
  find_dtypes(*torch);
  find_readers(*torch);
  find_description(core.ptr(), *torch);
  const std::pair<PyObject**, const char*> names[] = {
      {&torch->name_stride, "stride"},      {&torch->name_untyped_storage, "untyped_storage"},
      {&torch->name_nbytes, "nbytes"},      {&torch->name_device, "device"},
      {&torch->name_weak_ref, "_weak_ref"}, {&torch->name_op, "_op"},
      {&torch->name_schema, "_schema"},     {&torch->name_sequence_nr, "_sequence_nr"},
      {&torch->name_metadata, "metadata"},  {&torch->name_enter, "__enter__"},
      {&torch->name_exit, "__exit__"}};
  for (const auto& [place, text] : names) *place = checked(PyUnicode_InternFromString(text)).release().ptr();
  loaded = torch.release();
}

const Library* library() {
  return loaded;
}

WithoutFunctions::WithoutFunctions() : scope_(checked(PyObject_CallNoArgs(library()->no_functions))) {
  checked(PyObject_CallMethodNoArgs(scope_.ptr(), library()->name_enter));
}

WithoutFunctions::~WithoutFunctions() {
  const py::error_scope raised;
  PyObject* left = PyObject_CallMethodObjArgs(scope_.ptr(), library()->name_exit, Py_None, Py_None, Py_None,
                                              static_cast<PyObject*>(nullptr));
  if (!left) PyErr_Clear();
  Py_XDECREF(left);
}

bool has_function_mode() {
  std::int64_t count = 0;
  return to_number(py::reinterpret_steal<py::object>(PyObject_CallNoArgs(library()->function_modes)),
                   count) &&
         count > 0;
}

std::optional<DType> dtype_named(const Library& torch, PyObject* dtype) {
  const auto found = torch.dtypes.find(dtype);
  return found == torch.dtypes.end() ? std::nullopt : std::optional(found->second);
}

PyObject* dtype_object(const Library& torch, DType dtype) {
  for (const auto& [object, known] : torch.dtypes)
    if (known == dtype) return object;
  return nullptr;
}

}  // namespace tapedeck::python::torch
