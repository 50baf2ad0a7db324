// Prints docs/METRICS.md.
#include <iostream>

#include "metrics/metrics_page.h"

int main() {
  std::cout << mcscope::metrics::MetricsPage();
  return std::cout.flush() ? 0 : 1;
}
