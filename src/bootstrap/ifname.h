// The grammar of NCCL_SOCKET_IFNAME: which interfaces, by their names, a process may use.
//
//   [^][=]name[,name...]
//
// A name stands for all interfaces that begin with it; with '=' for the one that has it. '^' turns
// the whole list into those not to use. As in NCCL a name may be followed by
// ":port[:rail[:plane]]", which is for RDMA devices and says nothing about sockets. A value; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace accl {

class InterfaceNames {
 public:
  /// Every text has a meaning. Empty names and blanks around names do not count; "" and "^" admit
  /// everything, "=" and "," nothing.
  static InterfaceNames parse(std::string_view text);

  bool admits(std::string_view interface) const;
  /// True if the interfaces to use were asked for by name, rather than others excluded.
  bool by_name() const { return given_ && !exclude_; }

 private:
  bool given_ = false;
  bool exclude_ = false;
  bool exact_ = false;
  std::vector<std::string> names_;
};

}  // namespace accl
