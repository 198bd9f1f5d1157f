// accl_env_document: writes docs/env.md to standard output.
#include <iostream>

#include "src/config/load.h"

int main() {
  std::cout << accl::settings_document() << std::flush;
  return std::cout.good() ? 0 : 1;
}
