// moc's output for the interface lives here.
#include "inspector/model/source.h"
