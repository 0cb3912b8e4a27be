# What all folders' CMakeLists share: warnings, sanitizers, compiler cache, linker, and the interpreter.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(LLD ld.lld)
if(LLD)
  add_link_options(-fuse-ld=lld)
endif()
# GCC 12 leaves functions' cold parts without a single instruction, and LLD's table of frames then names such an empty one
# for the function behind it: an exception thrown there finds no handler and ends the process. Without cold parts there
# are none; tests/unwind_tables.py looks.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(-fno-reorder-blocks-and-partition)
endif()

if(TAPEDECK_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
  message(FATAL_ERROR "TAPEDECK_FUZZ needs Clang, whose libFuzzer runs the fuzzers; this is ${CMAKE_CXX_COMPILER_ID}. "
                      "`cmake --preset fuzz` takes clang++.")
endif()
if(TAPEDECK_SANITIZE)
  add_compile_options(-fsanitize=${TAPEDECK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TAPEDECK_SANITIZE})
endif()

find_package(Threads REQUIRED)

# tapedeck_library(NAME [QT] [OBJECTS] [HEADERS engine|core|widgets] SOURCES… ) is a static library, or object files, with the house's
# warnings; QT adds moc, HEADERS takes the precompiled headers of that name.
function(tapedeck_library name)
  cmake_parse_arguments(ARG "QT;OBJECTS" "HEADERS" "SOURCES" ${ARGN})
  if(NOT ARG_SOURCES MATCHES "[.]cpp")
    list(APPEND ARG_SOURCES ${CMAKE_SOURCE_DIR}/resources/cmake/empty.cpp)
  endif()
  if(ARG_OBJECTS)
    add_library(${name} OBJECT ${ARG_SOURCES})
  else()
    add_library(${name} STATIC ${ARG_SOURCES})
  endif()
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  tapedeck_warnings(${name})
  if(ARG_QT)
    set_target_properties(${name} PROPERTIES AUTOMOC ON AUTORCC ON)
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TAPEDECK_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  if(ARG_HEADERS)
    target_precompile_headers(${name} REUSE_FROM tapedeck_precompiled_${ARG_HEADERS})
  endif()
endfunction()

# tapedeck_precompiled(NAME HEADER LIBRARIES…): the header compiled once, for all targets that reuse it. Each would take ten to
# twenty seconds with a set of its own.
function(tapedeck_precompiled name header)
  add_library(tapedeck_precompiled_${name} OBJECT ${CMAKE_SOURCE_DIR}/resources/cmake/empty.cpp)
  target_include_directories(tapedeck_precompiled_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(tapedeck_precompiled_${name} PRIVATE ${ARGN})
  tapedeck_warnings(tapedeck_precompiled_${name})  # -Wpedantic decides on macros that the compiler defines
  target_precompile_headers(tapedeck_precompiled_${name} PRIVATE ${CMAKE_SOURCE_DIR}/resources/cmake/precompiled/${header}.h)
endfunction()

function(tapedeck_warnings name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()  # the warnings are chosen for GCC; what Clang builds are the fuzzers
  endif()
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Werror
                         # GCC 12 sees overflows in Boost's small_vector that can't happen, and with -O3 overlaps in strings.
                         -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
endfunction()

# The interpreter of the session process: the first that has ipykernel and a Python.h of its own version. `python3`
# first on PATH may be another one. Without the window there may be none with ipykernel: the module itself needs NumPy alone.
function(tapedeck_find_python)
  foreach(modules IN LISTS ARGN)
    foreach(candidate python3 /usr/bin/python3 /usr/local/bin/python3)
      execute_process(COMMAND ${candidate} -c "import ${modules}, sys; print(sys.executable)"
                      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
      if(result EQUAL 0)
        set(TAPEDECK_PYTHON ${found} CACHE FILEPATH "The Python interpreter that has ipykernel" FORCE)
        return()
      endif()
    endforeach()
  endforeach()
endfunction()
if(NOT TAPEDECK_PYTHON)
  if(TAPEDECK_WINDOW)
    tapedeck_find_python("ipykernel, numpy")
  else()
    tapedeck_find_python("ipykernel, numpy" numpy)
  endif()
endif()
if(TAPEDECK_PYTHON)
  message(STATUS "Session interpreter: ${TAPEDECK_PYTHON}")
elseif(TAPEDECK_WINDOW)
  message(FATAL_ERROR "No Python interpreter with ipykernel and NumPy was found. Debian's packages are "
                      "python3-ipykernel and python3-numpy; or set TAPEDECK_PYTHON to one that has them.")
endif()
