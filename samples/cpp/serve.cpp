// Classifies pictures with a model that a notebook trained and saved, without Python:
//     tapedeck_serve FOLDER PICTURE…
// samples/convnet.ipynb ends with such a folder. Its signature takes pictures (a batch, rows, columns,
// channels) of uint8, and gives a `kind` (a text) and a `chance` of each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "engine/data/image_codec.h"
#include "engine/saved_model/function.h"
#include "engine/tapedeck.h"
#include "engine/tensor/strings.h"

using namespace tapedeck;

namespace {

std::string bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file) fail<NotFoundError>("it cannot be read");
  return bytes;
}

/// A batch of one picture, with as many channels as the function takes.
Tensor picture_at(const char* path, const Function::Parameter& pictures) {
  // Of a function that takes any number of channels, as many as the picture has.
  const auto channels = std::max<std::int64_t>(pictures.shape.back(), 0);
  const Tensor picture = data::decode_image(bytes_of(path), static_cast<int>(channels));
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (pictures.shape[axis + 1] >= 0 && pictures.shape[axis + 1] != picture.dim(static_cast<int>(axis)))
      fail<InvalidArgumentError>("it has ", picture.dim(0), " rows of ", picture.dim(1),
                                 " pixels; the model takes ", pictures.shape[1], " of ", pictures.shape[2]);
  return ops::expand_dims(picture, 0);
}

const Function::Parameter& pictures_of(const Function& classify) {
  const std::vector<Function::Parameter>& inputs = classify.inputs();
  if (inputs.size() != 1 || inputs[0].dtype != DType::uint8 || inputs[0].shape.size() != 4)
    fail<InvalidArgumentError>("the model's signature takes no batch of pictures");
  return inputs[0];
}

/// Whether the picture was classified.
bool classify_one(const Function& classify, const char* path) {
  try {
    const Function::Parameter& pictures = pictures_of(classify);
    const std::map<std::string, Tensor> found = classify({{pictures.name, picture_at(path, pictures)}});
    const auto kinds = found.find("kind"), chances = found.find("chance");
    if (kinds == found.end() || chances == found.end() || kinds->second.count() != 1 ||
        kinds->second.dtype() != DType::string || chances->second.count() != 1)
      fail<InvalidArgumentError>("the model's signature gives no kind and chance of one picture");
    const std::string kind(strings_of(kinds->second)[0]);
    std::printf("%s: %s (%.1f %%)\n", path, kind.c_str(), 100 * chances->second.item());
    return true;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", path, error.what());
    return false;
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s FOLDER PICTURE…\n", arguments[0]);
    return 2;
  }
  try {
    const auto start = std::chrono::steady_clock::now();
    const Function classify = Function::load(arguments[1]);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    std::printf("loaded in %.1f ms\n", taken.count());
    int failed = 0;
    for (int i = 2; i < count; ++i) failed += !classify_one(classify, arguments[i]);
    return failed ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
