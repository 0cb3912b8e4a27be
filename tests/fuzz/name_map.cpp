// Name maps of comparisons, as lines and as JSON.
#include "engine/debug/compare/name_map.h"

#include "engine/debug/tile.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck;

void fuzz::parse(Bytes bytes) {
  may_refuse<debug::BadRequest>([&] {
    for (const debug::NamePair& pair : debug::parse_name_map(text_of(bytes))) {
      expect(!pair.left.empty() && !pair.right.empty() && pair.line > 0,
             "a pair has both names and its line");
      expect(debug::mapped_name({pair}, pair.left) == pair.right, "a name has its counterpart");
    }
  });
}
