// What the tests of this folder include most; compiled once for all of them.
#pragma once

#include "tests/control/control_world.h"
