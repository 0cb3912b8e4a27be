// Eigen's matrix functions, whose headers do not compile with our warnings.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <unsupported/Eigen/MatrixFunctions>
#pragma GCC diagnostic pop
