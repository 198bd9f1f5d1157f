/* Prints the version of the library; 0 if it is that of the header. */
#include <accl/device.h>
#include <nccl.h>
#include <stdio.h>

int main(void) {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return 1;
  int devices = 0;
  if (acclGetDeviceCount(&devices) != acclSuccess || devices < 1) return 1;
  printf("NCCL version %d, %d devices\n", version, devices);
  return version == NCCL_VERSION_CODE ? 0 : 1;
}
