// Shapes, views, conversions, devices, and printing.
#include <QtTest>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "engine/tensor/strings.h"
#include "engine/tensor/tensor.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

template <class T>
Tensor tensor_of(std::vector<T> values, const Shape& shape) {
  return Tensor::from_values(std::span<const T>(values), shape);
}

Tensor floats(std::initializer_list<float> values) {
  return tensor_of(std::vector<float>(values), {static_cast<std::int64_t>(values.size())});
}

Tensor iota(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0.F);
  return tensor_of(std::move(values), shape);
}

Tensor booleans(std::vector<char> values, const Shape& shape) {
  return Tensor::from_values(std::span(reinterpret_cast<const bool*>(values.data()), values.size()), shape);
}

/// An array with a mixture of magnitudes, as text for Python and as a tensor.
struct RandomArray {
  std::string line;  // dtype, shape, hexadecimal bytes
  Tensor tensor;
};

template <class T>
RandomArray random_array(std::mt19937_64& random) {
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  Shape shape;
  const int rank = below(4);
  for (int axis = 0; axis < rank; ++axis) shape.push_back(below(8) == 0 ? 40 : 1 + below(6));
  std::vector<T> values(static_cast<std::size_t>(element_count(shape)));
  const int style = below(6);
  for (T& value : values) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    if constexpr (std::is_floating_point_v<T>) {
      if (style == 0) value = static_cast<T>(below(200) - 100);
      if (style == 1) value = static_cast<T>((unit - 0.5) * 4);
      if (style == 2) value = static_cast<T>(std::pow(10., unit * 20 - 10));
      if (style == 3) value = static_cast<T>(below(100) / 8.);
      if (style == 4) value = static_cast<T>(unit * 1e8);
      if (style == 5)
        value = std::bit_cast<T>(
            static_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(random()));
      if (below(60) == 0) value = std::numeric_limits<T>::quiet_NaN();
      if (below(60) == 0) value = std::numeric_limits<T>::infinity() * (below(2) ? 1 : -1);
    } else {
      value = static_cast<T>(style < 3 ? below(200) - 100 : static_cast<std::int64_t>(random()));
    }
  }
  std::string extents;
  for (const std::int64_t extent : shape) extents += std::to_string(extent) + ",";
  const QByteArray bytes(reinterpret_cast<const char*>(values.data()),
                         static_cast<int>(values.size() * sizeof(T)));
  return {std::string(dtype_name(dtype_of<T>())) + ";" + extents + ";" + bytes.toHex().toStdString(),
          tensor_of(std::move(values), shape)};
}

}  // namespace

class TestTensor : public QObject {
  Q_OBJECT

 private slots:
  void a_shape_prints_as_a_python_tuple() {
    QCOMPARE(to_string(Shape{}), "()");
    QCOMPARE(to_string(Shape{3}), "(3,)");
    QCOMPARE(to_string(Shape{2, 3}), "(2, 3)");
  }

  void a_thirty_third_axis_is_refused() {
    Shape shape;
    for (int axis = 0; axis < 32; ++axis) shape.push_back(axis);
    EXPECT_ERROR(InvalidArgumentError, shape.push_back(33), "a tensor has at most 32 axes, not 33");
    EXPECT_ERROR(InvalidArgumentError, shape.resize(33), "a tensor has at most 32 axes, not 33");
    QCOMPARE(shape.rank(), 32);
    QCOMPARE(shape[31], std::int64_t{31});
    EXPECT_ERROR(InvalidArgumentError, Shape(std::vector<std::int64_t>(40)),
                 "a tensor has at most 32 axes, not 40");
  }

  // Those of more than eight axes stand elsewhere in memory.
  void shapes_of_any_rank_are_values() {
    for (int rank = 0; rank <= max_rank; ++rank) {
      std::vector<std::int64_t> extents;
      for (int axis = 0; axis < rank; ++axis) extents.push_back(axis + 1);
      const Shape shape(extents);
      QVERIFY(std::equal(shape.begin(), shape.end(), extents.begin(), extents.end()));
      for (int other = 0; other <= max_rank; ++other) {
        Shape changed = shape;
        changed.resize(other);
        for (int axis = 0; axis < other; ++axis)
          QCOMPARE(changed[axis], axis < rank ? std::int64_t{axis + 1} : std::int64_t{0});
        QCOMPARE(changed == shape, other == rank);
        Shape copy{7, 7, 7};
        copy = changed;
        QCOMPARE(copy, changed);
        Shape moved = std::move(copy);
        QCOMPARE(moved, changed);
        moved = Shape(shape);
        QCOMPARE(moved, shape);
        moved = *&moved;
        QCOMPARE(moved, shape);
      }
      Shape grown;
      for (const std::int64_t extent : extents) grown.push_back(extent);
      QCOMPARE(grown, shape);
    }
  }

