// Record files and images for Python.
#include <pybind11/stl.h>

#include "engine/data/image_codec.h"
#include "engine/data/record_file.h"
#include "engine/python/errors.h"
#include "engine/python/modules/data_module.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::python {

namespace {

using data::compression_from_name;

/// The bytes of a bytes-like object, which stays alive.
class Bytes {
 public:
  Bytes(const py::handle object, const char* op) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) == 0) return;
    PyErr_Clear();
    fail<TypeMismatchError>(op, ": ", short_repr(object.ptr()), "; needs bytes");
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  operator std::string_view() const {
    return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

template <class Work>
auto unlocked(Work&& work) {
  const HostUnlock lock_given_up;
  return work();
}

DType dtype_or_bytes(const py::handle dtype, const char* op) {
  return to_dtype(dtype.ptr(), {op, "dtype"}).value_or(DType::uint8);
}

void bind_images(py::module_& module) {
  module.def("encode_png", [](const py::handle image, int compression) {
    const Tensor tensor = required_tensor(image.ptr(), "encode_png: image").on_host();
    return py::bytes(unlocked([&] { return data::encode_png(tensor, compression); }));
  });
  module.def("encode_jpeg", [](const py::handle image, int quality, bool progressive, bool optimize_size,
                               bool chroma_downsampling, bool per_centimetre, int x_density, int y_density) {
    const Tensor tensor = required_tensor(image.ptr(), "encode_jpeg: image").on_host();
    const data::JpegEncoding encoding{quality,        progressive, optimize_size, chroma_downsampling,
                                      per_centimetre, x_density,   y_density};
    return py::bytes(unlocked([&] { return data::encode_jpeg(tensor, encoding); }));
  });
  module.def("decode_png", [](const py::handle contents, int channels, const py::handle dtype) {
    const Bytes bytes(contents, "decode_png");
    const DType wanted = dtype_or_bytes(dtype, "decode_png");
    return checked(wrap(unlocked([&] { return data::decode_png(bytes, channels, wanted); })));
  });
  module.def("decode_image", [](const py::handle contents, int channels, const py::handle dtype) {
    const Bytes bytes(contents, "decode_image");
    const DType wanted = dtype_or_bytes(dtype, "decode_image");
    return checked(wrap(unlocked([&] { return data::decode_image(bytes, channels, wanted); })));
  });
  module.def("decode_bmp", [](const py::handle contents, int channels) {
    const Bytes bytes(contents, "decode_bmp");
    return checked(wrap(unlocked([&] { return data::decode_bmp(bytes, channels); })));
  });
  module.def("decode_jpeg", [](const py::handle contents, int channels, int ratio, bool fancy_upscaling,
                               bool try_recover_truncated, float acceptable_fraction, bool fast) {
    const Bytes bytes(contents, "decode_jpeg");
    const data::JpegDecoding decoding{
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, fast};
    return checked(wrap(unlocked([&] { return data::decode_jpeg(bytes, decoding); })));
  });
  module.def("jpeg_extent", [](const py::handle contents) {
    const data::ImageExtent extent =
        data::jpeg_extent(Bytes(contents, "extract_jpeg_shape"), "extract_jpeg_shape");
    return py::make_tuple(extent.height, extent.width, extent.channels);
  });
  module.def("image_format", [](const py::handle contents) {
    return std::string(data::image_format(Bytes(contents, "image_format")));
  });
}

void bind_record_files(py::module_& module) {
  py::class_<data::RecordWriter>(module, "RecordWriter")
      .def(py::init([](std::string path, const std::string& compression, int level) {
        return std::make_unique<data::RecordWriter>(
            std::move(path), compression_from_name(compression, "TFRecordWriter"), false, level);
      }))
      .def("write",
           [](data::RecordWriter& writer, const py::handle record) {
             const Bytes bytes(record, "write");
             unlocked([&] { writer.write(bytes); });
           })
      .def("flush", &data::RecordWriter::flush, py::call_guard<HostUnlock>())
      .def("close", &data::RecordWriter::close, py::call_guard<HostUnlock>());
  py::class_<data::RecordReader>(module, "RecordReader")
      .def(py::init([](std::string path, const std::string& compression) {
        return std::make_unique<data::RecordReader>(std::move(path),
                                                    compression_from_name(compression, "tf_record_iterator"));
      }))
      .def(
          "next",
          [](data::RecordReader& reader) -> py::object {
            std::string record;
            if (!unlocked([&] { return reader.read(record); })) return py::none();
            return py::bytes(record);
          },
          "The next record's bytes, or None at the end.");
}

}  // namespace

void bind_data_files(py::module_& module) {
  bind_images(module);
  bind_record_files(module);
}

}  // namespace tapedeck::python
