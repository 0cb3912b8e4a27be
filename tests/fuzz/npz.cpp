// NumPy's .npz archives: opened, and all their arrays read.
#include "engine/data/npz.h"

#include "engine/data/data_error.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck;

void fuzz::parse(Bytes bytes) {
  static const File file;
  file.write(text_of(bytes));
  may_refuse<Error>([] {
    const data::NpzFile opened(file.path());
    for (const data::NpzMember& member : opened.members())
      may_refuse<Error>([&] {
        const Tensor tensor = opened.read(member);
        expect(tensor.bytes() <= member.size, "an array is no larger than its member");
        if (!tensor.bytes()) return;
        try {
          tensor.to_vector();
        } catch (const TypeMismatchError&) {  // complex values are no vector of doubles
        }
      });
  });
}
