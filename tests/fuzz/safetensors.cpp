// Safetensors files: opened, and all their tensors read.
#include "engine/data/safetensors.h"

#include "engine/data/data_error.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck;

void fuzz::parse(Bytes bytes) {
  static const File file;
  file.write(text_of(bytes));
  may_refuse<data::DataLossError>([] {
    const data::SafetensorsFile opened(file.path());
    for (const data::StoredTensor& stored : opened.tensors()) {
      try {
        const Tensor tensor = opened.read(stored.name);
        expect(tensor.bytes() == stored.end - stored.begin,
               "a tensor has the bytes that the header gives it");
        if (tensor.dtype() != DType::string) tensor.to_vector();
      } catch (const UnimplementedError&) {      // a dtype that the engine does not have
      } catch (const ResourceExhaustedError&) {  // extents that no tensor has
      } catch (const TypeMismatchError&) {       // complex values are no vector of doubles
      }
    }
  });
}
