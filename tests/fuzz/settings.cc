// Settings: a configuration file's text, then values of every variable; and addresses. Errors are
// texts, whatever the bytes.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "src/base/address.h"
#include "src/config/load.h"
#include "tests/fuzz/fuzz.h"

namespace accl::fuzz {

std::vector<std::vector<uint8_t>> seeds() {
  std::vector<std::vector<uint8_t>> inputs;
  for (const char* text :
       {"NCCL_DEBUG=INFO\nACCL_INIT_TIMEOUT=30\n", "# a comment\nNCCL_ALGO=Ring\r\n",
        "NCCL_BUFFSIZE=4M", "10.0.0.1", "fe80::1%lo", "NCCL_DEBUG_SUBSYS=^INIT,COLL\nNCCL_FOO=1",
        "ACCL_OP_TIMEOUT=0.5"}) {
    const std::string_view view = text;
    inputs.emplace_back(view.begin(), view.end());
  }
  return inputs;
}

}  // namespace accl::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace accl;
  const std::string text(reinterpret_cast<const char*>(data), size);
  Environment environment;
  size_t start = 0;
  while (start < text.size()) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    const size_t equals = line.find('=');
    if (equals != std::string::npos) environment[line.substr(0, equals)] = line.substr(equals + 1);
    start = end + 1;
  }
  environment.erase("NCCL_CONF_FILE");
  environment.erase("HOME");
  auto loaded = load_config(environment, "/nonexistent");
  if (loaded.ok() ? describe_settings(*loaded).empty() : loaded.status().text().empty())
    std::abort();
  if (auto address = parse_address(text); address.ok()) {
    auto again = parse_address(describe(*address));
    if (!again.ok() || !(*again == *address)) std::abort();
  }
  return 0;
}
