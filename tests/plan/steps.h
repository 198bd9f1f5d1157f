// A program's steps as text, for tests that pin small programs.
#pragma once

#include <string>
#include <vector>

#include "src/plan/algorithms.h"

namespace accl::test {

using Lines = std::vector<std::string>;

/// One line per step; "--" between lanes.
inline Lines lines_of(const Program& program) {
  Lines lines;
  for (const Lane& lane : program.lanes) {
    if (!lines.empty()) lines.push_back("--");
    for (const Step& step : lane) lines.push_back(to_string(step, program));
  }
  return lines;
}

/// Of a spec that is in order; else the error's text.
inline Lines lines_of(const ProgramSpec& spec) {
  Result<Program> program = make_program(spec);
  return program.ok() ? lines_of(*program) : Lines{program.status().text()};
}

}  // namespace accl::test