  void resizing_a_shape_zeroes_axes_that_come_back() {
    Shape shape{5, 6};
    shape.resize(1);
    shape.resize(2);
    QCOMPARE(shape, (Shape{5, 0}));
  }

  void element_counts_that_overflow_are_refused() {
    QCOMPARE(element_count({1LL << 31, 1LL << 31}), std::int64_t{1} << 62);
    QCOMPARE(element_count({1LL << 40, 1LL << 40, 0}), std::int64_t{0});
    EXPECT_ERROR(ResourceExhaustedError, element_count({1LL << 40, 1LL << 40}),
                 "(1099511627776, 1099511627776) has more than 2^63 elements");
  }

  void broadcasting_follows_numpy() {
    QCOMPARE(broadcast_shapes({2, 1, 3}, {4, 1}, "add"), (Shape{2, 4, 3}));
    QCOMPARE(broadcast_shapes({}, {2, 3}, "add"), (Shape{2, 3}));
    QCOMPARE(broadcast_shapes({0}, {1}, "add"), (Shape{0}));
    EXPECT_ERROR(InvalidArgumentError, broadcast_shapes({2, 3}, {4}, "add"),
                 "add: shapes (2, 3) and (4,) do not broadcast: extents 3 and 4 differ and neither is 1");
    EXPECT_ERROR(InvalidArgumentError, broadcast_shapes({4}, {2, 3}, "add"), "extents 4 and 3 differ");
  }

  void device_names_read_as_tensorflow_writes_them() {
    QCOMPARE(to_string(device_from_name("CPU:0")), "/cpu:0");
    QCOMPARE(to_string(device_from_name("/device:GPU:1")), "/gpu:1");
    QCOMPARE(to_string(device_from_name("gpu")), "/gpu:0");
    QCOMPARE(to_string(device_from_name("/job:localhost/replica:0/task:0/device:CPU:0")), "/cpu:0");
    for (const char* name :
         {"", "tpu:0", "/cpu:", "/cpu:x", "/cpu:0x", "cpu:-1", "cpu:256", "cpu0", "/a/cpu:0"})
      EXPECT_ERROR(InvalidArgumentError, device_from_name(name),
                   std::string("'") + name + "' is not a device");
  }

  void a_tensor_on_a_gpu_that_is_not_there_is_refused() {
    EXPECT_ERROR(NotFoundError, Tensor::allocate(DType::float32, {2}, {DeviceKind::gpu, 3}), "/gpu:3");
  }

  void ids_are_unique_and_grow() {
    const Tensor first = Tensor::scalar(1);
    const Tensor second = Tensor::scalar(1);
    QVERIFY(first.id() > 0);
    QVERIFY(second.id() > first.id());
    constexpr int per_thread = 2000;
    std::vector<std::vector<std::uint64_t>> seen(4);
    std::vector<std::thread> threads;
    for (auto& ids : seen)
      threads.emplace_back([&ids] {
        for (int i = 0; i < per_thread; ++i) ids.push_back(Tensor::scalar(i).id());
      });
    for (std::thread& thread : threads) thread.join();
    std::set<std::uint64_t> all;
    for (const auto& ids : seen) {
      QVERIFY(std::is_sorted(ids.begin(), ids.end()));
      all.insert(ids.begin(), ids.end());
    }
    QCOMPARE(all.size(), std::size_t{4 * per_thread});
  }

  void from_values_copies_and_counts() {
    std::vector<std::int64_t> values = {1, -2, 3, 4};
    const Tensor tensor = tensor_of(values, {2, 2});
    values[0] = 9;
    QCOMPARE(tensor.to_vector(), (std::vector<double>{1, -2, 3, 4}));
    QCOMPARE(tensor.dtype(), DType::int64);
    QCOMPARE(tensor.bytes(), std::size_t{32});
    EXPECT_ERROR(InvalidArgumentError, tensor_of(values, {3}), "shape (3,) holds 3 values, not 4");
    EXPECT_ERROR(InvalidArgumentError, Tensor::allocate(DType::float32, {2, -1}),
                 "(2, -1) has a negative extent");
  }

