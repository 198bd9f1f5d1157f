// Writes a target's seeds into the corpus that ACCL_FUZZ_SEEDS names, before libFuzzer begins.
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  const char* folder = std::getenv("ACCL_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  int number = 0;
  for (const auto& seed : accl::fuzz::seeds()) {
    std::ofstream file(std::string(folder) + "/seed-" + std::to_string(number++), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
  }
  return 0;
}
