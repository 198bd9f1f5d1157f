// Open MPI's side of bench/peers/run: `mpirun -np 2 mpi_allreduce` prints "bytes microseconds".
#include <mpi.h>

#include "bench/peers/measure.h"

namespace {

struct MpiRank {
  void all_reduce(const float* in, float* out, size_t count) const {
    MPI_Allreduce(in, out, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  void barrier() const { MPI_Barrier(MPI_COMM_WORLD); }
  double max(double value) const {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int index = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &index);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MpiRank rank;
  bool right = true;
  for (const accl::peers::Case& what : accl::peers::quick_cases())
    right = accl::peers::run_case(rank, what, ranks, index == 0) && right;
  MPI_Finalize();
  return right ? 0 : 1;
}
