// Test rows of diagonals, bands, traces and Einstein sums.
#pragma once

#include <algorithm>
#include <map>

#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

/// Diagonals of rows × columns matrices, as TensorFlow's documentation of matrix_diag_part defines them.
struct DiagonalCase {
  std::int64_t rows, columns;
  ops::Integers k;
  std::string align;

  std::int64_t length_of(std::int64_t d) const {
    return std::min(columns - std::max<std::int64_t>(d, 0), rows + std::min<std::int64_t>(d, 0));
  }
  std::int64_t longest() const {
    std::int64_t most = 0;
    for (std::int64_t d = k.front(); d <= k.back(); ++d) most = std::max(most, length_of(d));
    return most;
  }
  Shape packed(Shape batch) const {
    if (k.front() != k.back()) batch.push_back(k.back() - k.front() + 1);
    batch.push_back(longest());
    return batch;
  }
  /// The matrix's (row, column) for an index of the packed form; nothing in the padding.
  bool locate(const std::vector<std::int64_t>& index, std::int64_t& row, std::int64_t& column) const {
    const std::int64_t d = k.front() == k.back() ? k.front() : k.back() - index[index.size() - 2];
    const bool right = (d >= 0 && align.starts_with("RIGHT")) || (d <= 0 && align.ends_with("_RIGHT"));
    const std::int64_t n = index.back() - (right ? longest() - length_of(d) : 0);
    row = n + std::max<std::int64_t>(-d, 0);
    column = n + std::max<std::int64_t>(d, 0);
    return n >= 0 && n < length_of(d);
  }
};

inline std::vector<DiagonalCase> diagonal_cases() {
  return {{3, 3, {0}, "RIGHT_LEFT"},      {2, 4, {1}, "RIGHT_LEFT"},     {4, 3, {-2}, "LEFT_RIGHT"},
          {3, 4, {-2, 1}, "RIGHT_LEFT"},  {4, 3, {-1, 2}, "LEFT_RIGHT"}, {3, 3, {-1, 1}, "LEFT_LEFT"},
          {3, 5, {-2, 4}, "RIGHT_RIGHT"}, {3, 3, {1, 2}, "RIGHT_LEFT"},  {1, 1, {0}, "RIGHT_LEFT"}};
}

inline DiagonalCase case_of(const Call& call, const Shape& matrix) {
  return {matrix[matrix.rank() - 2], matrix[matrix.rank() - 1], std::get<ops::Integers>(call.attributes[0]),
          std::get<std::string>(call.attributes[1])};
}

inline Rows diagonal_rows() {
  Row part{"matrix_diag_part", {}, {}, 0};
  Row diag{"matrix_diag", {}, {}, 0};
  Row set{"matrix_set_diag", {}, {}, 0};
  for (const DiagonalCase& d : diagonal_cases())
    for (const Shape& batch : std::vector<Shape>{{}, {2}}) {
      Shape matrix = batch;
      matrix.push_back(d.rows);
      matrix.push_back(d.columns);
      const auto inputs = [=](Random& random, bool first, bool second) {
        Tensors tensors;
        if (first) tensors.push_back(random_tensor(random, matrix));
        if (second) tensors.push_back(random_tensor(random, d.packed(batch)));
        return tensors;
      };
      part.calls.push_back([=](Random& random) {
        return Call{inputs(random, true, false), {d.k, d.align, 7.0}, d.packed(batch)};
      });
      diag.calls.push_back([=](Random& random) {
        return Call{inputs(random, false, true), {d.k, d.align, d.rows, d.columns, -3.0}, matrix};
      });
      set.calls.push_back([=](Random& random) {
        return Call{inputs(random, true, true), {d.k, d.align}, matrix};
      });
    }
  part.reference = [](const Call& call) {
    const Array x(call.inputs[0]);
    const DiagonalCase d = case_of(call, x.shape);
    Array out(call.expected, 7.0);
    for_each_index(out.shape, [&](const auto& index) {
      std::vector<std::int64_t> at(index.begin(), index.begin() + x.shape.rank() - 2);
      at.resize(at.size() + 2);
      if (d.locate(index, at[at.size() - 2], at.back())) out(index) = x(at);
    });
    return Arrays{out};
  };
  const auto placed = [](const Call& call, Array out, const Array& packed) {
    const DiagonalCase d = case_of(call, out.shape);
    for_each_index(packed.shape, [&](const auto& index) {
      std::vector<std::int64_t> at(index.begin(), index.begin() + out.shape.rank() - 2);
      at.resize(at.size() + 2);
      if (d.locate(index, at[at.size() - 2], at.back())) out(at) = packed(index);
    });
    return Arrays{out};
  };
  diag.reference = [=](const Call& call) {
    return placed(call, Array(call.expected, -3.0), Array(call.inputs[0]));
  };
  set.reference = [=](const Call& call) {
    return placed(call, Array(call.inputs[0]), Array(call.inputs[1]));
  };
  return {part, diag, set};
}

