// Sessions that cannot import the engine.
#pragma once

#include "tests/files.h"

namespace tapedeck::test {

/// Makes what a session needs to fail at `import tapedeck`, where PYTHONPATH has the folder. Python reads
/// that file before anything else; what lies beside the notebook comes behind the engine.
inline void refuseEngine(const QString& folder) {
  write(folder + QStringLiteral("/sitecustomize.py"),
        "import sys\n"
        "class Refused:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tapedeck': raise ImportError('it is for another Python')\n"
        "sys.meta_path.insert(0, Refused())\n");
}

}  // namespace tapedeck::test
