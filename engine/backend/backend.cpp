#include "engine/backend/backend.h"

#include <sstream>

namespace tapedeck {

std::string place_in_batch(const Shape& batch, std::int64_t number) {
  if (batch.rank() == 0) return {};
  std::string text;
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    text = std::to_string(number % batch[axis]) + (text.empty() ? "" : ", ") + text;
    number /= batch[axis];
  }
  return "[" + text + "]";
}

namespace {

void replace(std::string& text, const char* mark, std::string_view with) {
  if (const std::size_t at = text.find(mark); at != std::string::npos) text.replace(at, 3, with);
}

}  // namespace

std::string named(const kernels::FlawText& text) {
  std::string named = text.pattern;
  replace(named, "{o}", text.op);
  replace(named, "{i}", text.input);
  return named;
}

std::string told(const kernels::FlawText& text, const kernels::MatrixFlaw& flaw) {
  std::ostringstream value;
  value << flaw.flaw.value;
  std::string told = named(text);
  replace(told, "{m}", place_in_batch(text.batch, flaw.matrix));
  replace(told, "{p}", std::to_string(flaw.flaw.place));
  replace(told, "{v}", value.str());
  return told;
}

void Backend::unary(kernels::Unary, DType, const void*, void*, std::int64_t) const {
  throw NoKernel("unary");
}
void Backend::unary(kernels::Unary, DType, const kernels::Operand&, void*, const Shape&) const {
  throw NoKernel("unary");
}
void Backend::binary(kernels::Binary, DType, const kernels::Values&, const kernels::Values&, void*,
                     std::int64_t) const {
  throw NoKernel("binary");
}
void Backend::binary(kernels::Binary, DType, const kernels::Operand&, const kernels::Operand&, void*,
                     const Shape&) const {
  throw NoKernel("binary");
}
void Backend::clip(DType, const void*, const kernels::Values&, const kernels::Values&, void*,
                   std::int64_t) const {
  throw NoKernel("clip");
}
void Backend::scaled_sum(DType, const kernels::Values&, const void*, const kernels::Values&, const void*,
                         void*, std::int64_t) const {
  throw NoKernel("scaled_sum");
}
void Backend::select(DType, const kernels::Operand&, const kernels::Operand&, const kernels::Operand&, void*,
                     const Shape&) const {
  throw NoKernel("select");
}
void Backend::cast(DType, DType, const kernels::Operand&, void*, const Shape&) const {
  throw NoKernel("cast");
}
void Backend::widen(DType, const std::uint16_t*, float*, std::int64_t) const {
  throw NoKernel("widen");
}
void Backend::narrow(DType, const float*, std::uint16_t*, std::int64_t) const {
  throw NoKernel("narrow");
}
void Backend::copy(std::size_t, const void*, const Strides&, void*, const Strides&, const Shape&) const {
  throw NoKernel("copy");
}
void Backend::fill(std::size_t, const void*, void*, std::int64_t) const {
  throw NoKernel("fill");
}
void Backend::gather_rows(const void*, std::int64_t, std::int64_t, const std::int64_t*, std::int64_t,
                          std::size_t, void*) const {
  throw NoKernel("gather_rows");
}
void Backend::pick(std::size_t, const void*, std::int64_t, std::int64_t, const std::int64_t*, void*) const {
  throw NoKernel("pick");
}
void Backend::scatter_rows(const void*, const std::int64_t*, std::int64_t, std::size_t, void*) const {
  throw NoKernel("scatter_rows");
}
std::optional<BadIndex> Backend::check_indices(DType, const void*, std::int64_t, std::int64_t, std::int64_t,
                                               std::int64_t*, const std::string&) const {
  throw NoKernel("check_indices");
}
void Backend::one_hot(std::size_t, DType, const void*, std::int64_t, std::int64_t, std::int64_t, const void*,
                      const void*, void*) const {
  throw NoKernel("one_hot");
}
void Backend::sequence(DType, const kernels::Sequence&, void*, std::int64_t) const {
  throw NoKernel("sequence");
}
void Backend::linspace(DType, const kernels::Values&, const kernels::Values&, void*, std::int64_t) const {
  throw NoKernel("linspace");
}
void Backend::band_part(std::size_t, const void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                        std::int64_t, void*) const {
  throw NoKernel("band_part");
}
void Backend::pack_diagonals(std::size_t, const kernels::DiagonalBand&, const void*, std::int64_t,
                             void*) const {
  throw NoKernel("pack_diagonals");
}
void Backend::unpack_diagonals(std::size_t, const kernels::DiagonalBand&, const void*, std::int64_t,
                               void*) const {
  throw NoKernel("unpack_diagonals");
}
std::optional<std::int64_t> Backend::slice_numbers(DType, const void*, std::int64_t, const Shape&,
                                                   std::int64_t, std::int64_t*, const std::string&) const {
  throw NoKernel("slice_numbers");
}
std::optional<std::int64_t> Backend::invert_permutation(const std::int64_t*, std::int64_t, std::int64_t*,
                                                        const std::string&) const {
  throw NoKernel("invert_permutation");
}
std::int64_t Backend::count_true(const bool*, std::int64_t) const {
  throw NoKernel("count_true");
}
std::int64_t Backend::true_coordinates(const bool*, const Shape&, std::int64_t, std::int64_t*) const {
  throw NoKernel("true_coordinates");
}
bool Backend::any(const bool*, std::int64_t, const std::string&) const {
  throw NoKernel("any");
}
void Backend::reduce(kernels::Reduction, DType, const void*, std::int64_t, std::int64_t, std::int64_t,
                     void*) const {
  throw NoKernel("reduce");
}
void Backend::arg_extreme(bool, DType, const void*, std::int64_t, std::int64_t, std::int64_t,
                          std::int64_t*) const {
  throw NoKernel("arg_extreme");
}
void Backend::dot(DType, const void*, const void*, std::int64_t, void*) const {
  throw NoKernel("dot");
}
void Backend::squared_distance(DType, const void*, const void*, std::int64_t, void*) const {
  throw NoKernel("squared_distance");
}
void Backend::length_scales(DType, const void*, const void*, std::int64_t, void*) const {
  throw NoKernel("length_scales");
}
void Backend::scan(kernels::Scan, DType, const void*, std::int64_t, std::int64_t, std::int64_t, void*) const {
  throw NoKernel("scan");
}
void Backend::scan_log_sum_exp(kernels::Scan, DType, const void*, std::int64_t, std::int64_t, std::int64_t,
                               void*) const {
  throw NoKernel("scan_log_sum_exp");
}
void Backend::scan_max(bool, DType, const void*, std::int64_t, std::int64_t, void*, std::int32_t*) const {
  throw NoKernel("scan_max");
}
void Backend::segment_rows(kernels::Segment, DType, const void*, const std::int64_t*, std::int64_t,
                           std::int64_t, void*) const {
  throw NoKernel("segment_rows");
}
void Backend::segment_neutral(kernels::Segment, DType, void*, std::int64_t) const {
  throw NoKernel("segment_neutral");
}
void Backend::sort_rows(bool, DType, const void*, std::int64_t, std::int64_t, void*) const {
  throw NoKernel("sort_rows");
}
void Backend::argsort_rows(bool, DType, const void*, std::int64_t, std::int64_t, std::int32_t*) const {
  throw NoKernel("argsort_rows");
}
void Backend::top_k_rows(DType, const void*, std::int64_t, std::int64_t, std::int64_t, void*,
                         std::int32_t*) const {
  throw NoKernel("top_k_rows");
}
void Backend::in_top_k(DType, const void*, std::int64_t, std::int64_t, const std::int64_t*, std::int64_t,
                       bool*) const {
  throw NoKernel("in_top_k");
}
void Backend::search_rows(bool, DType, const void*, std::int64_t, const void*, std::int64_t, std::int64_t,
                          DType, void*) const {
  throw NoKernel("search_rows");
}
void Backend::softmax(DType, const void*, std::int64_t, std::int64_t, void*) const {
  throw NoKernel("softmax");
}
void Backend::log_softmax(DType, const void*, std::int64_t, std::int64_t, void*) const {
  throw NoKernel("log_softmax");
}
void Backend::logsumexp(DType, const void*, std::int64_t, std::int64_t, void*) const {
  throw NoKernel("logsumexp");
}
void Backend::random_uniform(DType, const kernels::StreamPlace&, double, double, void*, std::int64_t) const {
  throw NoKernel("random_uniform");
}
void Backend::random_integers(DType, const kernels::StreamPlace&, std::int64_t, std::int64_t, void*,
                              std::int64_t) const {
  throw NoKernel("random_integers");
}
void Backend::random_normal(DType, const kernels::StreamPlace&, double, double, bool, void*,
                            std::int64_t) const {
  throw NoKernel("random_normal");
}
void Backend::random_dropout(DType, const kernels::StreamPlace&, double, const void*, void*,
                             std::int64_t) const {
  throw NoKernel("random_dropout");
}
void Backend::random_order(const kernels::StreamPlace&, std::int64_t, std::int64_t*) const {
  throw NoKernel("random_order");
}
std::int64_t Backend::random_classes(DType, const void*, std::int64_t, std::int64_t,
                                     const kernels::StreamPlace&, DType, void*, std::int64_t,
                                     const std::string&) const {
  throw NoKernel("random_classes");
}
void Backend::random_gamma(DType, const void*, std::int64_t, const kernels::StreamPlace&, void*,
                           std::int64_t) const {
  throw NoKernel("random_gamma");
}
void Backend::random_gamma_slope(int, DType, const void*, const void*, void*, std::int64_t) const {
  throw NoKernel("random_gamma_slope");
}
void Backend::random_poisson(const double*, std::int64_t, const kernels::StreamPlace&, DType, void*,
                             std::int64_t) const {
  throw NoKernel("random_poisson");
}
void Backend::random_binomial(const double*, const double*, const kernels::StreamPlace&, DType, void*,
                              std::int64_t) const {
  throw NoKernel("random_binomial");
}
void Backend::incomplete_gamma(bool, DType, const void*, const void*, void*, std::int64_t) const {
  throw NoKernel("incomplete_gamma");
}
void Backend::gamma_density(DType, const void*, const void*, void*, std::int64_t) const {
  throw NoKernel("gamma_density");
}
void Backend::incomplete_beta(DType, const void*, const void*, const void*, void*, std::int64_t) const {
  throw NoKernel("incomplete_beta");
}
void Backend::beta_density(DType, const void*, const void*, const void*, void*, std::int64_t) const {
  throw NoKernel("beta_density");
}
void Backend::matmul(DType, const kernels::MatmulSize&, std::span<const void* const>,
                     std::span<const void* const>, void*) const {
  throw NoKernel("matmul");
}
std::optional<kernels::MatrixFlaw> Backend::cholesky(const kernels::Matrices&, const void*, void*,
                                                     const kernels::FlawText&) const {
  throw NoKernel("cholesky");
}
std::optional<kernels::MatrixFlaw> Backend::lu(const kernels::Matrices&, const void*, void*, DType, void*,
                                               const kernels::FlawText&) const {
  throw NoKernel("lu");
}
std::optional<kernels::MatrixFlaw> Backend::inverse(const kernels::Matrices&, bool, const void*, void*,
                                                    const kernels::FlawText&) const {
  throw NoKernel("inverse");
}
std::optional<kernels::MatrixFlaw> Backend::solve(const kernels::Matrices&, bool, const void*, const void*,
                                                  void*, const kernels::FlawText&) const {
  throw NoKernel("solve");
}
std::optional<kernels::MatrixFlaw> Backend::triangular_solve(const kernels::Matrices&, bool, bool,
                                                             const void*, const void*, void*,
                                                             const kernels::FlawText&) const {
  throw NoKernel("triangular_solve");
}
void Backend::determinant(const kernels::Matrices&, const void*, void*) const {
  throw NoKernel("determinant");
}
void Backend::log_determinant(const kernels::Matrices&, const void*, void*, void*) const {
  throw NoKernel("log_determinant");
}
void Backend::qr(const kernels::Matrices&, bool, const void*, void*, void*) const {
  throw NoKernel("qr");
}
void Backend::svd(const kernels::Matrices&, bool, const void*, void*, void*, void*) const {
  throw NoKernel("svd");
}
std::optional<kernels::MatrixFlaw> Backend::symmetric_eigen(const kernels::Matrices&, const void*, void*,
                                                            void*, const kernels::FlawText&) const {
  throw NoKernel("symmetric_eigen");
}
void Backend::pseudo_inverse(const kernels::Matrices&, double, const void*, void*) const {
  throw NoKernel("pseudo_inverse");
}
void Backend::convolution(DType, const kernels::ConvolutionSize&, const void*, const void*, void*) const {
  throw NoKernel("convolution");
}
void Backend::convolution_input_gradient(DType, const kernels::ConvolutionSize&, const void*, const void*,
                                         void*) const {
  throw NoKernel("convolution_input_gradient");
}
void Backend::convolution_filter_gradient(DType, const kernels::ConvolutionSize&, const void*, const void*,
                                          void*) const {
  throw NoKernel("convolution_filter_gradient");
}
void Backend::max_pool(DType, const kernels::PoolingSize&, const void*, void*) const {
  throw NoKernel("max_pool");
}
void Backend::max_pool_scatter(DType, const kernels::PoolingSize&, const void*, const void*, void*) const {
  throw NoKernel("max_pool_scatter");
}
void Backend::max_pool_gather(DType, const kernels::PoolingSize&, const void*, const void*, void*) const {
  throw NoKernel("max_pool_gather");
}
void Backend::max_pool_positions(DType, const kernels::PoolingSize&, const void*, std::int64_t*) const {
  throw NoKernel("max_pool_positions");
}
void Backend::avg_pool(DType, const kernels::PoolingSize&, const void*, void*) const {
  throw NoKernel("avg_pool");
}
void Backend::avg_pool_scatter(DType, const kernels::PoolingSize&, const void*, void*) const {
  throw NoKernel("avg_pool_scatter");
}
void Backend::resample(DType, const kernels::ResampleSize&, const void*, const std::int64_t*, const void*,
                       void*) const {
  throw NoKernel("resample");
}
void Backend::resample_gradient(DType, const kernels::ResampleSize&, const void*, const std::int64_t*,
                                const void*, void*) const {
  throw NoKernel("resample_gradient");
}
void Backend::batch_norm(DType, const kernels::Channels&, const void*, const void*, const void*, double,
                         void*, void*, void*) const {
  throw NoKernel("batch_norm");
}
void Backend::batch_norm_gradient(DType, const kernels::Channels&, const void*, const void*, const void*,
                                  const void*, const void*, double, void*, void*, void*) const {
  throw NoKernel("batch_norm_gradient");
}
void Backend::layer_norm(DType, std::int64_t, std::int64_t, const void*, const void*, const void*, double,
                         void*, void*, void*) const {
  throw NoKernel("layer_norm");
}
void Backend::layer_norm_gradient(DType, std::int64_t, std::int64_t, const void*, const void*, const void*,
                                  const void*, const void*, double, void*, void*, void*) const {
  throw NoKernel("layer_norm_gradient");
}
void Backend::attention(DType, const kernels::AttentionSize&, const kernels::AttentionMatrices&,
                        const kernels::AttentionMatrices&, const kernels::AttentionMatrices&,
                        const kernels::AttentionBias&, const kernels::AttentionMatrices&, void*) const {
  throw NoKernel("attention");
}
void Backend::attention_gradient(DType, const kernels::AttentionSize&, const kernels::AttentionMatrices&,
                                 const kernels::AttentionMatrices&, const kernels::AttentionMatrices&,
                                 const void*, const kernels::AttentionCotangents&,
                                 const kernels::AttentionGradients&) const {
  throw NoKernel("attention_gradient");
}
void Backend::recurrent(kernels::RecurrentCell, DType, const kernels::RecurrentSize&,
                        const kernels::RecurrentInputs&, const kernels::RecurrentResults&) const {
  throw NoKernel("recurrent");
}
void Backend::recurrent_gradient(kernels::RecurrentCell, DType, const kernels::RecurrentSize&,
                                 const kernels::RecurrentInputs&, const kernels::RecurrentResults&,
                                 const kernels::RecurrentCotangents&,
                                 const kernels::RecurrentGradients&) const {
  throw NoKernel("recurrent_gradient");
}
void Backend::update(kernels::Update, DType, const kernels::UpdateArrays&, const double*,
                     std::int64_t) const {
  throw NoKernel("update");
}
std::int64_t Backend::sum_rows(DType, const void*, const std::int64_t*, std::int64_t, std::int64_t,
                               std::int64_t*, void*) const {
  throw NoKernel("sum_rows");
}
void Backend::update_rows(kernels::Update, DType, const kernels::UpdateArrays&, const double*,
                          const std::int64_t*, std::int64_t, std::int64_t) const {
  throw NoKernel("update_rows");
}
void Backend::summarize(DType, const void*, std::int64_t, kernels::BlockSummary*) const {
  throw NoKernel("summarize");
}
void Backend::histogram(DType, const void*, std::int64_t, double, double, std::span<std::uint64_t>) const {
  throw NoKernel("histogram");
}
void Backend::cell_means(DType, const void*, const kernels::Cells&, double*) const {
  throw NoKernel("cell_means");
}
void Backend::differences(DType, const void*, const void*, std::int64_t, const kernels::AllowedDifference&,
                          kernels::BlockDifference*) const {
  throw NoKernel("differences");
}

}  // namespace tapedeck