/// Sums over every combination of the labels' values. No `...` in the equation.
inline Arrays einsum_by_loops(const Call& call) {
  std::vector<std::string> terms(1);
  for (const char letter : std::get<std::string>(call.attributes[0]))
    if (letter == ',' || letter == '>')
      terms.emplace_back();
    else if (letter != '-' && letter != ' ')
      terms.back() += letter;
  std::map<char, std::int64_t> extents;
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    arrays.emplace_back(call.inputs[i]);
    for (std::size_t axis = 0; axis < terms[i].size(); ++axis)
      extents[terms[i][axis]] = call.inputs[i].dim(static_cast<int>(axis));
  }
  Shape all, result;
  for (const auto& [letter, extent] : extents) all.push_back(extent);
  for (const char letter : terms.back()) result.push_back(extents[letter]);
  Array out(result);
  for_each_index(all, [&](const std::vector<std::int64_t>& values) {
    std::map<char, std::int64_t> value;
    std::size_t next = 0;
    for (const auto& [letter, extent] : extents) value[letter] = values[next++];
    const auto index_of = [&](const std::string& term) {
      std::vector<std::int64_t> index;
      for (const char letter : term) index.push_back(value[letter]);
      return index;
    };
    double product = 1;
    for (std::size_t i = 0; i < arrays.size(); ++i) product *= arrays[i](index_of(terms[i]));
    out(index_of(terms.back())) += product;
  });
  return {out};
}

inline Rows matrix_shape_rows() {
  Rows rows = diagonal_rows();
  Row band{"matrix_band_part", {}, {}, 0};
  for (const auto& [lower, upper] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{-1, 0}, {0, -1}, {0, 0}, {1, 2}, {-1, -1}, {2, 1}})
    for (const Shape& shape : std::vector<Shape>{{3, 3}, {2, 3, 4}, {4, 2}})
      band.calls.push_back([=, lower = lower, upper = upper](Random& random) {
        return Call{{random_tensor(random, shape)}, {lower, upper}};
      });
  band.reference = [](const Call& call) {
    const Array x(call.inputs[0]);
    const auto lower = std::get<std::int64_t>(call.attributes[0]);
    const auto upper = std::get<std::int64_t>(call.attributes[1]);
    Array out(x.shape);
    for_each_index(x.shape, [&](const auto& i) {
      const std::int64_t below = i[i.size() - 2] - i.back();
      if ((lower < 0 || below <= lower) && (upper < 0 || -below <= upper)) out(i) = x(i);
    });
    return Arrays{out};
  };
  rows.push_back(band);
  Row trace{"trace", {}, {}, 1e-14};
  for (const Shape& shape : std::vector<Shape>{{3, 3}, {2, 3, 4}, {4, 2}, {0, 3}, {2, 1, 3, 2}})
    trace.calls.push_back([=](Random& random) { return Call{{random_tensor(random, shape)}}; });
  trace.reference = [](const Call& call) {
    const Array x(call.inputs[0]);
    Array out(Shape(x.shape.span().first(static_cast<std::size_t>(x.shape.rank() - 2))));
    for_each_index(x.shape, [&](const auto& i) {
      if (i[i.size() - 2] == i.back()) out({i.begin(), i.end() - 2}) += x(i);
    });
    return Arrays{out};
  };
  rows.push_back(trace);
  Row einsum{"einsum", {}, einsum_by_loops, 1e-13};
  const std::vector<std::pair<std::string, std::vector<Shape>>> cases = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"ji,kj->ki", {{3, 2}, {4, 3}}},
      {"ii->", {{3, 3}}},
      {"ii->i", {{3, 3}}},
      {"i->ii", {{3}}},
      {"iji->j", {{2, 3, 2}}},
      {"ij->ji", {{2, 3}}},
      {"ij->", {{2, 3}}},
      {"i,j->ij", {{2}, {3}}},
      {"i,i->", {{4}, {4}}},
      {"i,i->i", {{4}, {4}}},
      {"bij,bjk->bik", {{2, 2, 3}, {2, 3, 2}}},
      {"bij,kj->ikb", {{2, 2, 3}, {2, 3}}},
      {"ab,bc,cd,da->", {{2, 3}, {3, 2}, {2, 3}, {3, 2}}},
      {"ij,kl->k", {{2, 3}, {3, 2}}},
      {"iij,jk->kii", {{2, 2, 3}, {3, 2}}},
      {"abc,abc,c->ab", {{2, 2, 3}, {2, 2, 3}, {3}}},
      {",i->i", {{}, {3}}},
      {"ij,jk->ik", {{2, 0}, {0, 3}}},
  };
  for (const auto& [equation, shapes] : cases)
    einsum.calls.push_back([equation = equation, shapes = shapes](Random& random) {
      Call call{{}, {equation}};
      for (const Shape& shape : shapes) call.inputs.push_back(random_tensor(random, shape));
      return call;
    });
  rows.push_back(einsum);
  return rows;
}

}  // namespace tapedeck::testing
