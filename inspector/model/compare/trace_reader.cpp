// moc's output for the interface lives here.
#include "inspector/model/compare/trace_reader.h"
