// A session whose trace is saved and opened again.
#pragma once

#include "tests/engine/record/recording.h"
#include "tests/engine/record/traced_program.h"

namespace traced {

struct Saved : Recording {
  explicit Saved(const RecorderOptions& options = {}) : Recording(options) {}
  std::string path(const char* name = "run.tapetrace") const { return folder.filePath(name).toStdString(); }
  protocol::TraceSaved save() const { return trace_file::save(recorder, request_for(path())); }
  std::unique_ptr<Recorder> open() const { return trace_file::open(path()); }
  QTemporaryDir folder;
};

}  // namespace traced