  void scalars_have_every_dtype() {
    QCOMPARE(Tensor::scalar(2.75, DType::float64).item(), 2.75);
    QCOMPARE(Tensor::scalar(2.75, DType::int32).item(), 2.);
    QCOMPARE(Tensor::scalar(2.75, DType::bool_).item(), 1.);
    QCOMPARE(Tensor::scalar(0.1).item(), static_cast<double>(0.1F));
    EXPECT_ERROR(InvalidArgumentError, floats({1, 2}).item(), "a tensor of shape (2,) has 2 values");
  }

  void views_read_through_their_strides() {
    const Tensor matrix = iota({3, 4});
    const Tensor transposed = Tensor::view(matrix.storage(), DType::float32, {4, 3}, {1, 4}, 0);
    QVERIFY(!transposed.contiguous());
    QCOMPARE(transposed.to_vector(), (std::vector<double>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
    const Tensor backwards = Tensor::view(matrix.storage(), DType::float32, {4}, {-1}, 7);
    QCOMPARE(backwards.to_vector(), (std::vector<double>{7, 6, 5, 4}));
    const Tensor repeated = Tensor::view(matrix.storage(), DType::float32, {2, 3}, {0, 1}, 4);
    QCOMPARE(repeated.to_vector(), (std::vector<double>{4, 5, 6, 4, 5, 6}));
    const Tensor element = Tensor::view(matrix.storage(), DType::float32, {1, 1}, {99, -99}, 5);
    QVERIFY(element.contiguous());
    QCOMPARE(element.item(), 5.);
    QCOMPARE(matrix.storage()->references(), 5U);
  }

  void a_view_must_stay_inside_its_storage() {
    const Tensor vector = iota({6});
    const auto view = [&](const Shape& shape, const Strides& strides, std::int64_t offset) {
      return Tensor::view(vector.storage(), DType::float32, shape, strides, offset);
    };
    QCOMPARE(view({2, 3}, {3, 1}, 0).count(), std::int64_t{6});
    QCOMPARE(view({0, 3}, {3, 1}, 6).count(), std::int64_t{0});
    EXPECT_ERROR(InvalidArgumentError, view({2, 3}, {3, 1}, 1), "leaves its storage of 24 bytes");
    EXPECT_ERROR(InvalidArgumentError, view({3}, {-1}, 1), "offset 1 leaves its storage");
    EXPECT_ERROR(InvalidArgumentError, view({2}, {std::numeric_limits<std::int64_t>::max()}, 3), "leaves");
    EXPECT_ERROR(InvalidArgumentError, view({2}, {1, 1}, 0), "needs 1 strides, not 2");
  }

  void make_contiguous_keeps_what_is_contiguous() {
    const Tensor matrix = iota({3, 4});
    QVERIFY(matrix.make_contiguous().same_body(matrix));
  }

  void make_contiguous_agrees_with_indexing_for_any_strides() {
    std::mt19937 random(7);
    const Tensor pool = iota({4000});
    for (int round = 0; round < 200; ++round) {
      Shape shape;
      Strides strides;
      std::int64_t lowest = 0;
      const int rank = static_cast<int>(random() % 5);
      for (int axis = 0; axis < rank; ++axis) {
        shape.push_back(static_cast<std::int64_t>(random() % 6));
        strides.push_back(static_cast<std::int64_t>(random() % 81) - 40);
        if (strides[axis] < 0 && shape[axis] > 0) lowest += strides[axis] * (shape[axis] - 1);
      }
      const Tensor view = Tensor::view(pool.storage(), DType::float32, shape, strides, -lowest);
      std::vector<double> expected;
      for (std::int64_t flat = 0; flat < view.count(); ++flat) {
        std::int64_t rest = flat, at = -lowest;
        for (int axis = rank - 1; axis >= 0; --axis) {
          at += rest % shape[axis] * strides[axis];
          rest /= shape[axis];
        }
        expected.push_back(static_cast<double>(at));
      }
      const Tensor copy = view.make_contiguous();
      QVERIFY(copy.contiguous());
      QCOMPARE(copy.shape(), shape);
      QCOMPARE(copy.to_vector(), expected);
    }
  }

  void large_transposes_copy_every_element() {
    const Tensor matrix = iota({130, 70});
    const Tensor copy =
        Tensor::view(matrix.storage(), DType::float32, {70, 130}, {1, 70}, 0).make_contiguous();
    for (int row = 0; row < 70; ++row)
      for (int column = 0; column < 130; ++column)
        QCOMPARE(copy.data<float>()[row * 130 + column], static_cast<float>(column * 70 + row));
  }

  void absurd_sizes_are_refused_with_both_sizes() {
    EXPECT_ERROR(ResourceExhaustedError, Tensor::allocate(DType::float64, {1000000, 1000000}),
                 "a float64 tensor of shape (1000000, 1000000) needs 7.3 TiB, the machine has ");
    EXPECT_ERROR(ResourceExhaustedError, Tensor::allocate(DType::float64, {1LL << 31, 1LL << 31}), "needs ");
  }

  // ---- printing: the texts are what NumPy's str() gives ---------------------------------------------------

  void scalars_print_as_numpy_scalars() {
    QCOMPARE(format_values(Tensor::scalar(4)), "4.0");
    QCOMPARE(format_values(Tensor::scalar(1.5)), "1.5");
    QCOMPARE(format_values(Tensor::scalar(0.1, DType::float64)), "0.1");
    QCOMPARE(format_values(Tensor::scalar(1e-5)), "1e-05");
    QCOMPARE(format_values(Tensor::scalar(3e16)), "3e+16");
    QCOMPARE(format_values(Tensor::scalar(-7, DType::int32)), "-7");
    QCOMPARE(format_values(Tensor::scalar(1, DType::bool_)), "True");
    QCOMPARE(format_values(Tensor::scalar(NAN)), "nan");
    QCOMPARE(format_values(Tensor::scalar(-INFINITY)), "-inf");
  }

  void vectors_align_their_numbers() {
    QCOMPARE(format_values(floats({6})), "[6.]");
    QCOMPARE(format_values(floats({1, 2.5F, -3})), "[ 1.   2.5 -3. ]");
    QCOMPARE(format_values(floats({1, NAN, INFINITY})), "[ 1. nan inf]");
    QCOMPARE(format_values(floats({1, -INFINITY})), "[  1. -inf]");
    QCOMPARE(format_values(floats({1e-5F, 1})), "[1.e-05 1.e+00]");
    QCOMPARE(format_values(floats({1.0F / 3})), "[0.33333334]");
    QCOMPARE(format_values(tensor_of<double>({1.0 / 3, 1e-12 + 1}, {2})), "[0.33333333 1.        ]");
    QCOMPARE(format_values(tensor_of<std::int32_t>({1, -20, 300}, {3})), "[  1 -20 300]");
    QCOMPARE(format_values(booleans({1, 0}, {2})), "[ True False]");
    QCOMPARE(format_values(booleans({1}, {1})), "[ True]");
  }

  void nested_brackets_indent() {
    QCOMPARE(format_values(iota({2, 2})), "[[0. 1.]\n [2. 3.]]");
    QCOMPARE(format_values(tensor_of<std::int64_t>({1, 2, 3, 4}, {2, 2, 1})),
             "[[[1]\n  [2]]\n\n [[3]\n  [4]]]");
    QCOMPARE(format_values(Tensor::allocate(DType::float32, {0, 3})), "[]");
  }

  void long_arrays_show_their_edges() {
    QCOMPARE(format_values(iota({1001})), "[   0.    1.    2. ...  998.  999. 1000.]");
    QCOMPARE(format_values(iota({40, 40}), 1), "[[   0. ...   39.]\n ...\n [1560. ... 1599.]]");
    QVERIFY(!QString::fromStdString(format_values(iota({1000}))).contains("..."));
  }

  void a_summary_of_a_huge_view_reads_only_its_edges() {
    const Tensor one = Tensor::scalar(2);
    const Tensor huge =
        Tensor::view(one.storage(), DType::float32, {1000000, 1000000, 1000000}, {0, 0, 0}, 0);
    QVERIFY(format_values(huge).starts_with("[[[2. 2. 2. ... 2. 2. 2.]\n  [2. 2. 2. ..."));
  }

  void views_print_as_their_copies() {
    const Tensor matrix = iota({30, 50});
    const Tensor transposed = Tensor::view(matrix.storage(), DType::float32, {50, 30}, {1, 50}, 0);
    QCOMPARE(format_values(transposed), format_values(transposed.make_contiguous()));
  }

  void random_arrays_print_as_numpy_prints_them() {
    std::mt19937_64 random(11);
    std::vector<RandomArray> arrays;
    for (int i = 0; i < 400; ++i) {
      if (i % 4 == 0) arrays.push_back(random_array<float>(random));
      if (i % 4 == 1) arrays.push_back(random_array<double>(random));
      if (i % 4 == 2) arrays.push_back(random_array<float>(random));
      if (i % 4 == 3) arrays.push_back(random_array<std::int64_t>(random));
    }
    if (std::string(TAPEDECK_PYTHON).empty()) QSKIP("there is no Python with NumPy here");
    const QTemporaryDir folder;
    const std::string script = folder.filePath("print.py").toStdString();
    const std::string given = folder.filePath("given").toStdString();
    const std::string printed = folder.filePath("printed").toStdString();
    std::ofstream input(given);
    for (const RandomArray& array : arrays) input << array.line << "\n";
    input.close();
    std::ofstream(script) << R"(
import sys, numpy as np
for line in sys.stdin:
    dtype, shape, data = line.strip().split(';')
    shape = tuple(int(n) for n in shape.split(',') if n)
    print(str(np.frombuffer(bytes.fromhex(data), dtype=dtype).reshape(shape)[()]), end='\0'))";
    const std::string command = "'" TAPEDECK_PYTHON "' '" + script + "' <'" + given + "' >'" + printed + "'";
    QCOMPARE(std::system(command.c_str()), 0);
    std::vector<std::string> texts;
    std::ifstream output(printed);
    for (std::string text; std::getline(output, text, '\0');) texts.push_back(text);
    QCOMPARE(texts.size(), arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const std::string ours = format_values(arrays[i].tensor);
      QVERIFY2(ours == texts[i], (ours + "\nis in NumPy\n" + texts[i]).c_str());
    }
  }

  void strings_share_the_bytes_that_they_are_made_of() {
    std::vector<std::string> words = {"tape", std::string(100, 'x'), "", std::string("\0\xff", 2)};
    const Tensor all = string_tensor({2, 2}, words);
    QCOMPARE(strings_of(all), (std::vector<std::string_view>(words.begin(), words.end())));
    const Tensor turned = Tensor::view(all.storage(), DType::string, {2, 2}, {1, 2}, 0);
    QCOMPARE(strings_of(turned)[1], std::string_view(""));
    Tensor copy;
    {
      const Tensor gone = Tensor::view(all.storage(), DType::string, {2, 2}, {1, 2}, 0).make_contiguous();
      copy = Tensor::view(gone.storage(), DType::string, {1}, {1}, 2);
    }
    QCOMPARE(string_of(copy), std::string_view(words[1]));
    QCOMPARE(strings_of(Tensor::allocate(DType::string, {2})), (std::vector<std::string_view>(2)));
    QVERIFY_THROWS_EXCEPTION(InvalidArgumentError, string_tensor({3}, words));
    QVERIFY_THROWS_EXCEPTION(TypeMismatchError, strings_of(Tensor::scalar(1)));
    QVERIFY_THROWS_EXCEPTION(InvalidArgumentError, string_of(all));
  }

  void a_small_part_of_many_bytes_does_not_hold_them() {
    const std::vector<std::string> words(2000, std::string(1000, 'y'));
    const Tensor all = string_tensor({2000}, words);
    const auto references = all.storage()->references();
    Tensor part = Tensor::allocate(DType::string, {1});
    *part.writable_data<std::string_view>() = all.data<std::string_view>()[7];
    share_strings(*part.storage().get(), {&all, 1});
    QVERIFY(part.data<std::string_view>()->data() != all.data<std::string_view>()[7].data());
    QCOMPARE(string_of(part), std::string_view(words[7]));
    QCOMPARE(all.storage()->references(), references);
  }

  void strings_print_as_pythons_bytes() {
    const std::string one_quote = "a'b", both_quotes = "a'b\"\\\n\xff";
    const std::string double_quoted = "b\"a'b\"", escaped = "b'a\\'b\"\\\\\\n\\xff'";
    QCOMPARE(bytes_literal(one_quote), double_quoted);
    QCOMPARE(bytes_literal(both_quotes), escaped);
    QCOMPARE(bytes_literal("long text", 4), std::string("b'long…'"));
    const std::vector<std::string> words = {"a", "bc"};
    QCOMPARE(format_values(string_tensor({2}, words)), std::string("[b'a' b'bc']"));
  }
};

TAPEDECK_TEST(TestTensor)
#include "tst_tensor.moc"
