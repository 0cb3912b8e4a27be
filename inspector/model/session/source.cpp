// moc's output for the interface lives here.
#include "inspector/model/session/source.h"
